"""The command `ballots plan`: ballots, cost and advice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import click

from adaptive.budget import plan_one_way
from adaptive.plan import BallotPlan
from adaptive.tables import read_items
from rankcorr import OptionError
from rankcorr.cli.console import print_json

Command = TypeVar("Command", bound=Callable[..., Any])

_WAYS = ("--presentations", "--budget", "--hours", "--top")
_OPTIONS = (
    click.option("--ballots", type=int, default=7, show_default=True, help="Number of ballots, n_b."),
    click.option("--fraction", type=float, default=0.5, show_default=True, help="Fraction of items that go on, alpha."),
    click.option("--presentations", type=int, metavar="M", help="Presentations of each item in each ballot."),
    click.option(
        "--budget", type=int, metavar="COMPARISONS", help="Or the most presentations that this many comparisons allow."
    ),
    click.option(
        "--hours", type=float, help="Or the most presentations that this many person-hours allow, with --seconds."
    ),
    click.option("--top", type=int, metavar="M_TOP", help="Or the fewest that present top items M_TOP times in all."),
    click.option("--seconds", type=float, help="Mean time that a voter takes for one comparison."),
)


@dataclass(frozen=True)
class PlanOptions:
    """What the command line says about a plan, apart from the items."""

    ballots: int
    fraction: float
    presentations: int | None
    budget: int | None
    hours: float | None
    top: int | None
    seconds: float | None

    def plan(self, n_items: int) -> BallotPlan:
        """Return the plan that the options ask for.

        Raises
        ------
        OptionError, PlanError
        """
        given = [
            name
            for name, value in zip(_WAYS, (self.presentations, self.budget, self.hours, self.top), strict=True)
            if value is not None
        ]
        if len(given) != 1:
            raise OptionError(f"one of {', '.join(_WAYS)} is wanted; got {' and '.join(given) or 'none'}")
        plan = self._plan(n_items)
        if self.seconds is not None:
            plan.cost(self.seconds)  # refuses invalid seconds before anything is printed
        return plan

    def _plan(self, n_items: int) -> BallotPlan:
        if self.hours is not None and self.seconds is None:
            raise OptionError("--hours needs --seconds, the mean time of one comparison")
        return plan_one_way(
            n_items,
            n_ballots=self.ballots,
            fraction=self.fraction,
            presentations=self.presentations,
            top_presentations=self.top,
            comparisons=self.budget,
            hours=self.hours,
            seconds_per_comparison=self.seconds,
        )


def plan_options(command: Command) -> Command:
    """Add the options of a plan to a command, which gets them as `options`, a `PlanOptions`."""

    @functools.wraps(command)
    def with_options(**values: Any) -> Any:
        options = PlanOptions(**{name: values.pop(name) for name in PlanOptions.__dataclass_fields__})
        return command(options=options, **values)

    decorated: Any = with_options
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


_EXAMPLE = """\b
Example:
  ballots plan --n-items 990 --presentations 20 --seconds 5
  ballots plan --items items.csv --hours 40 --seconds 5 --voters 100
  ballots plan --n-items 990 --ballots 5 --fraction 0.6 --budget 20000
"""


@click.command("plan", epilog=_EXAMPLE, short_help="Ballots, cost and advice, before any vote.")
@click.option("--n-items", type=int, metavar="N", help="Number of items.")
@click.option("--items", metavar="FILE", help="Or a file of them.")
@plan_options
@click.option("--voters", type=int, metavar="V", help="Number of voters, for the advice.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan_command(
    n_items: int | None, items: str | None, options: PlanOptions, voters: int | None, as_json: bool
) -> None:
    """Plan a voting: items and comparisons of each ballot, person-hours (with --seconds) and advice."""
    planned = options.plan(_number_of_items(n_items, items))
    if as_json:
        print_json(_plan_dict(planned, voters, options.seconds))
    else:
        click.echo(planned.to_text(n_voters=voters, seconds_per_comparison=options.seconds))


def _number_of_items(n_items: int | None, items: str | None) -> int:
    """Return --n-items, or the number of items in the file of --items."""
    if (n_items is None) == (items is None):
        raise OptionError(f"one of --n-items and --items is wanted; got {'none' if items is None else 'both'}")
    return n_items if n_items is not None else len(read_items(items or ""))


def _plan_dict(plan: BallotPlan, voters: int | None, seconds: float | None) -> dict[str, Any]:
    """Return a plan with its cost and advice, ready for JSON."""
    advice = plan.advice if voters is None else plan.advice_for(voters)
    return {
        **plan.to_dict(),
        "seconds_per_comparison": seconds,
        "hours": None if seconds is None else plan.cost(seconds),
        "n_voters": voters,
        "advice": [asdict(each) for each in advice],
    }
