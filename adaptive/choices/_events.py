"""Choices among outcomes with logits that are sparse linear forms, and checks of what they determine.

The checks count the connected groups of items and the items that always or never won, and test whether all strengths
may be equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
_LEAST_CURVATURE: Final = 1e-9  # relative to the largest


@dataclass(frozen=True, eq=False)
class Events:
    """Choices among outcomes.

    Attributes
    ----------
    outcome_starts : ndarray of int64, shape (n_events + 1,)
        Index of the first outcome of each event, then the number of outcomes.
    design : scipy.sparse.csr_array, shape (n_outcomes, n_parameters)
        Coefficients of the linear form of each outcome.
    choice : ndarray of int64, shape (n_events,)
        Index of the chosen outcome.
    count : ndarray of float64, shape (n_events,)
        Weight of each event in the likelihood.
    """

    outcome_starts: Array
    design: Any
    choice: Array
    count: Array

    @classmethod
    def of(
        cls, sizes: Sequence[int], terms: Sequence[Mapping[int, float]], choice: ArrayLike, count: ArrayLike, n: int
    ) -> Events:
        """Build events from their numbers of outcomes, and from each outcome's mapping of parameter to coefficient."""
        from scipy.sparse import csr_array

        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        ends = np.cumsum([0, *map(len, terms)])
        parameter = np.array([number for outcome in terms for number in outcome], np.int64)
        coefficient = np.array([value for outcome in terms for value in outcome.values()], np.float64)
        design = csr_array((coefficient, parameter, ends), shape=(len(terms), n))
        return cls(starts, design, starts[:-1] + np.asarray(choice, np.int64), np.asarray(count, np.float64))

    @cached_property
    def event(self) -> Array:
        """Event of each outcome."""
        return np.repeat(np.arange(self.choice.size), np.diff(self.outcome_starts))

    def probabilities(self, parameters: Array) -> tuple[float, Array]:
        """Return the log-likelihood and the probability of each outcome."""
        logits = self.design @ parameters
        starts = self.outcome_starts[:-1]
        largest = np.maximum.reduceat(logits, starts)
        exponentials = np.exp(logits - largest[self.event])
        totals = np.add.reduceat(exponentials, starts)
        total = float(self.count @ (logits[self.choice] - largest - np.log(totals)))
        return total, exponentials / totals[self.event]

    def scores(self, probabilities: Array) -> Any:
        """Return the gradient of each event's log-likelihood, without its count; sparse, (n_events, n_parameters)."""
        return self.design[self.choice] - self.means(probabilities)

    def means(self, probabilities: Array) -> Any:
        """Return the mean coefficients over the outcomes of each event; sparse, (n_events, n_parameters)."""
        from scipy.sparse import csr_array

        columns, shape = np.arange(probabilities.size), (self.choice.size, probabilities.size)
        return csr_array((probabilities, columns, self.outcome_starts), shape=shape) @ self.design

    def information(self, probabilities: Array) -> Array:
        """Return the negative Hessian of the log-likelihood, shape (n_parameters, n_parameters)."""
        weights = probabilities * self.count[self.event]
        means = self.means(probabilities)
        squares = self.design.T @ (self.design * weights[:, np.newaxis])
        products = means.T @ (means * self.count[:, np.newaxis])
        return np.asarray((squares - products).toarray())


def score_test(events: Events, n_items: int, probabilities: Array, cluster_products: Array | None) -> float:
    """Return the p-value of a score test that all strengths are equal (Rao 1948).

    The probabilities are those of the outcomes under that hypothesis, with ties, side bias and covariates as fitted.
    With clusters, the statistic has the distribution of a weighted sum of chi-squared variables. It is approximated as
    in Rao and Scott (Journal of the American Statistical Association 76, 1981).
    """
    from scipy.linalg import solve_triangular
    from scipy.linalg.lapack import dpstrf
    from scipy.special import chdtrc

    information = events.information(probabilities)
    rest = np.linalg.pinv(information[n_items:, n_items:])
    adjusted = np.hstack([np.eye(n_items), -information[:n_items, n_items:] @ rest])
    efficient = adjusted @ information @ adjusted.T
    # The pivoted factorization skips redundant strengths, such as the last one of each connected part.
    factor, pivots, rank, _ = dpstrf(efficient, tol=_LEAST_CURVATURE * np.diagonal(efficient).max(), lower=True)
    if not rank:
        return math.nan
    adjusted, factor = adjusted[pivots[:rank] - 1], factor[:rank, :rank]
    slopes = solve_triangular(factor, adjusted @ (events.scores(probabilities).T @ events.count), lower=True)
    variance = np.eye(rank)
    if cluster_products is not None:
        half = solve_triangular(factor, adjusted @ cluster_products @ adjusted.T, lower=True)
        variance = solve_triangular(factor, half.T, lower=True)
    total, squares = float(np.trace(variance)), float((variance * variance).sum())
    if squares <= 0:
        return math.nan
    return float(chdtrc(total**2 / squares, float(slopes @ slopes) * total / squares))


def count_parts(events: Events, n_items: int) -> tuple[int, int]:
    """Return the number of groups of items that no answer connects, and the number of items without an answer."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    outcomes = events.design[:, :n_items].tocoo()
    has_votes = events.count[events.event[outcomes.row]] > 0
    event, item = events.event[outcomes.row][has_votes], outcomes.col[has_votes]
    size = n_items + events.choice.size
    graph = csr_array((np.ones(item.size), (item, n_items + event)), shape=(size, size))
    _, part = connected_components(graph, directed=False)
    compared = np.unique(item)
    return len(np.unique(part[compared])), n_items - compared.size


def count_extremes(events: Events, n_items: int) -> tuple[int, int]:
    """Return the number of items that won every comparison, and the number of items that lost every one."""
    outcomes = events.design[:, :n_items].tocoo()
    keys = events.event[outcomes.row] * n_items + outcomes.col
    keys, place = np.unique(keys, return_inverse=True)
    event, item = np.divmod(keys, n_items)
    # If some outcome of an event lacks the item, its coefficient there is 0.
    is_everywhere = np.bincount(place, minlength=keys.size) == np.diff(events.outcome_starts)[event]
    largest, smallest = (np.where(is_everywhere, sign * np.inf, 0.0) for sign in (-1, 1))
    np.maximum.at(largest, place, outcomes.data)
    np.minimum.at(smallest, place, outcomes.data)
    choice = np.zeros(keys.size)
    is_chosen = events.choice[events.event[outcomes.row]] == outcomes.row
    choice[place[is_chosen]] = outcomes.data[is_chosen]
    is_comparison = (largest > smallest) & (events.count[event] > 0)
    n_comparisons = np.bincount(item[is_comparison], minlength=n_items)

    def always(extreme: Array) -> int:
        n_times = np.bincount(item[is_comparison & (choice == extreme)], minlength=n_items)
        return int(np.count_nonzero((n_times == n_comparisons) & (n_comparisons > 0)))

    return always(largest), always(smallest)
