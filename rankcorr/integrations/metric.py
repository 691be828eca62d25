"""A rank correlation that is updated batch by batch, with the methods of torchmetrics; it needs no package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import shown
from rankcorr._coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr._input.numbers import detach_tensor
from rankcorr._input.scores import is_masked
from rankcorr.errors import DimensionError, LengthError, OptionError
from rankcorr.evaluation._columns import checked_values
from rankcorr.evaluation._evaluate import correlate_groups


class RankMetric:
    """Rank correlation of predictions and targets over all batches, or the mean over queries.

    The state is every row seen, so that the value is that of all rows at once: a rank correlation is not a mean over
    batches. It can be pickled, and metrics of several processes can be merged. The value does not depend on how the
    rows were divided, to the last bit.

    Parameters
    ----------
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        Targets are x.

    Raises
    ------
    OptionError
        The coefficient is unknown.

    Examples
    --------
    >>> metric = RankMetric("tau_w")
    >>> metric.update([9.5, 7.5], [4, 3])
    >>> metric.update([0.5, 1.5], [2, 1])
    >>> round(metric.compute(), 4)
    0.8843
    """

    def __init__(self, coefficient: CoefficientLike = "tau_w") -> None:
        self.coefficient: Coefficient = as_coefficient(coefficient)
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self._preds: list[NDArray[np.float64]] = []
        self._target: list[NDArray[np.float64]] = []
        self._indexes: list[NDArray[np.int64]] | None = None

    def update(self, preds: Any, target: Any, indexes: Any = None) -> None:
        """Add a batch.

        Parameters
        ----------
        preds, target : tensor or array_like of shape (n_rows,)
            Scores, larger is better.
        indexes : tensor or array_like of int, shape (n_rows,), optional
            The query of each row: the value is then the mean over queries. Give it for all batches or for none.

        Raises
        ------
        RankingError
            `DimensionError`, `LengthError`, `MissingValueError`, `NonNumericError`, or `OptionError` for indexes that
            are not whole numbers, or that some batches have and others lack; the batch is then not added.
        """
        columns = [_column(preds, "prediction"), _column(target, "target")]
        queries = None if indexes is None else _queries(indexes)
        sizes = [column.size for column in (*columns, *(() if queries is None else (queries,)))]
        if len(set(sizes)) > 1:
            raise LengthError(f"preds, target and indexes must have the same length; got {', '.join(map(str, sizes))}")
        if self._preds and (queries is None) != (self._indexes is None):
            raise OptionError("indexes must come with every batch, or with none")
        self._preds.append(columns[0])
        self._target.append(columns[1])
        if queries is not None:
            self._indexes = [*(self._indexes or ()), queries]

    def forward(self, preds: Any, target: Any, indexes: Any = None) -> float:
        """Add a batch, and return the value of this batch alone."""
        batch = RankMetric(self.coefficient)
        batch.update(preds, target, indexes)
        self.update(preds, target, indexes)
        return batch.compute()

    __call__ = forward

    def compute(self) -> float:
        """Value of all rows, or the mean over queries, without those that have no coefficient; nan if undefined.

        Raises
        ------
        TooFewItemsError
            There are fewer than two rows.
        """
        state = self.state_dict()
        preds, target, indexes = state["preds"], state["target"], state["indexes"]
        # Sort the rows first: sums depend on the order of the rows through rounding, and batches may arrive in any
        # order.
        order = np.lexsort((preds, target) if indexes is None else (preds, target, indexes))
        preds, target = preds[order], target[order]
        if indexes is None:
            return float(self.coefficient.correlate(target, preds))
        return correlate_groups(preds, target, indexes[order], coefficient=self.coefficient, workers=1).mean

    def merge(self, others: Iterable[RankMetric]) -> RankMetric:
        """Return a metric of the rows of this one and of others, such as those that other processes gathered.

        Raises
        ------
        OptionError
            They have different coefficients, or some have queries and others none.
        """
        merged = RankMetric(self.coefficient)
        for metric in (self, *others):
            if metric.coefficient != self.coefficient:
                raise OptionError(
                    f"metrics must have the same coefficient; got {self.coefficient} and {metric.coefficient}"
                )
            merged._add(metric.state_dict())
        return merged

    def state_dict(self) -> dict[str, Any]:
        """Rows seen, for checkpoints and other processes: arrays "preds" and "target", and "indexes" or None."""
        return {
            "preds": np.concatenate([np.empty(0), *self._preds]),
            "target": np.concatenate([np.empty(0), *self._target]),
            "indexes": None if self._indexes is None else np.concatenate(self._indexes),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the rows seen with others.

        Raises
        ------
        OptionError
            The argument is not the state of a metric, or `update` refuses its rows. The earlier state is then kept.
        """
        if not isinstance(state, dict) or set(state) != {"preds", "target", "indexes"}:
            raise OptionError(f"a state has preds, target and indexes; got {shown(state)}")
        loaded = RankMetric(self.coefficient)
        loaded._add(state)  # an invalid state leaves this one unchanged
        self._preds, self._target, self._indexes = loaded._preds, loaded._target, loaded._indexes

    def _add(self, state: dict[str, Any]) -> None:
        if len(state["preds"]) or len(state["target"]):
            self.update(state["preds"], state["target"], state["indexes"])

    def __repr__(self) -> str:
        n_rows = sum(map(len, self._preds))
        return f"RankMetric({self.coefficient!r}: {n_rows:,} rows in {len(self._preds):,} batches)"


def _column(values: Any, role: str) -> NDArray[np.float64]:
    array = detach_tensor(values)
    if np.ndim(array) != 1:
        raise DimensionError(f"{role}s must have one dimension; got {np.ndim(array)}")
    return np.array(checked_values(array, role))


def _queries(indexes: Any) -> NDArray[np.int64]:
    query_codes = np.asarray(detach_tensor(indexes))
    if is_masked(indexes) or query_codes.ndim != 1 or (query_codes.size and query_codes.dtype.kind not in "iu"):
        raise OptionError(f"indexes must be whole numbers in one dimension; got {shown(indexes)}")
    return query_codes.astype(np.int64)
