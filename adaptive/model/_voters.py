"""Judge voters by their votes: reliability, agreement with the others, and influence on the ranking.

Each voter is judged by strengths from the votes of the others. A report takes one Newton step for each voter; the
influence of a single voter takes a separate fit.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._record import item_table
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ModelError
from adaptive.model._accuracy import DECIMALS
from adaptive.model._likelihood import solve_system
from adaptive.model._models import n_unbounded, refit
from adaptive.model._strengths import Strengths
from rankcorr import Ranking
from rankcorr._checks import checked_level, counted, offending, shown
from rankcorr._coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr._output.results import TableResult, read_only

Array: TypeAlias = NDArray[Any]

_NODES: Final = 7  # of Gauss and Hermite, over log a
_OVERSIGHT_TAILS: Final = (1 / 6, 1 / 2, 5 / 6)
_SHARE_NODES: Final = 200  # of Gauss and Jacobi: exact for up to 399 voters
_SHARE_PRIOR: Final = (0.5, 4.5)  # of a beta distribution of mean .1: few are likely, and many are possible


def votes_of_voters(strengths: Strengths) -> tuple[Comparisons, Array]:
    """Return the votes behind the strengths, and the voter of each; ModelError where voters are not known."""
    if not isinstance(strengths, Strengths):
        raise ModelError(f"voters are judged by Strengths; got {shown(strengths)}")
    votes = strengths.comparisons
    if votes.voter is None:
        raise ModelError("a report on voters needs a column of voters, which these votes lack")
    return votes, votes.voter


def wilson_interval(share: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's (1927) interval for a share of n votes, z standard errors to either side.

    Examples
    --------
    >>> low, high = wilson_interval(0.5, 4, 1.96)
    >>> round(low, 3), round(high, 3)
    (0.15, 0.85)
    """
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # Rounding could push an end at 0 or 1 beyond it.
    return min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half))


def omit_votes(strengths: Strengths, left_out: Array) -> Array:
    """Return the strengths without some of the votes, by one Newton step from the fit."""
    curved, theta = strengths.curvature, strengths.theta
    rows, weight, flow = curved.rows.select(left_out), curved.weight[left_out], curved.flow[left_out]
    slope = curved.slope - rows.by_item(flow, -1.0) - curved.precision * theta
    # An item compared only by this voter keeps the prior's curvature; without a prior it keeps a little, and its place.
    diagonal = np.maximum(curved.diagonal - rows.by_item(weight, 1.0), max(curved.precision, 1e-9))
    with suppress(np.linalg.LinAlgError):
        columns = zip(curved.pairs, (rows.left, rows.right, -weight), strict=True)
        pairs = tuple(np.concatenate(parts) for parts in columns)
        step = solve_system(pairs, diagonal, slope[:, np.newaxis], 1e-4)
        return np.asarray(theta + np.clip(step[:, 0], -4.0, 4.0))
    return theta


@dataclass(frozen=True, eq=False)
class JudgedVotes:
    """Votes of one voter, without ties, and the strengths from the other voters."""

    chose: Array  # 1 for left, -1 for right
    margin: Array
    variance: Array

    @classmethod
    def of(cls, strengths: Strengths, theta: Array, rows: Array) -> JudgedVotes:
        """Take the votes in some rows, without ties, and the strengths `theta`."""
        votes = strengths.comparisons
        rows = rows[votes.winner[rows] != 0]
        left, right = votes.left[rows], votes.right[rows]
        diagonal = strengths.curvature.diagonal
        return cls(
            votes.winner[rows].astype(np.float64), theta[left] - theta[right], 1 / diagonal[left] + 1 / diagonal[right]
        )

    def chances(self, strengths: Strengths, a: Array | float, oversight: Array | float) -> Array:
        """Return P(left), given no tie, averaged over normal errors of the strengths."""
        from scipy.special import expit, ndtr

        normal = strengths.model.link == "normal"
        # MacKay (1992): the mean of a logistic curve over normal errors is nearly a logistic curve.
        scale = np.sqrt(1.0 + (1.0 if normal else math.pi / 8) * a * a * self.variance)
        likely = (ndtr if normal else expit)((a * self.margin + strengths.side_bias) / scale)
        return np.asarray(likely + oversight * (1 - 2 * likely))

    def expected(self, strengths: Strengths) -> float:
        """Return the mean probability that an average voter agrees."""
        decided = self.margin != 0
        likely = self.chances(strengths, 1.0, strengths.oversight)
        return float(np.where(self.margin > 0, likely, 1 - likely)[decided].mean())

    def evidence(self, strengths: Strengths) -> float:
        """Return the logarithm of the likelihood of coin flips, less that of the model."""
        from scipy.special import betaincinv, logsumexp

        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        e, worth = strengths.oversight, strengths.prior.oversight_votes
        rates = betaincinv(worth * e, worth * (1 - e), _OVERSIGHT_TAILS) if e > 0 else np.zeros(1)
        discriminations = np.exp(strengths.prior.discrimination_sd * nodes)[:, np.newaxis, np.newaxis]
        left = self.chances(strengths, discriminations, rates[:, np.newaxis])
        logs = np.log(np.maximum(np.where(self.chose > 0, left, 1 - left), 1e-300)).sum(axis=-1)
        model = float(logsumexp(logs, b=weights[:, np.newaxis] / (rates.size * weights.sum())))
        return -math.log(2.0) * self.chose.size - model


def random_chances(evidence: Array) -> Array:
    """Return the probability that each voter flips coins, as a mean over shares of voters who do.

    Parameters
    ----------
    evidence : ndarray of float64, shape (n_voters,)
        Logarithms of the likelihood ratios of coin flips and the model; each share counts by how likely it makes them.

    Examples
    --------
    >>> random_chances(np.array([3.0, -3.0, -3.0])).round(2)
    array([0.61, 0.01, 0.01])
    """
    from scipy.special import expit, logsumexp, roots_sh_jacobi

    a, b = _SHARE_PRIOR
    # The likelihood of a share s is a polynomial: the product over voters of 1 - s + s e^x.
    shares, weights = roots_sh_jacobi(_SHARE_NODES, a + b - 1, a)
    odds = np.log(shares / (1 - shares))[:, np.newaxis]
    logs = np.logaddexp(0.0, evidence + odds).sum(axis=1) + evidence.size * np.log(1 - shares) + np.log(weights)
    return np.asarray(np.exp(logs - logsumexp(logs)) @ expit(evidence + odds))


@dataclass(frozen=True, eq=False, repr=False)
class VoterReport(TableResult):
    """Voters, one row for each, in the order of the comparisons.

    Attributes
    ----------
    voters : sequence of hashable
        Names.
    n_votes : ndarray of int64, shape (n_voters,)
    discrimination, discrimination_low, discrimination_high : ndarray of float64, shape (n_voters,)
        a_v with its interval; nan without `voters=True`.
    oversight, oversight_low, oversight_high : ndarray of float64, shape (n_voters,)
        e_v with its interval; nan without `voters=True`.
    side_bias, side_bias_low, side_bias_high : ndarray of float64, shape (n_voters,)
        s with its interval; nan without both `voters=True` and `side_bias=True`.
    agreement, agreement_low, agreement_high : ndarray of float64, shape (n_voters,)
        Share of the votes, excluding ties, for the item that all other voters' votes place higher, with Wilson's
        interval; nan if no vote qualifies.
    expected_agreement : ndarray of float64, shape (n_voters,)
        The share that an average voter would reach on the same pairs; pairs of neighbours are hard.
    random : ndarray of float64, shape (n_voters,)
        Probability that the voter flips coins. It is cautious if other voters flip coins too
        (docs/results/accuracy.md).
    without : ndarray of float64, shape (n_voters,)
        Coefficient of the whole ranking with the ranking by all other voters, by one Newton step; nan if their votes
        leave strengths infinite, which can happen without a prior.
    level : float
    coefficient : Coefficient

    See Also
    --------
    voter_report : Returns it.
    Influence : One voter in detail.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, voter_report
    >>> votes = Comparisons.from_labels(
    ...     ["a", "a", "b", "c"], ["b", "c", "c", "a"], ["left"] * 4, voter=["Ann", "Ann", "Ann", "Bob"])
    >>> report = voter_report(bradley_terry(votes, prior=2, voters=True))
    >>> report.voters, report.n_votes.tolist(), report.at_random
    (('Ann', 'Bob'), [3, 1], ())
    """

    _caption: ClassVar[str] = "Agreement of voters with the others"

    voters: Sequence[Hashable]
    n_votes: Array
    discrimination: Array
    discrimination_low: Array
    discrimination_high: Array
    oversight: Array
    oversight_low: Array
    oversight_high: Array
    side_bias: Array
    side_bias_low: Array
    side_bias_high: Array
    agreement: Array
    agreement_low: Array
    agreement_high: Array
    expected_agreement: Array
    random: Array
    without: Array
    level: float
    coefficient: Coefficient

    def __post_init__(self) -> None:
        read_only([value for value in vars(self).values() if isinstance(value, np.ndarray)])

    @property
    def at_random(self) -> tuple[Hashable, ...]:
        """Voters who are more likely than not to flip coins."""
        return tuple(self.voters[place] for place in np.flatnonzero(self.random > 0.5).tolist())

    def _columns(self) -> dict[str, Sequence[Any]]:
        names = [name for name, value in vars(self).items() if isinstance(value, np.ndarray)]
        return {"voter": list(self.voters)} | {name: getattr(self, name).tolist() for name in names}

    def __repr__(self) -> str:
        flipping = self.at_random
        verdict = offending("at random", flipping) if flipping else "none at random"
        n_voters, n_votes = counted(len(self.voters), "voter"), counted(int(self.n_votes.sum()), "vote")
        return f"<VoterReport of {n_voters}, {n_votes}: {verdict}>"


def voter_report(strengths: Strengths, *, level: float = 0.9, coefficient: CoefficientLike = "tau_w") -> VoterReport:
    """Report how reliable each voter's votes are.

    Intervals of a_v, e_v and s come from the expected information of the voter's votes and the priors, as if the
    strengths were known. Agreement, `random` and `without` judge the voter by strengths without the voter's votes: one
    Newton step from the fit, since a fit for each voter would take minutes.

    A voter answers at random if a coin explains the votes better than the model. The odds are the two likelihoods of
    the votes, excluding ties, times the share of voters who flip coins and its complement, averaged over all shares by
    how likely they make the votes. The likelihood of the model is a mean over the priors of a_v and e_v, and allows for
    the errors of the strengths. Strengths without any signal explain votes no better than a coin: the chances are then
    those of the shares alone.

    Parameters
    ----------
    strengths : Strengths
        Their votes must have known voters.
    level : float
        Level of the intervals.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        Of `without`.

    Raises
    ------
    ModelError, OptionError
        No Strengths, voters that are not known, or an option out of range.

    See Also
    --------
    influence : The ranking without one voter.
    adaptive.plots.plot_voters : Draws the agreement of each voter.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, voter_report
    >>> votes = Comparisons.from_labels(
    ...     ["a", "a", "b", "c"], ["b", "c", "c", "a"], ["left"] * 4, voter=["Ann", "Ann", "Ann", "Bob"])
    >>> report = voter_report(bradley_terry(votes, prior=2, voters=True))
    >>> report
    <VoterReport of 2 voters, 4 votes: none at random>
    >>> report.n_votes
    array([3, 1])
    """
    votes, voters = votes_of_voters(strengths)
    confidence, coefficient_value = checked_level(level, error=ModelError), as_coefficient(coefficient)
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    n_voters, has_prior = votes.n_voters, strengths.prior.sd != math.inf
    n_votes = np.bincount(voters, minlength=n_voters)
    agreement, agreement_low, agreement_high, expected = np.full((4, n_voters), np.nan)
    evidence, without = np.zeros(n_voters), np.ones(n_voters)
    order = np.argsort(voters, kind="stable")
    places = np.split(order, np.cumsum(n_votes)[:-1])
    for voter in np.flatnonzero(n_votes).tolist():
        rows = places[voter]
        others = np.round(omit_votes(strengths, rows), DECIMALS)  # without votes, they are rounding errors
        without[voter] = np.nan
        if has_prior or n_unbounded(votes.select(voters != voter)) == 1:
            without[voter] = coefficient_value.of_pair(
                strengths.ranking, Ranking.from_scores(others, labels=strengths.items)
            )
        judged = JudgedVotes.of(strengths, others, rows)
        evidence[voter] = judged.evidence(strengths)
        if n := int(np.count_nonzero(judged.margin)):  # pairs that the strengths do not tie
            agreed = int(np.count_nonzero(judged.chose * judged.margin > 0)) / n
            agreement[voter], expected[voter] = agreed, judged.expected(strengths)
            agreement_low[voter], agreement_high[voter] = wilson_interval(agreed, n, z)
    return VoterReport(
        voters=votes.voters or (),
        n_votes=n_votes,
        **_parameters(strengths, z, n_voters),
        agreement=agreement,
        agreement_low=agreement_low,
        agreement_high=agreement_high,
        expected_agreement=expected,
        random=random_chances(evidence),
        without=without,
        level=confidence,
        coefficient=coefficient_value,
    )


def _parameters(strengths: Strengths, z: float, n_voters: int) -> dict[str, Any]:
    """Return a_v, e_v and s of each voter with the ends of their intervals; nan where they are not fitted."""
    from scipy.special import expit, logit

    ends = ("", "_low", "_high")
    names = [name + end for name in ("discrimination", "oversight", "side_bias") for end in ends]
    estimates: dict[str, Any] = {name: np.full(n_voters, np.nan) for name in names}
    if not strengths.model.voters:
        return estimates
    fit, at = strengths.joint_fit(), strengths.parameters
    fit.is_free[0] = True  # that of a single voter is held, but the votes have information on it
    errors = z * np.sqrt(fit.voter_variances(at)).T
    scales = {
        "discrimination": (at.discrimination, np.log, np.exp),
        "oversight": (at.oversight, logit, expit),
        "side_bias": (at.side, np.asarray, np.asarray),
    }
    for is_free, error, (name, (value, to_line, from_line)) in zip(fit.is_free, errors, scales.items(), strict=True):
        if is_free:
            columns = value, from_line(to_line(value) - error), from_line(to_line(value) + error)
            estimates |= {name + end: column for end, column in zip(ends, columns, strict=True)}
    return estimates


@dataclass(frozen=True, eq=False, repr=False)
class Influence(TableResult):
    """The ranking without one voter, compared with the whole ranking.

    The table has the columns item, rank, rank_without and change, the largest changes first; a positive change is a
    fall.

    Attributes
    ----------
    voter : hashable
    n_votes : int
    strengths : Strengths
        Fitted to the votes of all others.
    statistic : float
        Coefficient of the whole ranking with the ranking without the voter.
    coefficient : Coefficient
    rank, rank_without : ndarray of float64, shape (n_items,)
        Mid-ranks, in the order of the items.

    See Also
    --------
    influence : Returns it.
    VoterReport : All voters.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, influence
    >>> votes = Comparisons.from_labels(
    ...     ["a", "a", "b", "c"], ["b", "c", "c", "a"], ["left"] * 4, voter=["Ann", "Ann", "Ann", "Bob"])
    >>> effect = influence(bradley_terry(votes, prior=2), "Bob", "tau")
    >>> effect.voter, effect.n_votes, effect.rank.tolist(), effect.rank_without.tolist()
    ('Bob', 1, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    """

    _caption: ClassVar[str] = "Ranks with and without a voter"

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
        columns = {"rank": self.rank, "rank_without": self.rank_without, "change": change}
        return item_table(self.strengths.items, order, **columns)

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
        No Strengths, voters that are not known, a voter who is not among them, an unknown coefficient, or strengths
        without a prior that the votes of the others leave infinite.

    See Also
    --------
    voter_report : All voters.
    Comparisons.without_voter : The votes of all others.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, influence
    >>> votes = Comparisons.from_labels(
    ...     ["a", "a", "b", "c"], ["b", "c", "c", "a"], ["left"] * 4, voter=["Ann", "Ann", "Ann", "Bob"])
    >>> influence(bradley_terry(votes, prior=2), "Bob", "tau")
    <Influence of voter 'Bob', 1 vote: tau 1.0000 between the rankings with and without>
    """
    coefficient_value = as_coefficient(coefficient)
    votes, _ = votes_of_voters(strengths)
    others = votes.without_voter(voter)
    if strengths.prior.sd == math.inf and n_unbounded(others) > 1:
        raise ModelError(
            f"without the votes of {shown(voter)} the strengths are infinite, because they have no prior; "
            "fit them with prior=, a standard deviation"
        )
    rest_strengths = refit(strengths, others)
    ranking, rest = strengths.ranking, rest_strengths.ranking
    n_votes = votes.n_comparisons - others.n_comparisons
    return Influence(
        voter,
        n_votes,
        rest_strengths,
        coefficient_value.of_pair(ranking, rest),
        coefficient_value,
        ranking.ranks,
        rest.ranks,
    )
