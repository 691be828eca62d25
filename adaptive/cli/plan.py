"""The options of a plan, shared by the commands that need one, and how a plan is printed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import click

from adaptive.plan import BallotPlan, plan_ballots, plan_for_budget, plan_for_top
from adaptive.tables import read_items
from rankcorr import OptionError
from rankcorr.cli.console import print_table

Command = TypeVar("Command", bound=Callable[..., Any])

_WAYS = ("--presentations", "--budget", "--hours", "--top")
_OPTIONS = (
    click.option("--ballots", type=int, default=7, show_default=True, help="Number of ballots, n_b."),
    click.option("--fraction", type=float, default=0.5, show_default=True, help="Fraction of items that go on, alpha."),
    click.option("--presentations", type=int, metavar="M", help="Presentations of each item in each ballot."),
    click.option(
        "--budget", type=int, metavar="COMPARISONS", help="Or the most presentations for so many comparisons."
    ),
    click.option("--hours", type=float, help="Or the most presentations for so many person-hours, with --seconds."),
    click.option("--top", type=int, metavar="M_TOP", help="Or the fewest that present top items M_TOP times in all."),
    click.option("--seconds", type=float, help="Mean time that a voter takes for one comparison."),
)


@dataclass(frozen=True)
class PlanOptions:
    """What the command line says of a plan, but for the items."""

    ballots: int
    fraction: float
    presentations: int | None
    budget: int | None
    hours: float | None
    top: int | None
    seconds: float | None

    def plan(self, n_items: int) -> BallotPlan:
        """Return the plan, or say which options contradict each other.

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
            plan.cost(self.seconds)  # refuses seconds that are none, before anything is printed
        return plan

    def _plan(self, n_items: int) -> BallotPlan:
        common: dict[str, Any] = {"n_ballots": self.ballots, "fraction": self.fraction}
        if self.presentations is not None:
            return plan_ballots(n_items, presentations=self.presentations, **common)
        if self.top is not None:
            return plan_for_top(n_items, top_presentations=self.top, **common)
        if self.budget is not None:
            return plan_for_budget(n_items, comparisons=self.budget, **common)
        if self.seconds is None:
            raise OptionError("--hours needs --seconds, the mean time of one comparison")
        return plan_for_budget(n_items, hours=self.hours, seconds_per_comparison=self.seconds, **common)


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


def number_of_items(n_items: int | None, items: str | None) -> int:
    """Return --n-items, or the number of items in the file of --items.

    Raises
    ------
    OptionError
        When both or none are given.
    """
    if (n_items is None) == (items is None):
        raise OptionError(f"one of --n-items and --items is wanted; got {'none' if items is None else 'both'}")
    return n_items if n_items is not None else len(read_items(items or ""))


def plan_dict(plan: BallotPlan, *, voters: int | None, seconds: float | None) -> dict[str, Any]:
    """Return a plan with its cost and advice, ready for JSON."""
    advice = plan.advice if voters is None else plan.advice_for(voters)
    return {
        **plan.to_dict(),
        "seconds_per_comparison": seconds,
        "hours": None if seconds is None else plan.cost(seconds),
        "n_voters": voters,
        "advice": [asdict(each) for each in advice],
    }


def print_plan(plan: BallotPlan, *, voters: int | None, seconds: float | None) -> None:
    """Print the ballots, the cost and the advice."""
    advice = plan.advice if voters is None else plan.advice_for(voters)
    rows = [
        [str(number), f"{size:,}", f"{count:,}"]
        for number, (size, count) in enumerate(zip(plan.sizes, plan.comparisons, strict=True), start=1)
    ]
    rows.append(["total", "", f"{plan.n_comparisons:,}"])
    header = ["ballot", "items", "comparisons"]
    if seconds is not None:
        hours = plan.cost(seconds) / plan.n_comparisons
        header.append("hours")
        for row, count in zip(rows, (*plan.comparisons, plan.n_comparisons), strict=True):
            row.append(f"{hours * count:,.2f}")
    click.echo(
        f"{plan.n_items:,} items, {plan.n_ballots} ballots, fraction {plan.fraction}, "
        f"{_times(plan.presentations, 'presentation')} of each item in each ballot\n"
    )
    print_table(header, rows)
    click.echo(
        f"\nTop items are presented {_times(plan.top_presentations, 'time')}; in a uniform ballot of the same cost, "
        f"every item {plan.uniform_presentations:,.1f} times."
    )
    if advice:
        click.echo("Advice:")
    for each in advice:
        click.echo(f"- {each.sentence}")


def _times(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
