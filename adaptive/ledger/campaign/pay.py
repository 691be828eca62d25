"""What a campaign pays its voters, and what it costs with the fee of a platform."""

from __future__ import annotations

import math
from dataclasses import InitVar, asdict, dataclass
from typing import Any

from adaptive.ledger.campaign.wording import is_line
from adaptive.ledger.errors import LedgerError
from rankcorr.checks import real_number, shown

__all__ = ["Pay"]


@dataclass(frozen=True)
class Pay:
    """What is paid for an answer, to a comparison or a probe.

    Attributes
    ----------
    per_vote, per_hour : float or None
        One of them: for an answer, or for an hour of `seconds` each.
    seconds : float or None
        Time that an answer takes; wanted with `per_hour`.
    fee : float
        What the platform takes on top, as a share of the pay: 0.25 is a quarter.
    currency : str
        As it is to be shown, "EUR".
    is_new : bool
        Not kept. False for what a ledger or a bundle has, whose currency is read as it is.

    Raises
    ------
    LedgerError
        When both or none of `per_vote` and `per_hour` are given, or a number is out of range.

    Examples
    --------
    >>> pay = Pay(per_hour=12, seconds=6, fee=0.25, currency="EUR")
    >>> pay.per_answer, pay.cost(1000), pay.text(pay.cost(1000))
    (0.02, 25.0, '25.00 EUR')
    """

    per_vote: float | None = None
    per_hour: float | None = None
    seconds: float | None = None
    fee: float = 0.0
    currency: str = ""
    is_new: InitVar[bool] = True

    def __post_init__(self, is_new: bool) -> None:
        if (self.per_vote is None) == (self.per_hour is None):
            got = "neither" if self.per_vote is None else "both"
            raise LedgerError(f"pay is per vote or per hour; got {got}")
        if self.per_hour is not None and self.seconds is None:
            raise LedgerError("pay per hour needs the seconds that an answer takes")
        for name in ("per_vote", "per_hour", "seconds"):
            value = getattr(self, name)
            if value is not None and not 0 < real_number(value) < math.inf:
                raise LedgerError(f"{name} must be a finite number above 0; got {shown(value)}")
        if not 0 <= real_number(self.fee) < math.inf:
            raise LedgerError(f"fee must be a share from 0 on; got {shown(self.fee)}")
        if not isinstance(self.currency, str) or (is_new and self.currency != "" and not is_line(self.currency)):
            raise LedgerError(f"currency must be text of one line; got {shown(self.currency)}")

    @property
    def per_answer(self) -> float:
        """What a voter gets for one answer."""
        if self.per_vote is not None:
            return float(self.per_vote)
        return (self.per_hour or 0.0) * (self.seconds or 0.0) / 3600

    @property
    def hourly(self) -> float | None:
        """What a voter gets for an hour; None where the time of an answer is not known."""
        return None if self.seconds is None else self.per_answer * 3600 / self.seconds

    def cost(self, n_answers: float) -> float:
        """What a number of answers costs, the fee included."""
        return n_answers * self.per_answer * (1 + self.fee)

    def hours(self, n_answers: float) -> float | None:
        """Person-hours of a number of answers; None where the time of an answer is not known."""
        return None if self.seconds is None else n_answers * self.seconds / 3600

    def text(self, amount: float) -> str:
        """An amount with its currency."""
        return f"{amount:,.2f} {self.currency}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """The fields, ready for JSON."""
        return asdict(self)
