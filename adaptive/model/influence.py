"""What the ranking owes to one voter: a fit without their votes, and how far the ranking moves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ModelError
from adaptive.model.estimators import refitted
from adaptive.model.judged_votes import are_bounded, votes_of_voters
from adaptive.model.strengths import Strengths
from rankcorr.checks import counted, shown
from rankcorr.coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr.results import TableResult

__all__ = ["Influence", "influence"]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Influence(TableResult):
    """What the ranking would be without one voter.

    The table has the columns item, rank, rank_without and change, the largest changes first; a positive change is a
    fall.

    Attributes
    ----------
    voter : hashable
    n_votes : int
    strengths : Strengths
        Fitted to the votes of all others.
    statistic : float
        Coefficient of the whole ranking with that without the voter.
    coefficient : Coefficient
    rank, rank_without : ndarray of float64, shape (n_items,)
        Mid-ranks, in the order of the items.
    """

    voter: Hashable
    n_votes: int
    strengths: Strengths
    statistic: float
    coefficient: Coefficient
    rank: Array
    rank_without: Array

    def _columns(self) -> dict[str, Sequence[Any]]:
        change = self.rank_without - self.rank
        order = np.lexsort((self.rank, -np.abs(change)))
        return {
            "item": [self.strengths.items[place] for place in order.tolist()],
            "rank": self.rank[order].tolist(),
            "rank_without": self.rank_without[order].tolist(),
            "change": change[order].tolist(),
        }

    def __repr__(self) -> str:
        return (
            f"<Influence of voter {shown(self.voter)}, {counted(self.n_votes, 'vote')}: {self.coefficient.name} "
            f"{self.statistic:.4f} between the rankings with and without>"
        )


def influence(strengths: Strengths, voter: Hashable, coefficient: CoefficientLike = "tau_w") -> Influence:
    """Fit again without the votes of one voter, and compare the rankings.

    Parameters
    ----------
    strengths : Strengths
    voter : hashable
        Name of the voter.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}

    Raises
    ------
    ModelError, ComparisonError, OptionError
        No Strengths, voters that are not known, one who is not among them, an unknown coefficient, or strengths without
        a prior, which the votes of the others alone leave infinite.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(
    ...     ["a", "a", "b", "c"], ["b", "c", "c", "a"], ["left"] * 4, voter=["Ann", "Ann", "Ann", "Bob"])
    >>> influence(bradley_terry(votes, prior=2), "Bob", "tau")
    <Influence of voter 'Bob', 1 vote: tau 1.0000 between the rankings with and without>
    """
    chosen = as_coefficient(coefficient)
    votes, _ = votes_of_voters(strengths)
    others = votes.without_voter(voter)
    if not are_bounded(strengths, others):
        raise ModelError(
            f"without the votes of {shown(voter)} the strengths are infinite, because they have no prior; "
            "fit them with prior=, a standard deviation"
        )
    without = refitted(strengths, others)
    return Influence(
        voter,
        votes.n_comparisons - others.n_comparisons,
        without,
        chosen.of_pair(strengths.ranking, without.ranking),
        chosen,
        strengths.ranking.ranks,
        without.ranking.ranks,
    )
