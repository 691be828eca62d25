"""The options of `ballots run init` about probes and pay."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rankcorr import OptionError

if TYPE_CHECKING:
    from adaptive.ledger import Pay, Probing

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--probes",
        metavar="FILE",
        help="CSV of pairs whose answer is known: left, right, winner and kind (practice, attention or gold).",
    ),
    click.option(
        "--probes-per-sheet",
        type=int,
        metavar="N",
        help="Attention checks and gold pairs of each sheet.  [default: 1, with --probes]",
    ),
    click.option("--repeats", type=float, default=0.0, metavar="SHARE", help="Of the comparisons, to ask again."),
    click.option(
        "--overlap", type=float, default=0.0, metavar="SHARE", help="Of the comparisons, to ask a second voter too."
    ),
    click.option("--pay-per-vote", type=float, metavar="AMOUNT", help="What a voter gets for an answer."),
    click.option("--pay-per-hour", type=float, metavar="AMOUNT", help="Or for an hour of answers of --seconds."),
    click.option("--fee", type=float, metavar="SHARE", help="What a platform takes on top, as a share of the pay."),
    click.option("--currency", metavar="TEXT", help="Of the pay."),
)


@dataclass(frozen=True)
class AskingOptions:
    """What the command line says about probes and pay."""

    probes: str | None
    probes_per_sheet: int | None
    repeats: float
    overlap: float
    pay_per_vote: float | None
    pay_per_hour: float | None
    fee: float | None
    currency: str | None

    def probing(self, items: Collection[Hashable]) -> Probing | None:
        """Probes of a campaign; None where none are asked for."""
        from adaptive.ledger import Probing, read_known_pairs

        if self.probes is None and self.probes_per_sheet is not None:
            raise OptionError("--probes-per-sheet goes with --probes")
        known = () if self.probes is None else read_known_pairs(self.probes, items)
        per_sheet = 1 if self.probes_per_sheet is None else self.probes_per_sheet
        probing = Probing(known, per_sheet, self.repeats, self.overlap)
        return None if probing == Probing() else probing

    def pay(self, seconds: float | None) -> Pay | None:
        """Pay of a campaign; None where nothing is said of it."""
        from adaptive.ledger import Pay

        if self.pay_per_vote is None and self.pay_per_hour is None:
            if self.fee is not None or self.currency is not None:
                raise OptionError("--fee and --currency go with --pay-per-vote or --pay-per-hour")
            return None
        if self.pay_per_vote is not None and self.pay_per_hour is not None:
            raise OptionError("one of --pay-per-vote and --pay-per-hour is wanted; got both")
        if self.pay_per_hour is not None and seconds is None:
            raise OptionError("--pay-per-hour needs --seconds, the mean time of one comparison")
        return Pay(self.pay_per_vote, self.pay_per_hour, seconds, self.fee or 0.0, self.currency or "")


def asking_options(command: Command) -> Command:
    """Add the options to a command, which gets them as `asking`."""

    @functools.wraps(command)
    def with_options(**values: Any) -> Any:
        asking = AskingOptions(**{name: values.pop(name) for name in AskingOptions.__dataclass_fields__})
        return command(asking=asking, **values)

    decorated: Any = with_options
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]
