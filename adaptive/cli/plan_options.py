"""The options of a plan, shared by the commands that need one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from adaptive.budget import plan_one_way
from adaptive.plan import BallotPlan
from rankcorr import OptionError

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
