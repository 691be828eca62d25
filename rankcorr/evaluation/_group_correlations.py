"""Correlate two columns of scores within each group of rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, checked_flag, counted, offending
from rankcorr._coefficients import CoefficientLike, as_coefficient
from rankcorr._output.results import Computed, TableResult, mean_of, read_only
from rankcorr._workers import Draws, Progress, Values, silent
from rankcorr.errors import ColumnError, UndefinedQueryError
from rankcorr.evaluation._columns import checked_values, encode_ids
from rankcorr.evaluation._grouped import group_coefficients, groups_by_reason, reasons
from rankcorr.evaluation._metric_values import UNDEFINED, UndefinedPolicy
from rankcorr.evaluation._nulls import RESAMPLES, standardization
from rankcorr.inference._standardization import standardize


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupCorrelations(Computed, TableResult):
    """A rank correlation of each group; numpy reads it as the array `values`.

    Attributes
    ----------
    groups : tuple
        Names of the groups, in the order of their first rows.
    values : ndarray of float64, shape (n_groups,), read-only
        nan if undefined, or 0 with ``undefined="zero"``.
    standardized : ndarray of float64, shape (n_groups,), read-only, or None
        Values standardized by the null distribution of each group, so that chance gives 0 on average. None unless
        requested.
    sizes : ndarray of int64, shape (n_groups,), read-only
        Number of rows of each group.
    undefined : dict of reason to tuple of groups
        Groups without a coefficient, and the reason.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant
        As in `RankCorrelation`; `n_items` counts the rows.

    See Also
    --------
    correlate_groups : Returns it.

    Examples
    --------
    >>> from rankcorr.evaluation import correlate_groups
    >>> correlations = correlate_groups([3, 2, 1, 1, 2], [9, 7, 8, 4, 5], ["q", "q", "q", "r", "r"], coefficient="tau")
    >>> correlations.groups, correlations.sizes.tolist(), round(correlations.mean, 4)
    (('q', 'r'), [3, 2], 0.6667)
    """

    groups: tuple[Hashable, ...]
    values: Values
    standardized: Values | None
    sizes: NDArray[np.int64]
    undefined: dict[str, tuple[Hashable, ...]]

    @property
    def mean(self) -> float:
        """The mean over the groups that have a value."""
        return mean_of(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"group": self.groups, self.coefficient: self.values}
        if self.standardized is not None:
            columns[f"{self.coefficient} standardized"] = self.standardized
        return columns | {"n_items": self.sizes}

    def __repr__(self) -> str:
        n_groups = counted(len(self.groups), "group")
        return f"<GroupCorrelations of {n_groups}, {self.n_items:,} rows, {self.coefficient}: mean {self.mean:.4f}>"


def correlate_groups(
    values: Any,
    gold: Any,
    groups: Any,
    *,
    coefficient: CoefficientLike = "tau_w",
    undefined: UndefinedPolicy = "omit",
    standardized: bool = False,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> GroupCorrelations:
    """Correlate scores with gold scores within each group of rows, in one pass over the columns.

    Each value equals the coefficient of the rows of the group alone, up to 1e-12.

    Parameters
    ----------
    values, gold : array_like of shape (n_rows,), or a column of a data frame
        Scores without nan; larger is better. `gold` is x in `weighted_tau`.
    groups : array_like of str or int, shape (n_rows,), or a column of a data frame
        The group of each row, in any order.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
    undefined, standardized, n_resamples, seed, workers
        As in `evaluate`.
    progress : callable, optional
        Called with the number of groups done since the last call.

    Returns
    -------
    GroupCorrelations

    Raises
    ------
    RankingError
        `ColumnError` for columns that differ in length, `MissingValueError`, `NonNumericError`, `UndefinedQueryError`.

    See Also
    --------
    evaluate : Runs and qrels by query, with other metrics as well.
    QueryEvaluator : Partitions of data that does not fit in memory.

    Examples
    --------
    >>> from rankcorr.evaluation import correlate_groups
    >>> correlations = correlate_groups([3, 2, 1, 1, 2], [9, 7, 8, 4, 5], ["q", "q", "q", "r", "r"], coefficient="tau")
    >>> correlations.groups, correlations.values.round(4).tolist()
    (('q', 'r'), [0.3333, 1.0])
    """
    coefficient_value = as_coefficient(coefficient)
    check_choice("undefined", undefined, UNDEFINED)
    is_standardized = checked_flag(standardized, "standardized")
    draws = Draws.checked(n_resamples, seed, workers, progress)
    codes, ids = encode_ids(groups, "group")
    x, y = checked_values(gold, "gold score"), checked_values(values, "score")
    if not codes.size == x.size == y.size:
        raise ColumnError(
            f"columns must have the same length; got {codes.size} groups, {x.size} gold scores and {y.size} scores"
        )
    if codes.size == 0:
        raise ColumnError("there is no row: a group, a gold score and a score are expected")
    if (np.diff(codes) < 0).any():
        order = np.argsort(codes, kind="stable")
        codes, x, y = codes[order], x[order], y[order]
    sizes = np.bincount(codes, minlength=len(ids)).astype(np.int64)
    offsets = np.append(0, np.cumsum(sizes))
    coefficients = group_coefficients(coefficient_value, x, y, offsets, workers=draws.workers, progress=draws.progress)
    why = reasons(coefficients, x, y, offsets)
    of_rows = {group: why[group].replace("documents", "rows").replace("of the run ", "") for group in why}
    by_reason = groups_by_reason(of_rows, ids)
    if by_reason and undefined == "error":
        reason, groups_without = next(iter(by_reason.items()))
        raise UndefinedQueryError(offending(f"{coefficient_value.name}: {reason}; groups", groups_without))
    standardized_values = None
    if is_standardized:
        null = standardization(coefficient_value, x, y, offsets, replace(draws, progress=silent))
        standardized_values = standardize(coefficients, null.exponents)
    if undefined == "zero":
        coefficients = np.nan_to_num(coefficients)
        standardized_values = None if standardized_values is None else np.nan_to_num(standardized_values)
    return GroupCorrelations(
        groups=ids,
        values=read_only(coefficients),
        standardized=read_only(standardized_values),
        sizes=read_only(sizes),
        undefined=by_reason,
        **coefficient_value.computed_fields(codes.size),
    )
