"""Flags: what about a voter an organiser should look at, and why. Nobody is left out by a flag."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptive.ledger.errors import LedgerError
from adaptive.model.judged_votes import wilson_interval
from rankcorr.checks import real_number, shown, whole_number

if TYPE_CHECKING:
    from adaptive.ledger.quality.report import VoterQuality
    from adaptive.ledger.quality.shares import Share

__all__ = ["Flag", "Limits", "flags_of", "side_interval"]


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
    repeats, least_repeats : float, int
        At most this share of the repeats answered alike, of at least so many: coins agree in half of them.
    agreement, least_agreement : float, int
        The same of answers of other voters on the same pairs.
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
    repeats: float = 0.5
    least_repeats: int = 5
    agreement: float = 0.5
    least_agreement: int = 10
    random: float = 0.5
    model_votes: int = 20

    def __post_init__(self) -> None:
        if not 0 <= real_number(self.fast_seconds) < math.inf:
            raise LedgerError(f"fast_seconds must be a finite number from 0 on; got {shown(self.fast_seconds)}")
        for name in ("fast_share", "side_level", "known_share", "repeats", "agreement", "random"):
            if not 0 <= real_number(getattr(self, name)) <= 1:
                raise LedgerError(f"{name} must be from 0 to 1; got {shown(getattr(self, name))}")
        if not 0 < self.side_level < 1:
            raise LedgerError(f"side_level must be between 0 and 1, both excluded; got {shown(self.side_level)}")
        for name in ("known_wrong", "least_repeats", "least_agreement", "model_votes"):
            number = whole_number(getattr(self, name))
            if number is None or number < 1:
                raise LedgerError(f"{name} must be a positive whole number; got {shown(getattr(self, name))}")


def side_interval(left: Share, level: float) -> tuple[float, float] | None:
    """Wilson's interval of the share of answers for the left side; None without any."""
    if left.share is None:
        return None
    from scipy.special import ndtri

    return wilson_interval(left.share, left.n, float(ndtri((1 + level) / 2)))


def flags_of(voter: VoterQuality, limits: Limits) -> Iterator[Flag]:
    """Flags of one voter."""
    fast = voter.fast
    if fast.share is not None and fast.share > limits.fast_share:
        yield Flag("speed", f"{fast} answers took less than {limits.fast_seconds:g} s")
    ends = side_interval(voter.left, limits.side_level)
    if ends is not None and not ends[0] <= 0.5 <= ends[1]:
        yield Flag("side", f"{voter.left} answers that were no ties are for the left side")
    for kind, share in (("attention", voter.attention), ("gold", voter.gold)):
        wrong = share.n - share.n_so
        if wrong >= limits.known_wrong and share.n_so < limits.known_share * share.n:
            what = "attention checks" if kind == "attention" else "gold pairs"
            yield Flag(kind, f"{share} {what} answered as expected")
    repeats, agreement = voter.repeats, voter.agreement
    if repeats.n >= limits.least_repeats and repeats.n_so <= limits.repeats * repeats.n:
        yield Flag("repeats", f"{repeats} comparisons answered alike when they came again")
    if agreement.n >= limits.least_agreement and agreement.n_so <= limits.agreement * agreement.n:
        yield Flag("agreement", f"{agreement} answers of others on the same pairs were the same")
    if voter.random is not None and voter.random > limits.random:
        yield Flag("random", f"by the model, the answers are those of a coin with probability {voter.random:.2f}")
