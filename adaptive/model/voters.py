"""What the votes say of each voter: reliability, agreement with the others, and what the ranking owes to them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ModelError
from adaptive.model.accuracy import checked_level
from adaptive.model.judged_votes import JudgedVotes, are_bounded, step_without, votes_of_voters, wilson_interval
from adaptive.model.strengths import Strengths
from rankcorr import Ranking
from rankcorr.checks import counted, offending, real_number, shown
from rankcorr.coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr.results import TableResult

__all__ = ["VoterReport", "voter_report"]

Array: TypeAlias = NDArray[Any]

RANDOM_SHARE: Final = 0.05


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
        Share of the votes, ties left out, for the item that all other voters' votes place higher, with Wilson's
        interval; nan without such a vote.
    expected_agreement : ndarray of float64, shape (n_voters,)
        The share that an average voter would reach on the same pairs: neighbours are hard, others easy.
    random : ndarray of float64, shape (n_voters,)
        Probability that the voter flips coins.
    without : ndarray of float64, shape (n_voters,)
        Coefficient of the whole ranking with that by the votes of all others, by one Newton step; nan if those leave
        strengths without a prior infinite.
    level : float
    coefficient : Coefficient
    random_share : float
    """

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
    random_share: float

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def at_random(self) -> tuple[Hashable, ...]:
        """Voters who flip coins more probably than not."""
        return tuple(self.voters[place] for place in np.flatnonzero(self.random > 0.5).tolist())

    def _columns(self) -> dict[str, Sequence[Any]]:
        names = [name for name, value in vars(self).items() if isinstance(value, np.ndarray)]
        return {"voter": list(self.voters)} | {name: getattr(self, name).tolist() for name in names}

    def __repr__(self) -> str:
        found = self.at_random
        which = offending("at random", found) if found else "none at random"
        n_voters, n_votes = counted(len(self.voters), "voter"), counted(int(self.n_votes.sum()), "vote")
        return f"<VoterReport of {n_voters}, {n_votes}: {which}>"


def voter_report(
    strengths: Strengths,
    *,
    level: float = 0.9,
    coefficient: CoefficientLike = "tau_w",
    random_share: float = RANDOM_SHARE,
) -> VoterReport:
    """Say of each voter how reliable their votes are.

    Intervals of a_v, e_v and s come from the expected information of the voter's votes and the priors, as if the
    strengths were known. Agreement, `random` and `without` judge the voter by strengths without the own votes: one
    Newton step from the fit, since a fit for each voter would take minutes.

    A voter answers at random if a coin explains the votes better than the model: the two likelihoods of the votes that
    are no ties, times `random_share` and its complement, are the odds. That of the model is a mean over the priors of
    a_v and e_v, and allows for the errors of the strengths.

    Parameters
    ----------
    strengths : Strengths
        With votes whose voters are known.
    level : float
        Level of the intervals.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        Of `without`.
    random_share : float
        Share of voters who may be expected to flip coins.

    Raises
    ------
    ModelError, OptionError
        No Strengths, voters that are not known, or an option out of range.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(
    ...     ["a", "a", "b", "c"], ["b", "c", "c", "a"], ["left"] * 4, voter=["Ann", "Ann", "Ann", "Bob"])
    >>> report = voter_report(bradley_terry(votes, prior=2, voters=True))
    >>> report
    <VoterReport of 2 voters, 4 votes: none at random>
    >>> report.n_votes
    array([3, 1])
    """
    votes, voters = votes_of_voters(strengths)
    confidence, chosen = checked_level(level), as_coefficient(coefficient)
    share = real_number(random_share)
    if not 0 < share < 1:
        raise ModelError(f"random_share must be a number between 0 and 1, both excluded; got {shown(random_share)}")
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    n_voters = votes.n_voters
    n_votes = np.bincount(voters, minlength=n_voters)
    agreement, agreement_low, agreement_high, expected = np.full((4, n_voters), np.nan)
    random, without = np.full(n_voters, share), np.ones(n_voters)
    order = np.argsort(voters, kind="stable")
    places = np.split(order, np.cumsum(n_votes)[:-1])
    for voter in np.flatnonzero(n_votes).tolist():
        own = places[voter]
        others = step_without(strengths, own)
        without[voter] = np.nan
        if are_bounded(strengths, votes.select(voters != voter)):
            without[voter] = chosen.of_pair(strengths.ranking, Ranking.from_scores(others, labels=strengths.items))
        judged = JudgedVotes.of(strengths, others, own)
        random[voter] = judged.random(strengths, share)
        if n := judged.n_decided:
            agreed = judged.n_agreed / n
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
        random=random,
        without=without,
        level=confidence,
        coefficient=chosen,
        random_share=share,
    )


def _parameters(strengths: Strengths, z: float, n_voters: int) -> dict[str, Any]:
    """a_v, e_v and s of each voter, each with the ends of its interval; nan where they are not fitted."""
    from adaptive.model.kernels import LOGISTIC, NORMAL
    from adaptive.model.voter_kernels import voter_information

    ends = ("", "_low", "_high")
    names = [name + end for name in ("discrimination", "oversight", "side_bias") for end in ends]
    found = {name: np.full(n_voters, np.nan) for name in names}
    model, at, prior = strengths.model, strengths.parameters, strengths.prior
    if not model.voters:
        return found
    rows = strengths.curvature.rows
    information = np.empty((n_voters, 3, 3))
    link = LOGISTIC if model.link == "logistic" else NORMAL
    columns = (rows.left, rows.right, rows.group, at.theta, at.discrimination, at.oversight, at.side)
    voter_information(*columns, at.nu, link, rows.half, information)
    fits_e = strengths.oversight > 0
    information[:, 0, 0] += prior.discrimination_sd**-2
    # The beta prior on the scale of log odds; a parameter that is not fitted is known.
    information[:, 1, 1] += prior.oversight_votes * at.oversight * (1 - at.oversight) if fits_e else 1e300
    information[:, 2, 2] += prior.side_sd**-2 if model.side_bias else 1e300
    if not fits_e:
        information[:, 1, [0, 2]] = information[:, [0, 2], 1] = 0.0
    if not model.side_bias:
        information[:, 2, :2] = information[:, :2, 2] = 0.0
    errors = z * np.sqrt(np.diagonal(np.linalg.inv(information), axis1=1, axis2=2))
    logs = np.log(at.discrimination)
    found["discrimination"] = at.discrimination.copy()
    found["discrimination_low"], found["discrimination_high"] = np.exp(logs - errors[:, 0]), np.exp(logs + errors[:, 0])
    if fits_e:
        from scipy.special import expit, logit

        odds = logit(at.oversight)
        found["oversight"] = at.oversight.copy()
        found["oversight_low"], found["oversight_high"] = expit(odds - errors[:, 1]), expit(odds + errors[:, 1])
    if model.side_bias:
        found["side_bias"] = at.side.copy()
        found["side_bias_low"], found["side_bias_high"] = at.side - errors[:, 2], at.side + errors[:, 2]
    return found
