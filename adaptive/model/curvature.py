"""Slope and curvature of the log posterior in the strengths, and linear systems with the curvature as matrix.

Votes are the rows of the matrix: no n x n array is built, and the memory is linear in votes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ModelError
from adaptive.model.vote_model import Rows
from rankcorr.results import Result

Array: TypeAlias = NDArray[Any]

_MAX_DENSE: Final = 300  # items up to which a trace is exact; above it probes estimate it, within 3 %
INDEFINITE: Final = (
    "the curvature of the votes is not positive definite in floating point: strengths of this size cannot be told from "
    "infinite ones; give prior=, a smaller standard deviation"
)
_VANISHED: Final = 1e-9  # curvature of a vote whose outcome is certain


@dataclass(frozen=True, eq=False)
class Parameters(Result):
    """All that is fitted: a number for each item in `theta`, for each group of votes in the next three."""

    theta: Array
    discrimination: Array
    oversight: Array
    side: Array
    nu: float
    sd: float

    def __post_init__(self) -> None:
        for name in ("theta", "discrimination", "oversight", "side"):
            getattr(self, name).flags.writeable = False

    @property
    def precision(self) -> float:
        """1 / t^2."""
        return self.sd**-2


@dataclass(frozen=True, eq=False)
class Curvature:
    """Curvature of the penalised log-likelihood in the strengths, at some parameters.

    `score` is the slope of each vote in its margin and `slope` the sum of slopes in theta, without the prior. The
    other two have two rows each, expected and observed: `weights` of each vote in the difference of its two strengths,
    and `diagonals` of their matrix.
    """

    rows: Rows
    precision: float
    log_likelihood: float
    score: Array
    slope: Array
    weights: Array
    diagonals: Array
    observed: bool = False

    @cached_property
    def weight(self) -> Array:
        """Curvature of each vote in the difference of its two strengths."""
        return np.asarray(self.weights[int(self.observed)])

    @cached_property
    def diagonal(self) -> Array:
        """Diagonal of H, the curvature of votes and prior."""
        return np.asarray(self.diagonals[int(self.observed)] + self.precision)

    def solve(self, wanted: Array, tolerance: float) -> Array | None:
        """H^-1 wanted, for one column or several, shape (n_items,) or (n_items, n_columns); None if H is indefinite."""
        from adaptive.model.kernels import solve_curvature

        columns = np.array(wanted.reshape(self.rows.n_items, -1), order="C")
        found = np.empty_like(columns)
        if (self.diagonal <= 0.0).any():
            return None
        precision = self.precision
        if precision == 0:
            # H is singular: strengths are known up to a constant. A trace of a prior keeps rounding errors from
            # growing in that direction, which is then taken out.
            columns -= columns.mean(axis=0)
            precision = 1e-12 * float(self.diagonal.max())
        n_iterations = solve_curvature(
            self.rows.left,
            self.rows.right,
            self.weight,
            precision,
            self.diagonal,
            columns,
            tolerance,
            10 * self.rows.n_items + 100,
            found,
        )
        if n_iterations < 0:
            return None
        if self.precision == 0:
            found -= found.mean(axis=0)
        return found.reshape(wanted.shape)

    def solve_definite(self, wanted: Array, tolerance: float) -> Array:
        """H^-1 wanted where H cannot be indefinite but by rounding, which is a ModelError."""
        found = self.solve(wanted, tolerance)
        if found is None:
            raise ModelError(INDEFINITE)
        return found

    def matrix(self) -> Array:
        """H as a dense matrix, shape (n_items, n_items)."""
        n_items, rows = self.rows.n_items, self.rows
        dense = np.zeros((n_items, n_items))
        np.subtract.at(dense, (rows.left, rows.right), self.weight)
        np.subtract.at(dense, (rows.right, rows.left), self.weight)
        np.fill_diagonal(dense, self.diagonal)
        return dense

    def trace_of_inverse(self) -> float:
        """Trace of H^-1: exact for few items, else from random signs, the same ones every time."""
        n_items = self.rows.n_items
        if n_items <= _MAX_DENSE:
            return float(np.trace(np.linalg.inv(self.matrix())))
        # One column has a relative standard error of about sqrt(2 / n_items).
        n_columns = max(1, 2_000 // n_items)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (n_items, n_columns))
        solved = self.solve(signs, 5e-2)  # of which the trace has the square
        return math.nan if solved is None else float(np.sum(signs * solved)) / n_columns


def curvature_at(rows: Rows, at: Parameters, *, observed: bool = False) -> Curvature:
    """Log-likelihood, slopes and curvature at some parameters: the expected curvature, which is never indefinite."""
    from adaptive.model.kernels import log_likelihood

    score, weights = np.empty(rows.left.size), np.empty((2, rows.left.size))
    slope, diagonals = np.empty(rows.n_items), np.empty((2, rows.n_items))
    columns = (rows.left, rows.right, rows.winner, rows.group, at.theta)
    voters = (at.discrimination, at.oversight, at.side, at.nu)
    total = log_likelihood(*columns, *voters, link_code(rows), rows.half, score, weights, slope, diagonals)
    return Curvature(rows, at.precision, total, score, slope, weights, diagonals, observed)


def check_bounded(curved: Curvature) -> None:
    """Refuse strengths that grow without bound: votes between two groups of items that say nothing any more.

    Without a prior this happens where one never lost to the other, or so seldom that oversights account for it.
    """
    if (tells := curved.weights[0] > _VANISHED).all():
        return
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = curved.rows
    graph = coo_array((tells[tells], (rows.left[tells], rows.right[tells])), (rows.n_items,) * 2)
    n_parts = connected_components(graph, directed=False, return_labels=False)
    if n_parts > 1:
        raise ModelError(
            f"without a prior the strengths are infinite: the items fall into {n_parts} groups of which one never lost "
            "to another, or so seldom that oversights account for it; give prior=, a standard deviation"
        )


def link_code(rows: Rows) -> int:
    """Return the link as the loops take it."""
    from adaptive.model.kernels import LOGISTIC, NORMAL

    return LOGISTIC if rows.model.link == "logistic" else NORMAL
