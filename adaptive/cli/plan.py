"""The command `ballots plan`: ballots, cost and advice."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from adaptive.cli.plan_options import PlanOptions, plan_options
from adaptive.plan import BallotPlan
from adaptive.tables import read_items
from rankcorr import OptionError
from rankcorr.cli.console import print_json

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
