"""A coefficient split by items: the items that make two rankings agree, and those that cost a system most."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import checked_count, warn_undefined
from rankcorr._coefficients import UNDEFINED, CoefficientLike, as_coefficient
from rankcorr._output.results import Computed, Result, ResultRows, TableResult, json_ready, read_only
from rankcorr._ranking import Missing, Ranking, RankingLike, align_rankings, as_ranking, n_missing
from rankcorr._workers import loops

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ItemContribution(Result):
    """The part of one item in a coefficient: a row of `Contributions`.

    Attributes
    ----------
    label : hashable
        Name of the item, or its position, from 0, if the rankings have no labels.
    x_rank, y_rank : float
        Its mid-ranks.
    weight : float
        Its weight; the weights of all items sum to 1.
    contribution, cost : float
        As in `Contributions`.

    See Also
    --------
    Contributions : The parts of all items.
    contributions : Computes them.

    Examples
    --------
    >>> from rankcorr import contributions
    >>> parts = contributions({"ant": 3, "bee": 2, "cat": 1}, {"ant": 2, "bee": 3, "cat": 1}, coefficient="tau")
    >>> item = parts.worst(1)[0]
    >>> item.label, item.x_rank, item.y_rank, round(item.cost, 4)
    ('ant', 1.0, 2.0, 0.3333)
    """

    label: Hashable
    x_rank: float
    y_rank: float
    weight: float
    contribution: float
    cost: float


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Computed, TableResult):
    """The parts of a coefficient that belong to each item, with the options used.

    Attributes
    ----------
    statistic : float
        The coefficient; nan, with all parts, if undefined.
    x, y : Ranking
        The aligned rankings; the arrays below are in their item order.
    weights : ndarray of float64, shape (n_items,)
        Item weights; they sum to 1.
    contribution : ndarray of float64, shape (n_items,)
        Parts of the coefficient: they sum to `statistic`, up to rounding. Times `normalizer` they are the parts of the
        numerator of Eq. 7 with these weights (of Eq. 8 for rho).
    cost : ndarray of float64, shape (n_items,)
        What the item takes away from a coefficient of 1: not negative, and their sum is 1 - `statistic`.
    normalizer : float
        The denominator of Eq. 7 with these weights (of Eq. 8 for rho).
    in_x : ndarray of bool, shape (n_items,)
        Whether x has the item; false for the items that ``missing="bottom"`` takes only from y.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing, n_missing
        As in `RankCorrelation`.

    See Also
    --------
    contributions : Returns it.
    ItemContribution : One of its rows.

    Examples
    --------
    >>> from rankcorr import contributions
    >>> parts = contributions({"ant": 3, "bee": 2, "cat": 1}, {"ant": 2, "bee": 3, "cat": 1}, coefficient="tau")
    >>> round(parts.statistic, 4), parts.contribution.round(4).tolist(), parts.cost.round(4).tolist()
    (0.3333, [0.0, 0.0, 0.3333], [0.3333, 0.3333, 0.0])
    >>> [item.label for item in parts.worst(2)]
    ['ant', 'bee']
    """

    statistic: float
    x: Ranking = field(repr=False)
    y: Ranking = field(repr=False)
    weights: Array = field(repr=False)
    contribution: Array = field(repr=False)
    cost: Array = field(repr=False)
    normalizer: float
    in_x: NDArray[np.bool_] = field(repr=False)
    n_missing: int | None = None

    def worst(self, k: int = 10) -> tuple[ItemContribution, ...]:
        """The items of x of largest cost, at most k, the largest first; equal costs are in the order of x.

        Items that only y has, which ``missing="bottom"`` ties at the end of x, are not listed, because x does not rank
        them.

        Raises
        ------
        OptionError
            k is not a positive whole number.
        """
        number = checked_count(k, "k")
        dearest = np.lexsort((self.x.ranks, -self.cost))
        costliest = dearest[self.in_x[dearest]][:number].tolist()
        labels, *columns = self._columns().values()
        return ResultRows(
            ItemContribution(labels[place], *(float(column[place]) for column in columns)) for place in costliest
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON: the items as a mapping of column to list, None for nan."""
        columns = {field.name: getattr(self, field.name) for field in fields(self) if field.repr}
        content: dict[str, Any] = json_ready({**columns, "items": dict(self._columns())})
        return content

    def _columns(self) -> dict[str, Any]:
        labels = self.x.labels
        return {
            "item": range(self.n_items) if labels is None else labels,
            "x_rank": self.x.ranks,
            "y_rank": self.y.ranks,
            "weight": self.weights,
            "contribution": self.contribution,
            "cost": self.cost,
        }


def contributions(
    x: RankingLike, y: RankingLike, *, coefficient: CoefficientLike = "tau_w", missing: Missing = "raise"
) -> Contributions:
    """Split a coefficient by items, in O(n log n).

    The part of item i in the numerator of Eq. 7 is sum_j a_ij b_ij: half of each pair goes to either item. For tau_w it
    is w_i times the difference of the weights that are concordant and discordant with it; for rho_w it is
    w_i (a_i - mean a) (b_i - mean b), with weighted means.

    If the coefficient is undefined, all figures are nan, with an `UndefinedCorrelationWarning`.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        As in `weighted_tau`.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        A value with its options, such as ``TauW(n0=10)``; a name selects the default options.
    missing : {"raise", "intersection", "bottom", "gold"}
        As in `weighted_tau`.

    Returns
    -------
    Contributions

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    compare_systems : Compare two systems, with the item that matters most.
    rankcorr.plots.plot_ranks : Draw the ranks, and name the items that cost most.

    Notes
    -----
    The cost of an item is its part of 1 - gamma = sum_ij (a_ij / A - b_ij / B)^2 / 2, with A^2 and B^2 the sums of
    a_ij^2 and b_ij^2. Without ties, tau_w has A = B, and the cost of an item is twice the weight of its discordant
    pairs over the normalizer, w_i sum_j w_j / (A B). With ties, a pair tied in just one ranking has a cost too. For
    rho_w it is w_i / 2 times the squared difference of the standardised ranks. Variant "a" has 1 - tau_a =
    sum_ij w_i w_j (1 - s_ij t_ij) / (1 - sum_i w_i^2), i != j, with s and t the signs: each tied pair costs half of a
    discordant one.

    Examples
    --------
    >>> from rankcorr import Ranking, contributions
    >>> gold = Ranking.from_order(["king", "queen", "cabbage", "stone"])
    >>> system = Ranking.from_order(["queen", "king", "stone", "cabbage"])
    >>> parts = contributions(gold, system)
    >>> for item in parts.worst(3):
    ...     print(item.label, round(item.cost, 4), round(item.contribution, 4))
    king 0.3685 -0.0404
    queen 0.3685 -0.0404
    cabbage 0.0562 0.1158
    >>> round(float(parts.contribution.sum()), 6) == round(parts.statistic, 6)
    True
    """
    coefficient_value = as_coefficient(coefficient)
    rankings = as_ranking(x), as_ranking(y)
    first, second = align_rankings(*rankings, missing=missing)
    value = coefficient_value.of_pair(first, second)
    weights = coefficient_value.weighting.item_weights(first, second)
    weights /= weights.max()  # so that no product is too small for a float
    total = math.fsum(weights)
    if math.isnan(value):
        warn_undefined(UNDEFINED, stacklevel=3)
        parts, cost, norm = np.full(first.n_items, math.nan), np.full(first.n_items, math.nan), math.nan
    elif coefficient_value.variant is None:
        parts, cost, norm = _rho_parts(first, second, weights)
        norm /= total  # weighted variances: Eq. 8 has weights that sum to 1
    else:
        parts, cost, norm = _tau_parts(first, second, weights, coefficient_value.variant)
        norm /= total * total
    weights /= total
    in_x = np.arange(first.n_items) < rankings[0].n_items  # items that only y has are at the end
    read_only((weights, parts, cost, in_x))
    return Contributions(
        statistic=value,
        x=first,
        y=second,
        weights=weights,
        contribution=parts,
        cost=cost,
        normalizer=norm,
        in_x=in_x,
        n_missing=None if missing == "raise" else n_missing(*rankings, first.n_items),
        **coefficient_value.computed_fields(first.n_items, missing),
    )


def _tau_parts(x: Ranking, y: Ranking, weights: Array, variant: str) -> tuple[Array, Array, float]:
    """Contributions and costs, and the normalizer of these weights."""
    shares = np.empty((5, x.n_items))
    loops().pair_shares(x.ranks, x.best_first, y.ranks, y.best_first, weights, shares)
    shares *= weights
    concordant, discordant, tied_in_y, tied_in_x, tied_in_both = shares
    if variant == "a":
        norm = math.fsum(shares.sum(axis=0))
        cost = (2 * discordant + (tied_in_y + tied_in_x + tied_in_both)) / norm
        return (concordant - discordant) / norm, cost, norm
    x_norm = math.sqrt(math.fsum(concordant + discordant + tied_in_y))
    y_norm = math.sqrt(math.fsum(concordant + discordant + tied_in_x))
    norm = x_norm * y_norm
    # (s/A - t/B)^2 / 2 for each pair of signs s and t, as sums of positive terms.
    cost = 0.5 * (
        concordant * (1 / x_norm - 1 / y_norm) ** 2
        + discordant * (1 / x_norm + 1 / y_norm) ** 2
        + tied_in_y / x_norm**2
        + tied_in_x / y_norm**2
    )
    return (concordant - discordant) / norm, cost, norm


def _rho_parts(x: Ranking, y: Ranking, weights: Array) -> tuple[Array, Array, float]:
    """Contributions and costs, and the normalizer of these weights."""
    heaviest, total = int(weights.argmax()), math.fsum(weights)
    distances, norms = [], []
    for ranks in (x.ranks, y.ranks):
        distance = ranks - ranks[heaviest]
        distance -= math.fsum(weights * distance) / total
        distances.append(distance)
        norms.append(math.sqrt(math.fsum(weights * distance * distance)))
    a, b = (distance / norm for distance, norm in zip(distances, norms, strict=True))
    return weights * (a * b), 0.5 * weights * (a - b) ** 2, norms[0] * norms[1]
