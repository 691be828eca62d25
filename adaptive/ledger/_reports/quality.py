"""Report how far votes can be trusted: a row with flags for each voter, and the agreement among all.

Agreement is measured on pairs that several voters were asked, and on those that a voter was asked again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.comparisons._comparisons import Comparisons
from adaptive.ledger._ballots.stored import sides_of
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._campaign.transaction import Transaction
from adaptive.ledger._reports.flags import FlagLimits, Share, VoterQuality, flags_of
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import CANNOT_SAY, directions_of, value_of
from adaptive.model._accuracy import MOST_WITH_INTERVALS
from adaptive.model._models import bradley_terry
from adaptive.model._voters import voter_report, wilson_interval

_LEVEL: Final = 0.9
_COUNTS: Final = ("n_so", "n")
NOTHING: Final = -9
_KINDS: Final = ("", "practice", "attention", "gold", "repeat", "overlap")
Array = NDArray[np.int64]
Floats = NDArray[np.float64]
# Agreement is reported from this many pairs on. If each pair has two answers and there are no ties, the 90 % interval
# of alpha is at most 0.7 wide with 20 pairs, and up to 1.3 wide with 2.
LEAST_PAIRS: Final = 20


class Ratings:
    """Answers to pairs that at least two voters were asked, each voter once for each pair.

    Parameters
    ----------
    pair, voter, answer : ndarray of int64
        Columns sorted by pair; the answer is 1, 0 or -1, as if the item of the lower place were on the left.
    """

    def __init__(self, pair: Array, voter: Array, answer: Array) -> None:
        self.pair, self.voter, self.answer = pair, voter, answer
        starts = np.flatnonzero(np.append(True, pair[1:] != pair[:-1])) if pair.size else np.empty(0, np.intp)
        self.sizes = np.diff(np.append(starts, pair.size))
        self.group = np.repeat(np.arange(starts.size), self.sizes)

    @property
    def n_pairs(self) -> int:
        """Number of pairs that several voters were asked."""
        return int(self.sizes.size)

    @property
    def counts(self) -> Array:
        """Number of answers on each pair for its right item, for a tie and for its left item, shape (n_pairs, 3)."""
        counts = np.zeros((self.n_pairs, 3), np.int64)
        np.add.at(counts, (self.group, self.answer + 1), 1)
        return counts

    def with_others(self) -> tuple[Array, Array]:
        """Return for each answer how many others its pair has, and how many of those are equal."""
        return self.sizes[self.group] - 1, self.counts[self.group, self.answer + 1] - 1

    def agreement(self) -> Share:
        """Return the share of equal answers among pairs of answers on the same pair of items."""
        others, same = self.with_others()
        return Share.of(int(same.sum()) // 2, int(others.sum()) // 2)

    def agreement_interval(self, level: float) -> tuple[float, float] | None:
        """Return the interval of `agreement` over pairs of items, or None without any; see `alpha_interval`."""
        if not self.n_pairs:
            return None
        both = self.sizes * (self.sizes - 1) / 2
        same = (self.counts * (self.counts - 1)).sum(axis=1) / 2
        return _mean_interval(same / both, both, level)

    def alpha(self) -> float | None:
        """Return Krippendorff's alpha at level "interval": left and right are two steps apart, a tie is in between.

        Each pair counts in both orders of its items, so that alpha does not depend on their order. The 2n ratings then
        have the mean 0, and alpha is 1 - (2n - 1)/n (1 - a). Here a is the mean over pairs, with the weights d_u, of
        a_u = 1 - (m_u d_u - s_u^2) / (2 (m_u - 1) d_u). Pair u has m_u answers with sum s_u, and d_u of the answers are
        not ties.

        The result is None if no pair was answered by two voters, or if all answers are ties.
        """
        agreements, decided = self._pair_agreements()
        return self._scaled(float(np.average(agreements, weights=decided))) if decided.size else None

    def alpha_interval(self, level: float) -> tuple[float, float] | None:
        """Return the interval of `alpha` over pairs of items, for the voters at hand; None if alpha is None.

        Alpha is a linear function of a mean of a_u, which are between 0 and 1: the interval is Wilson's for that mean.
        Values between 0 and 1 vary at most as much as zeros and ones with the same mean, so the interval is
        conservative. The number of observations is the effective one of unequal weights, (sum d_u)^2 / sum d_u^2. The
        answers on one pair are not independent, so a pair is one observation, regardless of its number of answers.

        References
        ----------
        E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927) 209-212.
        L. Kish, Survey Sampling, Wiley 1965, section 11.7.
        """
        agreements, decided = self._pair_agreements()
        if not decided.size:
            return None
        low, high = _mean_interval(agreements, decided, level)
        return self._scaled(low), self._scaled(high)

    def _pair_agreements(self) -> tuple[Floats, Floats]:
        """Return a_u and its weight d_u for each pair with an answer other than a tie."""
        counts = self.counts
        decided = counts[:, 0] + counts[:, 2]
        some = decided > 0
        size, decided, total = self.sizes[some], decided[some], (counts[:, 2] - counts[:, 0])[some]
        return 1 - (size * decided - total**2) / (2 * (size - 1) * decided), decided.astype(np.float64)

    def _scaled(self, agreement: float) -> float:
        return 1 - (2 - 1 / self.answer.size) * (1 - agreement)


def _mean_interval(values: Floats, weights: Floats, level: float) -> tuple[float, float]:
    """Return Wilson's interval for a weighted mean of values between 0 and 1, by the effective number of values."""
    from scipy.special import ndtri

    effective = float(weights.sum() ** 2 / (weights**2).sum())
    return wilson_interval(float(np.average(values, weights=weights)), effective, float(ndtri((1 + level) / 2)))


def ratings_of(votes: Answers, probes: Answers, *, excluded: Collection[int] = ()) -> Ratings:
    """Return answers on pairs that several voters were asked, as overlaps or because ballots repeat pairs.

    If a voter answered a pair several times, the first answer counts: ballots in order, votes before probes.

    Parameters
    ----------
    excluded : collection of int
        Voters to leave out.
    """
    overlaps = probes.select(probes.kind == "overlap")
    left, right, answer, voter, ballot, place = (
        np.concatenate([getattr(part, name) for part in (votes, overlaps)])
        for name in ("left", "right", "answer", "voter", "ballot", "place")
    )
    is_probe = np.repeat([False, True], [votes.answer.size, overlaps.answer.size])
    pair = np.minimum(left, right) << 32 | np.maximum(left, right)
    answer = np.where((left < right) | (answer == CANNOT_SAY), answer, -answer)
    is_counted = (answer != CANNOT_SAY) & ~np.isin(voter, np.array(sorted(excluded), np.int64))
    order = np.lexsort((place, is_probe, ballot, voter, pair))
    order = order[is_counted[order]]
    pair, voter, answer = pair[order], voter[order], answer[order]
    first = np.append(np.ones(min(1, pair.size), bool), (pair[1:] != pair[:-1]) | (voter[1:] != voter[:-1]))
    pair, voter, answer = pair[first], voter[first], answer[first]
    _, group, sizes = np.unique(pair, return_inverse=True, return_counts=True)
    has_several = sizes[group] > 1
    return Ratings(pair[has_several], voter[has_several], answer[has_several])


def consistency(votes: Answers, probes: Answers) -> tuple[Array, NDArray[np.bool_]]:
    """Return the voter of each repeat that has both answers, and whether the two say the same."""
    repeats = probes.select((probes.kind == "repeat") & (probes.answer != CANNOT_SAY))
    answers_by_place = {
        (ballot, place): (voter, answer)
        for ballot, place, voter, answer in zip(
            votes.ballot.tolist(), votes.place.tolist(), votes.voter.tolist(), votes.answer.tolist(), strict=True
        )
        if answer != CANNOT_SAY
    }
    rows = zip(*(getattr(repeats, name).tolist() for name in ("ballot", "repeats", "voter", "answer")), strict=True)
    # The sides are swapped, so the same opinion is the opposite answer.
    comparisons = [
        (voter, answers_by_place[ballot, place][1] == -answer)
        for ballot, place, voter, answer in rows
        if (ballot, place) in answers_by_place and answers_by_place[ballot, place][0] == voter
    ]
    return np.array([voter for voter, _ in comparisons], np.int64), np.array([same for _, same in comparisons], bool)


@dataclass(frozen=True, eq=False)
class Answers:
    """Current answers, by ballot and in the order of the draw.

    Attributes
    ----------
    ballot, place : ndarray of int64
        Id of the ballot, and place in the ballot.
    left, right : ndarray of int64
        Places of the items in the campaign; of a set, of its best and its worst item in the order shown.
    answer : ndarray of int64
        1 left, 0 tie, -1 right, 2 cannot say, whatever the grade.
    voter : ndarray of int64
        Ids of the voters.
    milliseconds : ndarray of int64
        Time that the answer took; NOTHING if unknown.
    kind : ndarray of str
        Kind of a probe; "" for a vote.
    expected : ndarray of int64
        Expected answer of a probe whose answer is known; else NOTHING.
    repeats : ndarray of int64
        Comparison that a probe asks again; else NOTHING.
    """

    ballot: Array
    place: Array
    left: Array
    right: Array
    answer: Array
    voter: Array
    milliseconds: Array
    kind: NDArray[np.str_]
    expected: Array
    repeats: Array

    def select(self, rows: NDArray[np.bool_]) -> Answers:
        """Return some of the answers."""
        return Answers(**{name: column[rows] for name, column in vars(self).items()})


def answers_of(transaction: Transaction) -> tuple[Answers, Answers]:
    """Return the current votes and the current answers to checks."""
    event, pair = schema.vote_event, schema.comparison
    votes = (event.c.ballot_id, event.c.place, pair.c.left_item, pair.c.right_item, event.c.answer, event.c.voter_id)
    kind = sa.case(*((pair.c.probe == name, code) for code, name in enumerate(_KINDS)), else_=0)
    optional = (event.c.response_ms, pair.c.expected, pair.c.repeats)
    milliseconds, expected, repeats = (sa.func.coalesce(column, NOTHING) for column in optional)
    query = sa.select(*votes, milliseconds, kind, expected, repeats).select_from(schema.VOTES.join(pair))
    of_campaign = query.where(transaction.of_campaign(schema.ballot), schema.IN_FORCE)
    in_order = of_campaign.order_by(schema.ballot.c.number, event.c.place)
    read = transaction.integer_columns(in_order)
    columns: dict[str, Any] = dict(zip((field.name for field in fields(Answers)), read, strict=True))
    if transaction.info.set_size > 2:
        other_items = transaction.execute(in_order.with_only_columns(pair.c.other_items)).scalars()
        items = np.column_stack([columns["left"], columns["right"], [value_of(items) for items in other_items]])
        columns["left"], columns["right"] = sides_of(items, columns["answer"])
    kinds = columns["kind"]
    answers = Answers(**{**columns, "answer": directions_of(columns["answer"]), "kind": np.array(_KINDS)[kinds]})
    return answers.select(kinds == 0), answers.select(kinds > 0)


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
    """Return the statistics of `Campaign.quality`."""
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
        with_voter = _shares(ratings_of(votes, probes, excluded=set(excluded) - {voter}))
        shares |= {voter: with_voter[voter]} if voter in with_voter else {}
    return shares


def _shares(ratings: Ratings) -> dict[int, Share]:
    others, same = ratings.with_others()
    ids, index = np.unique(ratings.voter, return_inverse=True)
    n, n_same = (np.bincount(index, weights=column, minlength=ids.size).tolist() for column in (others, same))
    return {voter: Share.of(int(so), int(of)) for voter, so, of in zip(ids.tolist(), n_same, n, strict=True)}


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
    rows = ((int(ids[at]), at) for at in enough.tolist())
    return {voter: {name: float(column[at]) for name, column in columns_of.items()} for voter, at in rows}
