"""Flag voters to review: the statistics of a voter's answers, and the limits from which they are unusual."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adaptive.ledger.errors import LedgerError
from adaptive.model._voters import wilson_interval
from rankcorr._checks import check_declared, declare


@dataclass(frozen=True)
class Flag:
    """A point to review.

    Attributes
    ----------
    kind : {"speed", "side", "attention", "gold", "repeats", "agreement", "random"}
    reason : str

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
        An answer that takes less than `fast_seconds` is fast; a share of fast answers above `fast_share` gets a flag.
    side_level : float
        Level of the interval of the side bias; a voter gets a flag if the interval excludes one half. One in a thousand
        voters without a bias gets this flag.
    known_wrong, known_share : int, float
        A voter gets a flag for at least `known_wrong` wrong answers to attention checks, or to gold pairs, if the share
        of correct ones is below `known_share`.
    unlikely : float
        A voter gets a flag for few consistent repeats, or for few agreements with other voters on the same pairs. The
        limit is the probability that a voter who agrees as often as the others do would have as few (Fisher). A fixed
        share would flag honest voters, because close pairs are answered alike in little more than half of the repeats,
        and ties count.
    random : float
        A voter gets a flag if the probability of flipping coins is above this limit.
    model_votes : int
        The model is applied to voters with at least this number of votes.

    Raises
    ------
    LedgerError
        If a number is out of range.

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
    known_wrong: int = declare(int, 2, least=1, about="Wrong answers to pairs whose answer is known.")
    known_share: float = declare(float, 0.75, least=0, most=1, about="Share of correct answers to such pairs.")
    unlikely: float = declare(float, 0.01, least=0, most=1, about="Probability of so few equal answers.")
    random: float = declare(float, 0.5, least=0, most=1, about="Probability of flipping coins.")
    model_votes: int = declare(int, 20, least=1, about="Votes of a voter from which the model is applied.")

    def __post_init__(self) -> None:
        check_declared(self, LedgerError)


@dataclass(frozen=True)
class Share:
    """The number of cases with a property among n.

    Attributes
    ----------
    n, n_so : int
    share : float or None
        None if n is 0.
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

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return Wilson's interval of the share at this level; None if n is 0."""
        if self.share is None:
            return None
        from scipy.special import ndtri

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
        Current votes, and how many of them are "cannot say".
    seconds : float or None
        Median time of a vote; None if no time is known.
    fast : Share
        Among votes with a recorded time, those that took less than the limit.
    left : Share
        Among votes that are not ties, those for the left side.
    left_low, left_high : float or None
        90 % interval of `left`.
    attention, gold : Share
        Correct answers.
    repeats : Share
        Comparisons answered alike when repeated with the sides swapped.
    agreement : Share
        Among answers of other voters who are not left out, on the same pairs, those that are equal.
    discrimination, oversight, random : float or None
        From the vote model: a_v, e_v and the probability of flipping coins. None for voters with few votes, for voters
        who are left out, and above 3,000 items.
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
        The shares of all other voters who count.
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
    """Return whether so few of n would be unlikely at the rate of the others: Fisher's exact test, one-sided."""
    if not share.n or not others.n:
        return False
    n_all, n_so = share.n + others.n, share.n_so + others.n_so
    counts = np.arange(max(0, share.n - (n_all - n_so)), share.n_so + 1)
    ways = _log_choose(n_so, counts) + _log_choose(n_all - n_so, share.n - counts) - _log_choose(n_all, share.n)
    return bool(np.exp(ways).sum() < unlikely)


def _log_choose(n: int, k: Any) -> Any:
    from scipy.special import gammaln

    return gammaln(n + 1) - gammaln(np.asarray(k) + 1) - gammaln(n - np.asarray(k) + 1)
