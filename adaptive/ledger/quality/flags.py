"""Shares of answers, what is known of a voter, and flags: what to look at, and why. No flag leaves anybody out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adaptive.ledger.errors import LedgerError
from adaptive.model.voters import wilson_interval
from rankcorr.checks import real_number, shown, whole_number


@dataclass(frozen=True)
class Flag:
    """Something to look at.

    Attributes
    ----------
    kind : {"speed", "side", "attention", "gold", "repeats", "agreement", "random"}
    reason : str
    """

    kind: str
    reason: str


@dataclass(frozen=True)
class Limits:
    """When a voter gets a flag.

    Attributes
    ----------
    fast_seconds, fast_share : float
        An answer in less than so many seconds is fast; a larger share of fast answers gets a flag.
    side_level : float
        Level of the interval of the side bias that must exclude one half. One in a thousand voters without a bias gets
        this flag.
    known_wrong, known_share : int, float
        From so many wrong answers to attention checks, or to gold pairs, and below this share of right ones.
    unlikely : float
        Repeats answered alike, or answers of others on the same pairs that are the same, so few that a voter who agrees
        as often as the others would have as few with a smaller probability (Fisher). A fixed share would flag honest
        voters: close pairs are answered alike in little more than half of the repeats, and ties count.
    random : float
        Above this probability to flip coins.
    model_votes : int
        The model is asked about voters with at least so many votes.

    Raises
    ------
    LedgerError
        When a number is out of range.
    """

    fast_seconds: float = 1.0
    fast_share: float = 0.3
    side_level: float = 0.999
    known_wrong: int = 2
    known_share: float = 0.75
    unlikely: float = 0.01
    random: float = 0.5
    model_votes: int = 20

    def __post_init__(self) -> None:
        if not 0 <= real_number(self.fast_seconds) < math.inf:
            raise LedgerError(f"fast_seconds must be a finite number from 0 on; got {shown(self.fast_seconds)}")
        for name in ("fast_share", "side_level", "known_share", "unlikely", "random"):
            if not 0 <= real_number(getattr(self, name)) <= 1:
                raise LedgerError(f"{name} must be from 0 to 1; got {shown(getattr(self, name))}")
        if not 0 < self.side_level < 1:
            raise LedgerError(f"side_level must be between 0 and 1, both excluded; got {shown(self.side_level)}")
        for name in ("known_wrong", "model_votes"):
            number = whole_number(getattr(self, name))
            if number is None or number < 1:
                raise LedgerError(f"{name} must be a positive whole number; got {shown(getattr(self, name))}")


@dataclass(frozen=True)
class VoterQuality:
    """What the answers of one voter say.

    Attributes
    ----------
    voter, key : str
        Name, and the random key that exports have.
    excluded : bool
    n_votes, n_cannot_say : int
        Votes that stand, and those of them that say "cannot say".
    seconds : float or None
        Median time of a vote; None where no time is known.
    fast : Share
        Votes, of those with a time, that took less than the limit.
    left : Share
        Votes for the left side, of those that are no ties.
    left_low, left_high : float or None
        90 % interval of it.
    attention, gold : Share
        Answers as expected.
    repeats : Share
        Comparisons answered alike when they came again with the sides swapped.
    agreement : Share
        Answers of other voters, who are not left out, on the same pairs that are the same.
    discrimination, oversight, random : float or None
        By the vote model: a_v, e_v and the probability to flip coins; None for voters with few votes or who are left
        out, and above 3,000 items.
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


def flags_of(voter: VoterQuality, limits: Limits, repeats: Share, agreement: Share) -> Iterator[Flag]:
    """Flags of one voter.

    Parameters
    ----------
    repeats, agreement : Share
        Those of all other voters who count.
    """
    fast = voter.fast
    if fast.share is not None and fast.share > limits.fast_share:
        yield Flag("speed", f"{fast} answers took less than {limits.fast_seconds:g} s")
    ends = voter.left.interval(limits.side_level)
    if ends is not None and not ends[0] <= 0.5 <= ends[1]:
        yield Flag("side", f"{voter.left} answers that were no ties are for the left side")
    for kind, share in (("attention", voter.attention), ("gold", voter.gold)):
        wrong = share.n - share.n_so
        if wrong >= limits.known_wrong and share.n_so < limits.known_share * share.n:
            what = "attention checks" if kind == "attention" else "gold pairs"
            yield Flag(kind, f"{share} {what} answered as expected")
    if is_low(voter.repeats, repeats, limits.unlikely):
        said = f"{voter.repeats} comparisons answered alike when they came again"
        yield Flag("repeats", f"{said}; {repeats.share:.0%} by the other voters")
    if is_low(voter.agreement, agreement, limits.unlikely):
        said = f"{voter.agreement} answers of others on the same pairs were the same"
        yield Flag("agreement", f"{said}; {agreement.share:.0%} among the other voters")
    if voter.random is not None and voter.random > limits.random:
        yield Flag("random", f"by the model, the answers are those of a coin with probability {voter.random:.2f}")


def is_low(own: Share, others: Share, unlikely: float) -> bool:
    """Whether so few of n would be unlikely at the rate of the others: Fisher's exact test, on one side."""
    if not own.n or not others.n:
        return False
    n_all, n_so = own.n + others.n, own.n_so + others.n_so
    counts = np.arange(max(0, own.n - (n_all - n_so)), own.n_so + 1)
    ways = _log_choose(n_so, counts) + _log_choose(n_all - n_so, own.n - counts) - _log_choose(n_all, own.n)
    return bool(np.exp(ways).sum() < unlikely)


def _log_choose(n: int, k: Any) -> Any:
    from scipy.special import gammaln

    return gammaln(n + 1) - gammaln(np.asarray(k) + 1) - gammaln(n - np.asarray(k) + 1)


@dataclass(frozen=True)
class Share:
    """How many of n are so.

    Attributes
    ----------
    n, n_so : int
    share : float or None
        None of nothing.
    """

    n: int
    n_so: int
    share: float | None

    @classmethod
    def of(cls, n_so: int, n: int) -> Share:
        """Share of `n_so` in `n`.

        Examples
        --------
        >>> Share.of(3, 4), str(Share.of(0, 0))
        (Share(n=4, n_so=3, share=0.75), '-')
        """
        return cls(n, n_so, n_so / n if n else None)

    def interval(self, level: float) -> tuple[float, float] | None:
        """Wilson's interval of the share at this level; None of nothing."""
        if self.share is None:
            return None
        from scipy.special import ndtri

        return wilson_interval(self.share, self.n, float(ndtri((1 + level) / 2)))

    def __str__(self) -> str:
        return f"{self.n_so:,} of {self.n:,}" if self.n else "-"
