"""Plain columns of two scores and of groups -> a rank correlation of each group."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import check_choice, checked_flag, checked_resamples, checked_seed, offending
from rankcorr.coefficients import CoefficientLike, as_coefficient
from rankcorr.errors import ColumnError, UndefinedQueryError
from rankcorr.evaluation.columns import checked_values, coded
from rankcorr.evaluation.grouped import grouped, reasons
from rankcorr.evaluation.nulls import RESAMPLES, standardization
from rankcorr.evaluation.values import UNDEFINED, UndefinedPolicy
from rankcorr.inference.standardization import standardize
from rankcorr.results import Computed, TableResult, mean_of
from rankcorr.scores import read_only
from rankcorr.workers import Progress, checked_workers


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupCorrelations(Computed, TableResult):
    """A rank correlation of each group; numpy reads it as the array `values`.

    Attributes
    ----------
    groups : tuple
        In the order of their first rows.
    values : ndarray of float64, shape (n_groups,), read-only
        nan where it is undefined, or 0 with ``undefined="zero"``.
    standardized : ndarray of float64, shape (n_groups,), read-only, or None
        Standardized each by its own null, so that chance gives 0; None if it was not asked for.
    sizes : ndarray of int64, shape (n_groups,), read-only
        Number of rows of each group.
    undefined : dict of reason to tuple of groups
        Which groups have no coefficient, and why.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant
        As in `RankCorrelation`; `n_items` counts the rows.
    """

    groups: tuple[Hashable, ...]
    values: NDArray[np.float64]
    standardized: NDArray[np.float64] | None
    sizes: NDArray[np.int64]
    undefined: dict[str, tuple[Hashable, ...]]

    @property
    def mean(self) -> float:
        """Mean over the groups that have a value."""
        return mean_of(self.values)

    @property
    def standardized_mean(self) -> float:
        """Mean of the standardized values; nan if there are none."""
        return float("nan") if self.standardized is None else mean_of(self.standardized)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"group": self.groups, self.coefficient: self.values}
        if self.standardized is not None:
            columns[f"{self.coefficient} standardized"] = self.standardized
        return columns | {"n_items": self.sizes}

    def __repr__(self) -> str:
        n_groups = "1 group" if len(self.groups) == 1 else f"{len(self.groups):,} groups"
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

    Each value equals that of the coefficient of the group's rows alone, to 1e-12.

    Parameters
    ----------
    values, gold : array_like of shape (n_rows,), or a column of a data frame
        Scores without nan, larger is better; gold takes the place of x in `weighted_tau`.
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

    Examples
    --------
    >>> found = correlate_groups([3, 2, 1, 1, 2], [9, 7, 8, 4, 5], ["q", "q", "q", "r", "r"], coefficient="tau")
    >>> found.groups, found.values.round(4).tolist()
    (('q', 'r'), [0.3333, 1.0])
    """
    chosen = as_coefficient(coefficient)
    check_choice("undefined", undefined, UNDEFINED)
    wanted, n_workers = checked_flag(standardized, "standardized"), checked_workers(workers)
    number, key = checked_resamples(n_resamples), checked_seed(seed)
    codes, ids = coded(groups, "group")
    x, y = checked_values(gold, "gold score"), checked_values(values, "score")
    if not codes.size == x.size == y.size:
        raise ColumnError(
            f"columns must have the same length; got {codes.size} groups, {x.size} gold scores and {y.size} scores"
        )
    if codes.size == 0:
        raise ColumnError("there is no row: a group, a gold score and a score are wanted")
    if (np.diff(codes) < 0).any():
        order = np.argsort(codes, kind="stable")
        codes, x, y = codes[order], x[order], y[order]
    sizes = np.bincount(codes, minlength=len(ids)).astype(np.int64)
    offsets = np.append(0, np.cumsum(sizes))
    found = grouped(chosen, x, y, offsets, workers=n_workers, progress=progress)
    by_reason: dict[str, list[Hashable]] = {}
    for group, reason in reasons(found, x, y, offsets).items():
        by_reason.setdefault(reason.replace("documents", "rows").replace("of the run ", ""), []).append(ids[group])
    if by_reason and undefined == "error":
        reason, which = next(iter(by_reason.items()))
        raise UndefinedQueryError(offending(f"{chosen.name}: {reason}; groups", which))
    mapped = None
    if wanted:
        null = standardization(chosen, x, y, offsets, n_resamples=number, seed=key, workers=n_workers)
        mapped = standardize(found, null.exponents)
    if undefined == "zero":
        found = np.nan_to_num(found)
        mapped = None if mapped is None else np.nan_to_num(mapped)
    return GroupCorrelations(
        groups=ids,
        values=read_only(found),
        standardized=None if mapped is None else read_only(mapped),
        sizes=read_only(sizes),
        undefined={reason: tuple(which) for reason, which in by_reason.items()},
        **chosen.described(codes.size),
    )
