"""Run one simulation of an approach: voters -> opinions -> votes -> ranking."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._draw import Asked, Ballot, draw_ballot
from adaptive._plan import BallotPlan
from adaptive._protocol import run_protocol
from adaptive._scores import Average, Select, borda_scores, running_mean, select_by_mean
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import SimilarityError
from adaptive.matching._matched_ballots import MATCHED_BALLOTS, MatchedBallots, run_matched_ballots
from adaptive.matching._matching import MATCHING, Matching
from adaptive.matching._rounds import run_matching
from adaptive.model._models import bradley_terry
from adaptive.simulation._similarity import checked_similarity
from adaptive.simulation._voters import VoterPool, VoterPopulation
from rankcorr import Ranking
from rankcorr._checks import shown

Approach: TypeAlias = Literal[
    "adaptive", "uniform", "matched", "matched_ballots", "adaptive_fitted", "uniform_fitted", "full_rankings"
]

APPROACHES: Final[tuple[Approach, ...]] = get_args(Approach)
PAPER_APPROACHES: Final[tuple[Approach, ...]] = ("adaptive", "uniform")

# Each approach has separate random numbers, except the fitted ones, which use the votes of the one that they refit.
STREAMS: Final[dict[Approach, int]] = {
    "adaptive": 0,
    "uniform": 1,
    "matched": 2,
    "matched_ballots": 3,
    "full_rankings": 4,
    "adaptive_fitted": 0,
    "uniform_fitted": 1,
}


@dataclass(frozen=True)
class ApproachOptions:
    """Options of approaches in addition to the plan and the voters; `simulate` explains each attribute."""

    relatedness: bool = True
    select: Select = select_by_mean
    average: Average = running_mean
    matching: Matching = MATCHING
    matched_ballots: MatchedBallots = MATCHED_BALLOTS


APPROACH_OPTIONS: Final = ApproachOptions()


def simulate_ranking(
    plan: BallotPlan,
    pool: VoterPool | VoterPopulation,
    similarity: ArrayLike,
    approach: Approach,
    rng: np.random.Generator,
    settings: ApproachOptions = APPROACH_OPTIONS,
) -> Ranking:
    """Rank the items by the votes of one simulation.

    Parameters
    ----------
    plan, pool, similarity
        As in `simulate`.
    approach : str
        One of `APPROACHES`.
    rng : Generator
        Draws voters, opinions, ballots and answers.
    settings : ApproachOptions

    Returns
    -------
    Ranking
        Ranking of the items in the order of `similarity`, without labels.

    Raises
    ------
    SimilarityError
        The errors of `simulate`.

    Examples
    --------
    >>> from adaptive._plan import plan_ballots
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=12)
    >>> pool = VoterPool(nonconformity=[0.0], oversight=[0.0])
    >>> simulate_ranking(plan, pool, [0.1, 0.9, 0.4, -0.5], "uniform", np.random.default_rng(1)).ranks
    array([4., 1., 3., 2.])
    """
    values = checked_input(plan.n_items, pool, similarity)
    check_approach(approach)
    return rankings_of(approach, (plan,), (plan.n_comparisons,), pool, values, lambda: rng, settings)[0]


def rankings_of(
    approach: Approach,
    plans: Sequence[BallotPlan],
    budgets: Sequence[int],
    pool: VoterPool | VoterPopulation,
    similarity: NDArray[np.float64],
    rng_of: Callable[[], np.random.Generator],
    settings: ApproachOptions,
) -> list[Ranking]:
    """Return rankings for several budgets of comparisons.

    "matched" runs once, and its rankings are those after each budget. The other approaches run once for each budget,
    with the same random numbers from generators that `rng_of` makes. `plans` are the paper's plans for these budgets.
    """
    if approach == "matched":
        return _matched(_voting(pool, similarity, rng_of(), settings), budgets)
    ranking = _RANKINGS[approach]
    return [
        ranking(_voting(pool, similarity, rng_of(), settings), plan, budget)
        for plan, budget in zip(plans, budgets, strict=True)
    ]


@dataclass(frozen=True)
class _Voting:
    """Voters of one simulation, and their opinions."""

    voters: VoterPool
    opinions: NDArray[np.float64]
    rng: np.random.Generator
    settings: ApproachOptions

    @property
    def n_items(self) -> int:
        return int(self.opinions.shape[1])

    @property
    def run_options(self) -> dict[str, Any]:
        """Items, generator and voters, as arguments of `run_protocol` and `run_matched_ballots`."""
        return {"items": self.n_items, "rng": self.rng, "voters": self.voters.n_voters}

    def answer(self, ballot: Asked) -> NDArray[np.int8]:
        """Return the voters' answers."""
        return self.voters.answer(ballot, self.opinions, self.rng)


def _voting(
    pool: VoterPool | VoterPopulation,
    similarity: NDArray[np.float64],
    rng: np.random.Generator,
    settings: ApproachOptions,
) -> _Voting:
    voters = pool.draw(rng) if isinstance(pool, VoterPopulation) else pool
    return _Voting(voters, voters.opinions(similarity, rng, relatedness=settings.relatedness), rng, settings)


def _adaptive(voting: _Voting, plan: BallotPlan, _: int) -> Ranking:
    return Ranking.from_scores(_protocol(voting, plan, voting.answer))


def _adaptive_fitted(voting: _Voting, plan: BallotPlan, _: int) -> Ranking:
    answered: list[tuple[Ballot, NDArray[np.int8]]] = []

    def vote(ballot: Ballot) -> NDArray[np.int8]:
        answered.append((ballot, voting.answer(ballot)))
        return answered[-1][1]

    _protocol(voting, plan, vote)
    return _fitted(Comparisons.from_ballots(answered, n_items=voting.n_items))


def _protocol(voting: _Voting, plan: BallotPlan, vote: Callable[[Ballot], NDArray[np.int8]]) -> NDArray[np.float64]:
    settings = voting.settings
    return run_protocol(plan, vote, **voting.run_options, select=settings.select, average=settings.average).ybar


def _uniform(voting: _Voting, plan: BallotPlan, _: int) -> Ranking:
    return Ranking.from_scores(borda_scores(*_uniform_ballot(voting, plan)))


def _uniform_fitted(voting: _Voting, plan: BallotPlan, _: int) -> Ranking:
    return _fitted(Comparisons.from_ballots([_uniform_ballot(voting, plan)], n_items=voting.n_items))


def _uniform_ballot(voting: _Voting, plan: BallotPlan) -> tuple[Ballot, NDArray[np.int8]]:
    ballot = draw_ballot(voting.n_items, uniform_presentations(plan), voting.voters.n_voters, voting.rng)
    return ballot, voting.answer(ballot)


def _matched(voting: _Voting, budgets: Sequence[int]) -> list[Ranking]:
    strengths = run_matching(
        voting.n_items,
        voting.answer,
        max(budgets),
        rng=voting.rng.spawn(1)[0],  # a separate generator, so that answers do not depend on where the last batch ends
        voters=voting.voters.n_voters,
        matching=voting.settings.matching,
    )
    votes = strengths.comparisons
    # Once the voters have seen all pairs, larger budgets change nothing.
    return [
        Ranking.from_scores(strengths.theta) if budget >= votes.n_comparisons else _fitted(votes.select(range(budget)))
        for budget in budgets
    ]


def _matched_ballots(voting: _Voting, _: BallotPlan, budget: int) -> Ranking:
    match = voting.settings.matched_ballots
    plan = match.plan(voting.n_items, budget)
    strengths = run_matched_ballots(plan, voting.answer, **voting.run_options, match=match)
    return Ranking.from_scores(strengths.theta)


def _full_rankings(voting: _Voting, _: BallotPlan, __: int) -> Ranking:
    """Rank by the mean of the voters' ranks, the limit for many votes on pairs without oversights."""
    from scipy.stats import rankdata

    return Ranking.from_scores(rankdata(voting.opinions, axis=1).mean(axis=0))


def _fitted(votes: Comparisons) -> Ranking:
    return Ranking.from_scores(bradley_terry(votes, voters=True).theta)


_RANKINGS: Final[dict[Approach, Callable[[_Voting, BallotPlan, int], Ranking]]] = {
    "adaptive": _adaptive,
    "adaptive_fitted": _adaptive_fitted,
    "uniform": _uniform,
    "uniform_fitted": _uniform_fitted,
    "matched_ballots": _matched_ballots,
    "full_rankings": _full_rankings,
}


def simulated_comparisons(
    plan: BallotPlan, approach: Approach, *, matched_ballots: MatchedBallots = MATCHED_BALLOTS
) -> tuple[int, ...]:
    """Return the number of comparisons in each ballot of a simulation, or in all batches together.

    The result is empty for full rankings, which use no comparisons.

    Raises
    ------
    SimilarityError
        The approach is unknown.

    Examples
    --------
    >>> from adaptive._plan import plan_ballots
    >>> plan = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
    >>> sum(simulated_comparisons(plan, "adaptive")), simulated_comparisons(plan, "uniform")
    (19660, (19800,))
    >>> simulated_comparisons(plan, "matched"), sum(simulated_comparisons(plan, "matched_ballots"))
    ((19660,), 19600)
    """
    check_approach(approach)
    if approach in {"adaptive", "adaptive_fitted"}:
        return plan.comparisons
    if approach == "matched":
        return (plan.n_comparisons,)
    if approach == "matched_ballots":
        return matched_ballots.plan(plan.n_items, plan.n_comparisons).comparisons
    if approach == "full_rankings":
        return ()
    return ((plan.n_items * uniform_presentations(plan) + 1) // 2,)


def uniform_presentations(plan: BallotPlan) -> int:
    """Return the rounded presentations of each item in the uniform ballot of equal cost: 40 for 39.7 in the paper."""
    return max(1, round(plan.uniform_presentations))


def checked_input(n_items: int, pool: object, similarity: ArrayLike) -> NDArray[np.float64]:
    """Return the similarities as an array; raise SimilarityError if they or the voters are invalid for a plan."""
    values = checked_voters(pool, similarity)
    if values.size != n_items:
        raise SimilarityError(f"the plan has {n_items} items; got {values.size} similarities")
    return values


def checked_voters(voters: object, similarity: ArrayLike) -> NDArray[np.float64]:
    """Return the similarities as an array; raise SimilarityError if they or the voters are invalid."""
    if not isinstance(voters, VoterPool | VoterPopulation):
        raise SimilarityError(f"voters must be a VoterPool or a VoterPopulation; got {shown(voters)}")
    return checked_similarity(similarity)


def check_approach(approach: object) -> None:
    """Raise SimilarityError for anything but one of `APPROACHES`."""
    if not isinstance(approach, str) or approach not in APPROACHES:
        raise SimilarityError(f"an approach must be one of {', '.join(map(repr, APPROACHES))}; got {shown(approach)}")
