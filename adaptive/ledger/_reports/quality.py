"""Report the reliability of votes: statistics and flags of each voter, and the agreement of all voters.

Agreement is measured on pairs that several voters were asked, and on pairs that a voter was asked again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri

from adaptive.comparisons._comparisons import Comparisons
from adaptive.ledger._ballots.stored import NOTHING, Answers, answers_of
from adaptive.ledger._campaign.transaction import CampaignInfo, Transaction
from adaptive.ledger._store.schema import CANNOT_SAY
from adaptive.ledger.errors import LedgerError
from adaptive.model._accuracy import MOST_WITH_INTERVALS
from adaptive.model._models import bradley_terry
from adaptive.model._voters import voter_report, wilson_interval
from rankcorr._checks import check_declared, declare

_LEVEL: Final = 0.9
_COUNTS: Final = ("n_so", "n")
Array = NDArray[np.int64]
Floats = NDArray[np.float64]
# Agreement is reported from this number of pairs on. If each pair has two answers and there are no ties, the 90 %
# interval of alpha has a width of at most 0.7 with 20 pairs, and of up to 1.3 with 2.
LEAST_PAIRS: Final = 20


@dataclass(frozen=True)
class Flag:
    """A reason to review the votes of a voter.

    Attributes
    ----------
    kind : {"speed", "side", "attention", "gold", "repeats", "agreement", "random"}
    reason : str
        Text for the organiser.

    See Also
    --------
    FlagLimits : When a voter gets one.
    CampaignQuality : Lists the flags of each voter.

    Examples
    --------
    >>> from adaptive.ledger import Flag
    >>> flag = Flag("speed", "8 of 20 answers took less than 1 s")
    >>> flag.kind, flag.reason
    ('speed', '8 of 20 answers took less than 1 s')
    """

    kind: str
    reason: str


@dataclass(frozen=True)
class FlagLimits:
    """The limits that decide when a voter gets a flag.

    Attributes
    ----------
    fast_seconds, fast_share : float
        Answers in less than `fast_seconds` are fast. A voter gets a flag if their share exceeds `fast_share`.
    side_level : float
        Level of the interval of the side bias. A voter gets a flag if the interval excludes 0.5. With the default, one
        in a thousand voters without a bias gets this flag.
    known_wrong, known_share : int, float
        A voter gets a flag for at least `known_wrong` wrong answers to attention checks, or to gold pairs, if the share
        of correct answers is below `known_share`.
    unlikely : float
        A voter gets a flag for few consistent repeats, or for few agreements with other voters on the same pairs. The
        limit is the one-sided p-value of Fisher's exact test that the voter agrees as often as the others do. A fixed
        share would flag honest voters, because only little more than half of the repeats of close pairs get the same
        answer, and ties count.
    random : float
        A voter gets a flag if the probability of answering at random exceeds this limit.
    model_votes : int
        Smallest number of votes of a voter for which the model is applied.

    Raises
    ------
    LedgerError
        A number is out of range.

    See Also
    --------
    Campaign.quality : Takes them.
    Flag : A reason to review a voter.

    Examples
    --------
    >>> from adaptive.ledger import FlagLimits
    >>> limits = FlagLimits(fast_seconds=0.5)
    >>> limits.fast_seconds, limits.fast_share, limits.known_wrong
    (0.5, 0.3, 2)
    """

    fast_seconds: float = declare(float, 1.0, least=0, about="Answers below this time, in seconds, count as fast.")
    fast_share: float = declare(float, 0.3, least=0, most=1, about="Share of fast answers.")
    side_level: float = declare(float, 0.999, above=0, below=1, about="Level of the interval of the side bias.")
    known_wrong: int = declare(int, 2, least=1, about="Wrong answers to pairs with a known answer.")
    known_share: float = declare(float, 0.75, least=0, most=1, about="Share of correct answers to such pairs.")
    unlikely: float = declare(float, 0.01, least=0, most=1, about="Probability of so few equal answers.")
    random: float = declare(float, 0.5, least=0, most=1, about="Probability of answering at random.")
    model_votes: int = declare(int, 20, least=1, about="Smallest number of votes for which the model is applied.")

    def __post_init__(self) -> None:
        check_declared(self, LedgerError)


@dataclass(frozen=True)
class Share:
    """The number of cases with some property among n cases.

    Attributes
    ----------
    n, n_so : int
        Number of cases, and number of those with the property.
    share : float or None
        `n_so` / `n`; None if `n` is 0.
    """

    n: int
    n_so: int
    share: float | None

    @classmethod
    def of(cls, n_so: int, n: int) -> Share:
        """Return the share of `n_so` in `n`.

        Examples
        --------
        >>> Share.of(3, 4), str(Share.of(0, 0))
        (Share(n=4, n_so=3, share=0.75), '-')
        """
        return cls(n, n_so, n_so / n if n else None)

    @classmethod
    def of_flags(cls, has_property: NDArray[np.bool_]) -> Share:
        """Return the share of true flags."""
        return cls.of(int(has_property.sum()), has_property.size)

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return Wilson's interval of the share at this level; None if n is 0."""
        if self.share is None:
            return None
        return wilson_interval(self.share, self.n, float(ndtri((1 + level) / 2)))

    def __str__(self) -> str:
        return f"{self.n_so:,} of {self.n:,}" if self.n else "-"


@dataclass(frozen=True)
class VoterQuality:
    """Statistics of one voter's answers.

    Attributes
    ----------
    voter, key : str
        The voter's name and the random key used in exports.
    excluded : bool
    n_votes, n_cannot_say : int
        Number of current votes, and number of those that are "cannot say".
    seconds : float or None
        Median response time; None if no time is known.
    fast : Share
        Share of votes with a response time below the limit, among those with a recorded time.
    left : Share
        Share of votes for the left side, among those that are not ties.
    left_low, left_high : float or None
        90 % interval of `left`.
    attention, gold : Share
        Share of correct answers.
    repeats : Share
        Share of repeated comparisons, with the sides swapped, that got the same answer.
    agreement : Share
        Share of equal answers, among those of other voters on the same pairs, without excluded voters.
    discrimination, oversight, random : float or None
        Parameters of the vote model, a_v and e_v, and the probability of answering at random. None for voters with few
        votes, for excluded voters, and above 3,000 items.
    flags : tuple of Flag
    """

    voter: str
    key: str
    excluded: bool
    n_votes: int
    n_cannot_say: int
    seconds: float | None
    fast: Share
    left: Share
    left_low: float | None
    left_high: float | None
    attention: Share
    gold: Share
    repeats: Share
    agreement: Share
    discrimination: float | None = None
    oversight: float | None = None
    random: float | None = None
    flags: tuple[Flag, ...] = ()


def flags_of(voter: VoterQuality, limits: FlagLimits, repeats: Share, agreement: Share) -> Iterator[Flag]:
    """Yield the flags of one voter.

    Parameters
    ----------
    repeats, agreement : Share
        The shares of all other voters, without excluded ones.
    """
    fast = voter.fast
    if fast.share is not None and fast.share > limits.fast_share:
        yield Flag("speed", f"{fast} answers took less than {limits.fast_seconds:g} s")
    ends = voter.left.interval(limits.side_level)
    if ends is not None and not ends[0] <= 0.5 <= ends[1]:
        yield Flag("side", f"{voter.left} answers (ties aside) chose the left side")
    for kind, share in (("attention", voter.attention), ("gold", voter.gold)):
        wrong = share.n - share.n_so
        if wrong >= limits.known_wrong and share.n_so < limits.known_share * share.n:
            pairs = "attention checks" if kind == "attention" else "gold pairs"
            yield Flag(kind, f"{share} {pairs} answered as expected")
    if is_low(voter.repeats, repeats, limits.unlikely):
        summary = f"{voter.repeats} repeated comparisons got the same answer"
        yield Flag("repeats", f"{summary}; {repeats.share:.0%} by the other voters")
    if is_low(voter.agreement, agreement, limits.unlikely):
        summary = f"{voter.agreement} answers of others on the same pairs were the same"
        yield Flag("agreement", f"{summary}; {agreement.share:.0%} among the other voters")
    if voter.random is not None and voter.random > limits.random:
        yield Flag("random", f"according to the model, the voter answers at random with probability {voter.random:.2f}")


def is_low(share: Share, others: Share, unlikely: float) -> bool:
    """Return whether a share is significantly lower than that of the others, by Fisher's one-sided exact test."""
    if not share.n or not others.n:
        return False
    n_all, n_so = share.n + others.n, share.n_so + others.n_so
    counts = np.arange(max(0, share.n - (n_all - n_so)), share.n_so + 1)
    ways = _log_choose(n_so, counts) + _log_choose(n_all - n_so, share.n - counts) - _log_choose(n_all, share.n)
    return bool(np.exp(ways).sum() < unlikely)


def _log_choose(n: int, k: Any) -> Any:
    return gammaln(n + 1) - gammaln(np.asarray(k) + 1) - gammaln(n - np.asarray(k) + 1)


class AnswersByPair:
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
        """Return for each answer the number of other answers on its pair, and the number of those that are equal."""
        return self.sizes[self.group] - 1, self.counts[self.group, self.answer + 1] - 1

    def agreement(self) -> Share:
        """Return the share of equal answers among all pairs of answers on the same pair of items."""
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
        """Return Krippendorff's alpha for interval data: left is 1, a tie 0 and right -1.

        Each pair counts in both orders of its items, so that alpha does not depend on their order. The 2n ratings then
        have the mean 0, and alpha is 1 - (2n - 1)/n (1 - a). Here a is the mean over pairs, with the weights d_u, of
        a_u = 1 - (m_u d_u - s_u^2) / (2 (m_u - 1) d_u). Pair u has m_u answers with sum s_u, and d_u of the answers are
        not ties.

        The result is None if no pair was answered by two voters, or if all answers are ties.
        """
        agreements, decided = self._pair_agreements()
        return self._scaled(float(np.average(agreements, weights=decided))) if decided.size else None

    def alpha_interval(self, level: float) -> tuple[float, float] | None:
        """Return the interval of `alpha` over pairs of items, for these voters; None if alpha is None.

        Alpha is a linear function of a mean of a_u, which are between 0 and 1, so its interval follows from Wilson's
        interval for that mean. It is conservative, because values between 0 and 1 vary at most as much as zeros and
        ones with the same mean. The number of observations is the effective number for unequal weights, (sum d_u)^2 /
        sum d_u^2. Answers on the same pair are not independent, so a pair is one observation, regardless of its number
        of answers.

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
    """Return Wilson's interval for a weighted mean of values between 0 and 1, with their effective number."""
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    return wilson_interval(float(np.average(values, weights=weights)), effective, float(ndtri((1 + level) / 2)))


def ratings_of(votes: Answers, probes: Answers, *, excluded: Collection[int] = ()) -> AnswersByPair:
    """Return answers on pairs that several voters were asked, as overlaps or because ballots repeat pairs.

    If a voter answered a pair several times, the first answer counts; in a ballot, votes come before probes.

    Parameters
    ----------
    excluded : collection of int
        Ids of voters to exclude.
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
    return AnswersByPair(pair[has_several], voter[has_several], answer[has_several])


def consistency(votes: Answers, probes: Answers) -> tuple[Array, NDArray[np.bool_]]:
    """Return the voter of each repeat that has both answers, and whether the two answers agree."""
    repeats = probes.select((probes.kind == "repeat") & (probes.answer != CANNOT_SAY))
    votes = votes.select(votes.answer != CANNOT_SAY)
    places, repeated_places = votes.ballot << 32 | votes.place, repeats.ballot << 32 | repeats.repeats
    is_answered, order = np.isin(repeated_places, places), np.argsort(places, kind="stable")
    repeats = repeats.select(is_answered)
    vote = order[np.searchsorted(places, repeated_places[is_answered], side="right", sorter=order) - 1]
    is_same_voter = votes.voter[vote] == repeats.voter
    # The sides are swapped, so consistent answers have opposite signs.
    return repeats.voter[is_same_voter], (votes.answer[vote] == -repeats.answer)[is_same_voter]


@dataclass(frozen=True)
class CampaignQuality:
    """Statistics of the answers of all voters.

    Attributes
    ----------
    voters : tuple of VoterQuality
        Voters with an answer, in order of joining.
    n_pairs : int
        Number of pairs that several voters answered, without excluded voters: overlaps, and pairs that ballots repeat.
    n_missing : int
        Number of further pairs needed before agreement is reported; 0 from 20 pairs on.
    agreement : Share
        Share of equal answers among all pairs of answers to these item pairs.
    alpha : float or None
        Krippendorff's alpha on these pairs; see `AnswersByPair.alpha`.
    agreement_low, agreement_high, alpha_low, alpha_high : float or None
        90 % intervals over pairs of items; see `AnswersByPair.alpha_interval`. While pairs are missing, these values
        and alpha are None.

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
    model = _model_parameters(transaction.info, votes, excluded, thresholds)
    agreement = _agreement_by_voter(votes, probes, excluded, ratings)
    voters = []
    same_voter, same = consistency(votes, probes)
    for voter in sorted({*votes.voter.tolist(), *probes.voter.tolist()}):
        voter_votes = votes.select(votes.voter == voter)
        quality = VoterQuality(
            voter=names[voter],
            key=keys[voter],
            excluded=voter in excluded,
            **_vote_statistics(voter_votes, thresholds),
            **_check_shares(probes.select(probes.voter == voter)),
            repeats=Share.of_flags(same[same_voter == voter]),
            agreement=agreement.get(voter, Share.of(0, 0)),
            **model.get(voter, {}),
        )
        voters.append(quality)
    overall = ratings.agreement()
    counting = Share.of(*(sum(getattr(row.repeats, name) for row in voters if not row.excluded) for name in _COUNTS))
    flagged = []
    for row in voters:
        others = (_without_voter(row, counting, row.repeats), _without_voter(row, overall, row.agreement))
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


def _without_voter(voter: VoterQuality, total: Share, share: Share) -> Share:
    """Return the share of all other voters; the total already lacks an excluded voter."""
    return total if voter.excluded else Share.of(total.n_so - share.n_so, total.n - share.n)


def _vote_statistics(answers: Answers, limits: FlagLimits) -> dict[str, Any]:
    times = answers.milliseconds[answers.milliseconds != NOTHING]
    decided = answers.answer[np.abs(answers.answer) == 1]
    left = Share.of_flags(decided == 1)
    low, high = left.interval(_LEVEL) or (None, None)
    return {
        "n_votes": answers.answer.size,
        "n_cannot_say": int((answers.answer == CANNOT_SAY).sum()),
        "seconds": float(np.median(times)) / 1000 if times.size else None,
        "fast": Share.of_flags(times < 1000 * limits.fast_seconds),
        "left": left,
        "left_low": low,
        "left_high": high,
    }


def _check_shares(answers: Answers) -> dict[str, Any]:
    is_expected = answers.answer == answers.expected
    return {kind: Share.of_flags(is_expected[answers.kind == kind]) for kind in ("attention", "gold")}


def _agreement_by_voter(
    votes: Answers, probes: Answers, excluded: Mapping[int, str], ratings: AnswersByPair
) -> dict[int, Share]:
    """Return the agreement of each voter, excluded or not, with the other voters who are not excluded."""
    shares = _equal_shares(ratings)
    for voter in excluded:
        with_voter = _equal_shares(ratings_of(votes, probes, excluded=set(excluded) - {voter}))
        shares |= {voter: with_voter[voter]} if voter in with_voter else {}
    return shares


def _equal_shares(ratings: AnswersByPair) -> dict[int, Share]:
    others, same = ratings.with_others()
    ids, index = np.unique(ratings.voter, return_inverse=True)
    n, n_same = (np.bincount(index, weights=column, minlength=ids.size).tolist() for column in (others, same))
    return {voter: Share.of(int(so), int(of)) for voter, so, of in zip(ids.tolist(), n_same, n, strict=True)}


def _model_parameters(
    info: CampaignInfo, votes: Answers, excluded: Mapping[int, str], limits: FlagLimits
) -> dict[int, dict[str, Any]]:
    """Return the parameters of the vote model for each voter with enough votes."""
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
