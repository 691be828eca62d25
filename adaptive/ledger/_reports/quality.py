"""Report on voters: a row for each voter, the agreement among all, and the effect of leaving a voter out."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adaptive.ledger._ballots.stored import votes_of
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._campaign.transaction import Transaction
from adaptive.ledger._reports.agreement import (
    LEAST_PAIRS,
    NOTHING,
    Answers,
    FlagLimits,
    Ratings,
    Share,
    VoterQuality,
    answers_of,
    consistency,
    flags_of,
    ratings_of,
)
from adaptive.ledger._reports.results import best_fit
from adaptive.ledger._store.schema import CANNOT_SAY
from adaptive.ledger.errors import LedgerError
from adaptive.model._accuracy import MOST_WITH_INTERVALS
from adaptive.model._comparisons import Comparisons
from adaptive.model._estimators import bradley_terry
from adaptive.model._voters import voter_report
from rankcorr import TauW

_MOST_CHANGES: Final = 5

_LEVEL: Final = 0.9
_COUNTS: Final = ("n_so", "n")


@dataclass(frozen=True)
class CampaignQuality:
    """Statistics of the answers of all voters.

    Attributes
    ----------
    voters : tuple of VoterQuality
        Voters with an answer, in order of joining.
    n_pairs : int
        Pairs that several voters who are not left out were asked: overlaps, and pairs that the ballots compare often.
    n_missing : int
        Number of further pairs needed before agreement is reported; 0 from 20 pairs on.
    agreement : Share
        Share of equal answers among all pairs of answers to these item pairs.
    alpha : float or None
        Krippendorff's alpha on these pairs; see `Ratings.alpha`.
    agreement_low, agreement_high, alpha_low, alpha_high : float or None
        90 % intervals over pairs of items; see `Ratings.alpha_interval`. While pairs are missing, these values and
        alpha are None.

    See Also
    --------
    Campaign.quality : Returns it.
    FlagLimits : When a voter gets a flag.
    adaptive.VoterReport : Reliability by a model of the votes.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> recorded = campaign.record({pair.id: "left" for pair in campaign.asked()})
    >>> quality = campaign.quality()
    >>> [(voter.n_votes, voter.flags) for voter in quality.voters], quality.n_missing
    ([(4, ())], 20)
    >>> ledger.close()
    """

    voters: tuple[VoterQuality, ...]
    n_pairs: int
    n_missing: int
    agreement: Share
    agreement_low: float | None
    agreement_high: float | None
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None


def quality_of(transaction: Transaction, limits: FlagLimits | None = None) -> CampaignQuality:
    """Return statistics of the voters from a campaign's answers so far, without changing anything.

    Its options and errors are those of `Campaign.quality`.
    """
    thresholds = FlagLimits() if limits is None else limits
    votes, probes = answers_of(transaction)
    excluded = transaction.excluded_voters()
    names = transaction.voter_names()
    ratings = ratings_of(votes, probes, excluded=excluded)
    keys = transaction.voter_keys()
    model = _by_model(transaction.info, votes, excluded, thresholds)
    agreement = _agreement(votes, probes, excluded, ratings)
    voters = []
    same_voter, same = consistency(votes, probes)
    for voter in sorted({*votes.voter.tolist(), *probes.voter.tolist()}):
        repeated = same[same_voter == voter]
        voter_votes = votes.select(votes.voter == voter)
        quality = VoterQuality(
            voter=names[voter],
            key=keys[voter],
            excluded=voter in excluded,
            **_of_votes(voter_votes, thresholds),
            **_of_known(probes.select(probes.voter == voter)),
            repeats=Share.of(int(repeated.sum()), repeated.size),
            agreement=agreement.get(voter, Share.of(0, 0)),
            **model.get(voter, {}),
        )
        voters.append(quality)
    overall = ratings.agreement()
    counting = Share.of(*(sum(getattr(row.repeats, name) for row in voters if not row.excluded) for name in _COUNTS))
    flagged = []
    for row in voters:
        others = (_rest(row, counting, row.repeats), _rest(row, overall, row.agreement))
        flagged.append(replace(row, flags=tuple(flags_of(row, thresholds, *others))))
    missing = max(0, LEAST_PAIRS - ratings.n_pairs)
    intervals = (None, None) if missing else (ratings.agreement_interval(_LEVEL), ratings.alpha_interval(_LEVEL))
    (agreement_low, agreement_high), (alpha_low, alpha_high) = (ends or (None, None) for ends in intervals)
    return CampaignQuality(
        voters=tuple(flagged),
        n_pairs=ratings.n_pairs,
        n_missing=missing,
        agreement=overall,
        agreement_low=agreement_low,
        agreement_high=agreement_high,
        alpha=None if missing else ratings.alpha(),
        alpha_low=alpha_low,
        alpha_high=alpha_high,
    )


def _rest(voter: VoterQuality, total: Share, share: Share) -> Share:
    """Return the share of all other voters who count; for an excluded voter, there is nothing to subtract."""
    return total if voter.excluded else Share.of(total.n_so - share.n_so, total.n - share.n)


def _of_votes(answers: Answers, limits: FlagLimits) -> dict[str, Any]:
    times = answers.milliseconds[answers.milliseconds != NOTHING]
    decided = answers.answer[np.abs(answers.answer) == 1]
    left = Share.of(int((decided == 1).sum()), decided.size)
    low, high = left.interval(_LEVEL) or (None, None)
    return {
        "n_votes": answers.answer.size,
        "n_cannot_say": int((answers.answer == CANNOT_SAY).sum()),
        "seconds": float(np.median(times)) / 1000 if times.size else None,
        "fast": Share.of(int((times < 1000 * limits.fast_seconds).sum()), times.size),
        "left": left,
        "left_low": low,
        "left_high": high,
    }


def _of_known(answers: Answers) -> dict[str, Any]:
    def share(rows: NDArray[np.bool_]) -> Share:
        return Share.of(int((answers.answer[rows] == answers.expected[rows]).sum()), int(rows.sum()))

    return {kind: share(answers.kind == kind) for kind in ("attention", "gold")}


def _agreement(votes: Answers, probes: Answers, excluded: Mapping[int, str], ratings: Ratings) -> dict[int, Share]:
    """Return each voter's agreement with the others who count; an excluded voter is compared with those alone."""
    shares = _shares(ratings)
    for voter in excluded:
        others = set(excluded) - {voter}
        shares |= {
            key: share for key, share in _shares(ratings_of(votes, probes, excluded=others)).items() if key == voter
        }
    return shares


def _shares(ratings: Ratings) -> dict[int, Share]:
    others, same = ratings.with_others()
    ids, index = np.unique(ratings.voter, return_inverse=True)
    n, n_same = (np.bincount(index, weights=column, minlength=ids.size) for column in (others, same))
    return {
        voter: Share.of(int(so), int(of))
        for voter, so, of in zip(ids.tolist(), n_same.tolist(), n.tolist(), strict=True)
    }


def _by_model(
    info: CampaignInfo, votes: Answers, excluded: Mapping[int, str], limits: FlagLimits
) -> dict[int, dict[str, Any]]:
    """Return the parameters that the vote model gives for each voter with enough votes."""
    left_out = np.isin(votes.voter, np.array(sorted(excluded), np.int64))
    counted = votes.select((votes.answer != CANNOT_SAY) & ~left_out)
    ids, index, sizes = np.unique(counted.voter, return_inverse=True, return_counts=True)
    enough = np.flatnonzero(sizes >= limits.model_votes)
    if not enough.size or info.n_items > MOST_WITH_INTERVALS:
        return {}
    columns = (counted.left.astype(np.int32), counted.right.astype(np.int32), counted.answer.astype(np.int8))
    named = Comparisons(info.items, *columns, tuple(ids.tolist()), index.astype(np.int32))
    report = voter_report(bradley_terry(named, voters=True))
    columns_of = {name: getattr(report, name) for name in ("discrimination", "oversight", "random")}
    return {
        int(ids[place]): {name: float(column[place]) for name, column in columns_of.items()}
        for place in enough.tolist()
    }


@dataclass(frozen=True)
class ExclusionPreview:
    """The change in the ranking by strengths if a voter were left out or taken back in.

    Attributes
    ----------
    voter : str
    excluded : bool
        Whether the voter is currently left out.
    n_votes, n_others : int
        Votes of the voter, and of all others who count, without "cannot say".
    tau_w : float
        tau_w between the rankings with and without the voter.
    changes : tuple of (hashable, float, float)
        The items, at most five, whose rank would change most, with their current and new ranks.

    See Also
    --------
    Voter.preview_exclusion : Returns it.
    adaptive.influence : The same for votes from any source.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann", "Bob"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> said = {pair.id: "left" if pair.left < pair.right else "right" for pair in campaign.asked()}
    >>> recorded = campaign.record(said)
    >>> found = campaign.voters.named("Bob").preview_exclusion()
    >>> found.excluded, found.n_votes, found.n_others, round(found.tau_w, 4)
    (False, 2, 2, 1.0)
    >>> ledger.close()
    """

    voter: str
    excluded: bool
    n_votes: int
    n_others: int
    tau_w: float
    changes: tuple[tuple[Hashable, float, float], ...]


def exclusion_preview(transaction: Transaction, voter_id: int) -> ExclusionPreview:
    """Return the effect of leaving a voter out, or of taking back one who is left out, without changing anything.

    Its errors are those of `Voter.preview_exclusion`.
    """
    excluded = transaction.excluded_voters()
    name = transaction.voter_names()[voter_id]
    everybody = votes_of(transaction, excluded=set(excluded) - {voter_id})
    others = votes_of(transaction, excluded={*excluded, voter_id})
    n_votes = everybody.n_comparisons - others.n_comparisons
    if not n_votes or not others.n_comparisons:
        who = f"voter {name!r} has" if not n_votes else "all others who count have"
        raise LedgerError(f"{who} no votes: there is no difference to show")
    with_voter, without_voter = (
        best_fit(transaction, votes, left_out).ranking
        for votes, left_out in ((everybody, set(excluded) - {voter_id}), (others, {*excluded, voter_id}))
    )
    now, then = (without_voter, with_voter) if voter_id in excluded else (with_voter, without_voter)
    moved = np.abs(then.ranks - now.ranks)
    order = np.lexsort((now.ranks, -moved))[:_MOST_CHANGES]
    return ExclusionPreview(
        voter=name,
        excluded=voter_id in excluded,
        n_votes=n_votes,
        n_others=others.n_comparisons,
        tau_w=float(TauW()(with_voter, without_voter)),
        changes=tuple(
            (transaction.info.items[place], float(now.ranks[place]), float(then.ranks[place]))
            for place in order.tolist()
            if moved[place]
        ),
    )
