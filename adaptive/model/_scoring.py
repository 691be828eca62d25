"""Score systems against an estimated ranking, with intervals that include the uncertainty of the votes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from adaptive._record import item_table, json_label, places_best_first
from adaptive._scores import Scores, Tally
from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import AdaptiveError, ComparisonError, ModelError
from adaptive.model._accuracy import N_SAMPLES, correlate_rows
from adaptive.model._strengths import Strengths
from rankcorr import CorrelationInterval, Ranking, RankingError, align, correlation_interval
from rankcorr._checks import checked_level, counted, first_few, real_number, shown
from rankcorr._coefficients import CoefficientLike, as_coefficient
from rankcorr._input.scores import midrank_rows
from rankcorr._output.results import Result, TableResult, json_ready, read_only, table_rows
from rankcorr._ranking import Missing, RankingLike, as_ranking

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class SystemScore(Result):
    """A system's coefficient with the fitted ranking as gold, and two intervals.

    Attributes
    ----------
    statistic : float
    low, high : float
        Interval that includes the uncertainty of items and votes.
    known : CorrelationInterval
        Interval if the fitted ranking were the true one.
    votes_error : float
        Standard deviation of the coefficient over rankings drawn from the posterior.
    values : ndarray of float64, shape (n_samples,), read-only
        The coefficient with each drawn ranking.
    level : float

    See Also
    --------
    score_system, score_leaderboard : Return it.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, score_system
    >>> votes = Comparisons.from_labels(list("aabbcd"), list("bccdee"), ["left"] * 6)
    >>> score = score_system(bradley_terry(votes, prior=2), dict(a=5, b=3, c=4, d=2, e=1), "tau")
    >>> round(score.statistic, 4), score.low <= score.known.low, score.votes_error > 0
    (0.6, True, True)
    """

    statistic: float
    low: float
    high: float
    known: CorrelationInterval
    votes_error: float
    values: Array
    level: float

    def __float__(self) -> float:
        return self.statistic

    def __repr__(self) -> str:
        return (
            f"<SystemScore {self.known.coefficient} {self.statistic:.4f}, {self.low:.4f} to {self.high:.4f} at level "
            f"{self.level:g}; {self.known.low:.4f} to {self.known.high:.4f} if the gold ranking were known>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ScoredLeaderboard(TableResult):
    """Systems from best to worst, with intervals that include the uncertainty of the votes.

    The table has the columns rank, system, the coefficient, low, high, known_low, known_high and best.

    Attributes
    ----------
    systems : tuple of hashable
        Names, best first; systems with an undefined coefficient are at the end.
    scores : tuple of SystemScore
    best : ndarray of float64, shape (n_systems,), read-only
        Share of the drawn rankings for which each system is the best; tied systems split it. It reflects the
        uncertainty of the votes, not that of the choice of items, which `rankcorr.leaderboard` tests.

    See Also
    --------
    score_leaderboard : Returns it.
    SystemScore : The type of its scores.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, score_leaderboard
    >>> strengths = bradley_terry(Comparisons.from_labels(list("aabbcd"), list("bccdee"), ["left"] * 6), prior=2)
    >>> good, poor = dict(a=5, b=3, c=4, d=2, e=1), dict(a=1, b=2, c=3, d=5, e=4)
    >>> board = score_leaderboard(strengths, {"poor": poor, "good": good}, "tau")
    >>> board.systems, [round(score.statistic, 4) for score in board.scores], int(board.best.argmax())
    (('good', 'poor'), [0.6, -0.6], 0)
    """

    _caption: ClassVar[str] = "Systems by the votes, with intervals"

    systems: tuple[Hashable, ...]
    scores: tuple[SystemScore, ...]
    best: Array

    def _columns(self) -> dict[str, Sequence[Any]]:
        values = np.array([score.statistic for score in self.scores])
        defined = ~np.isnan(values)
        ranks = np.full(values.size, np.nan)
        if defined.any():
            ranks[defined] = [np.mean(np.flatnonzero(values[defined] == value)) + 1 for value in values[defined]]
        return {
            "rank": ranks.tolist(),
            "system": list(self.systems),
            self.scores[0].known.coefficient: values.tolist(),
            "low": [score.low for score in self.scores],
            "high": [score.high for score in self.scores],
            "known_low": [score.known.low for score in self.scores],
            "known_high": [score.known.high for score in self.scores],
            "best": self.best.tolist(),
        }

    def __repr__(self) -> str:
        parts = zip(self.systems, self.scores, strict=True)
        best = first_few([f"{name} {score.statistic:.3f}" for name, score in parts])
        subject = f"{counted(len(self.systems), 'system')}, {self.scores[0].known.coefficient}"
        return f"<ScoredLeaderboard of {subject}: {best}>"


def score_system(
    strengths: Strengths,
    system: RankingLike,
    coefficient: CoefficientLike = "tau_w",
    *,
    missing: Missing = "raise",
    level: float = 0.95,
    n_samples: int = N_SAMPLES,
    n_resamples: int = 2_000,
    seed: int = 0,
    workers: int | None = None,
) -> SystemScore:
    """Score a system with the fitted ranking as gold.

    Two things are uncertain: the choice of items and their true ranking. `correlation_interval` covers the first; the
    spread of the coefficient over rankings drawn from the posterior covers the second. They are independent, so their
    variances add, on the scale of Fisher's z: each end moves from a distance d of the statistic to
    sqrt(d^2 + (q s)^2), where s is the standard deviation over drawn rankings and q the normal quantile of the level.
    Errors of the votes also lower a coefficient on average; the statistic is not corrected for this.

    Parameters
    ----------
    strengths : Strengths
    system : Ranking, mapping of label to score, or data series with labels
        Matched by label with the items.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        The fitted ranking takes the place of x.
    missing : {"raise", "intersection", "bottom", "gold"}
        As in `rankcorr.weighted_tau`, gold being the items of `strengths`.
    level : float
        Level of both intervals.
    n_samples : int
        Rankings drawn from the posterior.
    n_resamples, seed, workers
        As in `correlation_interval`; the answer does not depend on the number of workers.

    Returns
    -------
    SystemScore
        nan with an `UndefinedCorrelationWarning` if the coefficient is undefined.

    Raises
    ------
    ModelError, RankingError
        No Strengths, an option out of range, or a ranking that does not fit.

    See Also
    --------
    score_leaderboard : Many systems.
    rankcorr.correlation_interval : The interval if the ranking were known.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, score_system
    >>> votes = Comparisons.from_labels(list("aabbcd"), list("bccdee"), ["left"] * 6)
    >>> score = score_system(bradley_terry(votes, prior=2), dict(a=5, b=3, c=4, d=2, e=1), "tau")
    >>> score.low <= score.known.low <= score.statistic <= score.known.high <= score.high
    True
    """
    if not isinstance(strengths, Strengths):
        raise ModelError(f"systems are scored by Strengths; got {shown(strengths)}")
    confidence, coefficient_value = checked_level(level, error=ModelError), as_coefficient(coefficient)
    ranking = as_ranking(system)
    draws = strengths.drawn(n_samples, seed)
    gold, system_ranking = align(
        strengths.ranking, ranking, names=("the fitted ranking", "the system"), missing=missing
    )
    known = correlation_interval(
        gold,
        system_ranking,
        coefficient=coefficient_value,
        level=confidence,
        n_resamples=n_resamples,
        seed=seed,
        workers=workers,
    )
    ranks, n_tied = draws.ranks, draws.n_tied
    if gold.labels != strengths.ranking.labels:
        place = {label: position for position, label in enumerate(strengths.items)}
        places = np.array([place.get(label, -1) for label in gold.labels or ()])
        # Items that only the system has are tied below all others, as in `align`.
        theta = np.where(places >= 0, draws.theta[:, places], -np.inf)
        ranks, _, n_tied = midrank_rows(theta, descending=True)
    values = read_only(correlate_rows(coefficient_value, ranks, n_tied, system_ranking, workers))
    low, high, error = combined(known, values, confidence, gold)
    return SystemScore(known.statistic, low, high, known, error, values, confidence)


def score_leaderboard(
    strengths: Strengths,
    systems: Mapping[Any, RankingLike],
    coefficient: CoefficientLike = "tau_w",
    *,
    missing: Missing = "raise",
    level: float = 0.95,
    n_samples: int = N_SAMPLES,
    n_resamples: int = 2_000,
    seed: int = 0,
    workers: int | None = None,
) -> ScoredLeaderboard:
    """Score many systems with the fitted ranking as gold, all against the same drawn rankings.

    Parameters
    ----------
    strengths : Strengths
    systems : mapping of name to ranking
    coefficient, missing, level, n_samples, n_resamples, seed, workers
        As in `score_system`.

    Raises
    ------
    ModelError, RankingError
        As `score_system`; the message names the system.

    See Also
    --------
    score_system : One system.
    rankcorr.leaderboard : Systems against a gold ranking that is known.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, score_leaderboard
    >>> strengths = bradley_terry(Comparisons.from_labels(list("aabbcd"), list("bccdee"), ["left"] * 6), prior=2)
    >>> good, poor = dict(a=5, b=3, c=4, d=2, e=1), dict(a=1, b=2, c=3, d=5, e=4)
    >>> score_leaderboard(strengths, {"poor": poor, "good": good}, "tau")
    <ScoredLeaderboard of 2 systems, tau: good 0.600, poor -0.600>
    """
    if not isinstance(systems, Mapping) or not systems:
        raise ModelError(f"systems must be a mapping of name to ranking, not empty; got {shown(systems)}")
    options: dict[str, Any] = {"missing": missing, "level": level, "n_samples": n_samples, "n_resamples": n_resamples}
    options |= {"seed": seed, "workers": workers}
    scores: dict[Any, SystemScore] = {}
    for name, system in systems.items():
        try:
            scores[name] = score_system(strengths, system, coefficient, **options)
        except (AdaptiveError, RankingError) as error:
            raise type(error)(f"system {shown(name)}: {error}") from error
    names = sorted(scores, key=lambda name: (math.isnan(scores[name].statistic), -scores[name].statistic))
    values = np.nan_to_num(np.array([scores[name].values for name in names]), nan=-np.inf)
    leads = values == values.max(axis=0)
    best = (leads / leads.sum(axis=0)).mean(axis=1)
    return ScoredLeaderboard(tuple(names), tuple(scores[name] for name in names), read_only(best))


def combined(known: CorrelationInterval, values: Array, level: float, gold: Ranking) -> tuple[float, float, float]:
    """Return the interval with the variance of the votes added on Fisher's scale, and their standard deviation."""
    from scipy.special import ndtri

    values = values[~np.isnan(values)]
    if values.size < 2 or math.isnan(known.low):
        return math.nan, math.nan, math.nan
    # Identical rankings of n items fit a correlation of 1 - 2 / n^2 about as well as 1, which has no z.
    most = math.log(gold.n_items)

    def z_of(value: Array | float) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(np.arctanh(np.asarray(value)), -most, most))

    low, centre, high = z_of(np.array([known.low, known.statistic, known.high])).tolist()
    reach = float(ndtri((1 + level) / 2)) * float(z_of(values).std(ddof=1))
    below, above = math.hypot(max(0.0, centre - low), reach), math.hypot(max(0.0, high - centre), reach)
    ends = min(known.low, math.tanh(centre - below)), max(known.high, math.tanh(centre + above))
    return *ends, float(values.std(ddof=1))


@dataclass(frozen=True, eq=False, repr=False)
class BordaScores(TableResult):
    """Borda scores of all items.

    The table has one row for each item, best first, and the columns item, rank, score, presentations, wins, ties and
    losses. Items that tie are in the order of their labels.

    Attributes
    ----------
    items : sequence of hashable
        In the order of the comparisons' items.
    scores : ndarray of float64, shape (n_items,), read-only
        Between 0 and 1; nan for items never compared.
    tally : Tally
        Wins, ties and losses of each item.

    See Also
    --------
    borda : Returns it.
    Strengths : The result of a model.

    Examples
    --------
    >>> from adaptive import Comparisons, borda
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "tie"])
    >>> scores = borda(votes)
    >>> scores.items, scores.scores, scores.tally.wins
    (('fig', 'kiwi', 'plum'), array([1.  , 0.25, 0.25]), array([2, 0, 0]))
    """

    _caption: ClassVar[str] = "Borda scores of items"

    items: Sequence[Hashable]
    scores: Scores
    tally: Tally

    @property
    def n_items(self) -> int:
        """Number of items, including those never compared."""
        return len(self.items)

    @cached_property
    def ranking(self) -> Ranking:
        """Rank all items by their scores, labelled; those never compared are last, tied with each other.

        Raises
        ------
        TooFewItemsError
            There is no item.
        """
        return Ranking.from_scores(np.where(np.isnan(self.scores), -np.inf, self.scores), labels=self.items)

    @cached_property
    def never_compared(self) -> tuple[Hashable, ...]:
        """Labels of the items without any comparison."""
        return tuple(self.items[place] for place in np.flatnonzero(np.isnan(self.scores)).tolist())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, items best first, ready for JSON: None for nan.

        Raises
        ------
        ProtocolError
            When a label is not a string, an integer or a tuple of those.
        """
        columns = self._columns()
        columns["item"] = [json_label(item) for item in columns["item"]]
        never = [json_label(item) for item in self.never_compared]
        return {"items": json_ready(table_rows(columns)), "never_compared": never}

    def _columns(self) -> dict[str, Sequence[Any]]:
        ranks, tally = self.ranking.ranks, self.tally
        counts = {"presentations": tally.answered, "wins": tally.wins, "ties": tally.ties, "losses": tally.losses}
        return item_table(self.items, places_best_first(self.items, ranks), rank=ranks, score=self.scores, **counts)

    def __repr__(self) -> str:
        never = f", {len(self.never_compared):,} never compared" if self.never_compared else ""
        return f"<{type(self).__name__} of {self.n_items:,} items{never}>"


def borda(comparisons: Comparisons) -> BordaScores:
    """Score each item by x = (wins + ties / 2) / presentations answered (Eq. 1).

    A win over a weak item counts as much as one over a strong item. That is unfair to items that meet stronger
    opponents than others do, as in the later ballots of an adaptive plan. Within a first ballot it is fair.

    Parameters
    ----------
    comparisons : Comparisons

    Returns
    -------
    BordaScores

    Raises
    ------
    ComparisonError
        Anything but `Comparisons`.

    See Also
    --------
    bradley_terry : Strengths, which allow for the opponents.
    borda_scores : The same for one ballot.

    Examples
    --------
    >>> from adaptive import Comparisons, borda
    >>> votes = Comparisons.from_labels(["fig", "fig", "pear"], ["pear", "plum", "plum"], ["left", "left", "tie"],
    ...                                 items=["fig", "kiwi", "pear", "plum"])
    >>> scores = borda(votes)
    >>> scores.scores, scores.never_compared
    (array([1.  ,  nan, 0.25, 0.25]), ('kiwi',))
    >>> scores.ranking
    <Ranking of 4 items, 2 tied: 'fig' 1, 'pear' 2.5, 'plum' 2.5, 'kiwi' 4>
    """
    if not isinstance(comparisons, Comparisons):
        raise ComparisonError(f"borda takes Comparisons; got {shown(comparisons)}")
    tally = comparisons.tally
    scores = np.full(comparisons.n_items, np.nan)
    np.divide(tally.wins + tally.ties / 2, tally.answered, out=scores, where=tally.answered > 0)
    return BordaScores(comparisons.items, read_only(scores), tally)


class CentralityScores(BordaScores):
    """Rank centralities of all items; the same fields and table as `BordaScores`.

    `scores` are logarithms of stationary probabilities, with the mean 0 over the items that were compared.

    See Also
    --------
    rank_centrality : Returns it.

    Examples
    --------
    >>> from adaptive import Comparisons, rank_centrality
    >>> votes = Comparisons.from_labels(["fig", "fig"], ["kiwi", "kiwi"], ["left", "right"])
    >>> rank_centrality(votes).scores
    array([0., 0.])
    """


def rank_centrality(comparisons: Comparisons, *, alpha: float = 0.0) -> CentralityScores:
    """Score items by Rank Centrality: the stationary distribution of a walk from losers to winners.

    From item i the walk goes to j at a rate that is the share of the comparisons of the two that j won; a tie is half a
    win for each. Among the votes of a Bradley-Terry crowd on all pairs, the logarithms of the stationary probabilities
    estimate the strengths.

    Parameters
    ----------
    comparisons : Comparisons
    alpha : float, default 0
        Wins that each item is given over each other, so that the walk can reach every item.

    Returns
    -------
    CentralityScores
        nan for items never compared, unless `alpha` is positive.

    Raises
    ------
    ComparisonError
        Anything but `Comparisons`.
    ModelError
        `alpha` is negative, or it is 0 and the compared items fall into groups of which one never lost to another or
        never met it.

    See Also
    --------
    bradley_terry : Strengths by maximum likelihood, with their uncertainty.
    borda : The share of wins.

    References
    ----------
    S. Negahban, S. Oh and D. Shah, Iterative Ranking from Pair-wise Comparisons, NIPS 2012.

    Examples
    --------
    >>> from adaptive import Comparisons, rank_centrality
    >>> votes = Comparisons.from_labels(["fig", "fig", "pear"], ["pear", "plum", "plum"], ["left", "left", "tie"])
    >>> rank_centrality(votes, alpha=1).scores.round(4)
    array([ 0.4621, -0.231 , -0.231 ])
    """
    if not isinstance(comparisons, Comparisons):
        raise ComparisonError(f"rank_centrality takes Comparisons; got {shown(comparisons)}")
    n_pseudo_wins = real_number(alpha)
    if not 0 <= n_pseudo_wins < np.inf:
        raise ModelError(f"alpha must be a finite number, not negative; got {shown(alpha)}")
    n_items, tally = comparisons.n_items, comparisons.tally
    wins = np.full((n_items, n_items), n_pseudo_wins)
    for winner, share_of_left in ((LEFT, 1.0), (TIE, 0.5), (RIGHT, 0.0)):
        rows = comparisons.winner == winner
        left, right = comparisons.left[rows], comparisons.right[rows]
        np.add.at(wins, (left, right), share_of_left)
        np.add.at(wins, (right, left), 1 - share_of_left)
    np.fill_diagonal(wins, 0.0)
    places = np.arange(n_items) if n_pseudo_wins else np.flatnonzero(tally.answered)
    scores = np.full(n_items, np.nan)
    if places.size:
        wins = wins[np.ix_(places, places)]
        n_parts, _ = connected_components(wins > 0, connection="strong")
        if n_parts > 1:
            raise ModelError(
                f"the walk cannot reach every item: the items fall into {n_parts} groups, and one never lost to "
                "another or never met it; set alpha= to some wins of each item over each other, such as 0.1"
            )
        scores[places] = _log_stationary(wins)
    return CentralityScores(comparisons.items, read_only(scores), tally)


def _log_stationary(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of the stationary distribution of the walk from losers to winners, with the mean 0."""
    met = wins + wins.T
    rates = np.divide(wins.T, met, out=np.zeros_like(wins), where=met > 0)  # row: from the loser
    generator = rates - np.diag(rates.sum(axis=1))
    # One equation is a sum of the others; the sum of the probabilities takes its place.
    equations = np.vstack([generator.T[:-1], np.ones(len(wins))])
    stationary = np.linalg.solve(equations, np.append(np.zeros(len(wins) - 1), 1.0))
    logarithms = np.log(np.maximum(stationary, np.finfo(np.float64).tiny))
    return np.asarray(logarithms - logarithms.mean())
