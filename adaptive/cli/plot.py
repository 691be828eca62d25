"""`ballots plot`: votes -> strengths -> a figure -> a PNG, SVG or PDF file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import click

from adaptive.cli.output import print_note
from adaptive.cli.vote_files import FILES_HELP, model_options, read_votes, vote_options
from adaptive.model.named import MODELS, fit_named
from adaptive.plots import agreement, plot_in_top, plot_strengths, plot_voters
from adaptive.plots.rows import checked_level
from adaptive.plots.strengths import LEVEL, TOP
from adaptive.plots.voters import AT_RANDOM
from rankcorr.cli.figures import out_option, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from adaptive.model.strengths import Strengths

_MODELS: Final = [model for model, options in MODELS.items() if options]
_EXAMPLES: Final = {
    "strengths": "ballots plot strengths votes.csv --out strengths.png",
    "top": "ballots plot top votes.csv --k 10 --out top.svg",
    "voters": "ballots plot voters votes.csv --out voters.pdf",
}


def _example(*names: str) -> str:
    return "\n".join(["\b", "Example:", *(f"  {_EXAMPLES[name]}" for name in names)])


_level_option = click.option("--level", type=float, default=LEVEL, show_default=True, help="Of the intervals.")


@click.group(no_args_is_help=False, epilog=_example(*_EXAMPLES), short_help="Draw strengths and voters.")
def plot() -> None:
    """Draw figures of what votes say. Needs matplotlib: pip install 'rankcorr[plot]'."""


@plot.command(
    epilog=_example("strengths"),
    short_help="The strengths of the best items, with intervals.",
    help=f"""Draw the strength of each of the best items with its interval, best first.

    Of more than 100 items the intervals are a band.
    {FILES_HELP}""",
)
@click.argument("votes", nargs=-1, required=True, metavar="VOTES...")
@out_option
@vote_options
@model_options(_MODELS)
@click.option("--top", type=click.IntRange(min=1), default=TOP, show_default=True, help="Number of items.")
@_level_option
def strengths(
    votes: tuple[str, ...], out: str, form: str, items: str | None, top: int, level: float, **model: Any
) -> None:
    """Draw strengths; the text of the help is above."""
    checked_level(level)
    found = _fitted(votes, form, items, model)
    _write(lambda: plot_strengths(found, top=top, level=level), out, found)


@plot.command(
    epilog=_example("top"),
    short_help="How likely each item is to be in the top k.",
    help=f"""Draw the probability of each item to be in the top k, in the order of the ranking.

    {FILES_HELP}""",
)
@click.argument("votes", nargs=-1, required=True, metavar="VOTES...")
@click.option("--k", type=click.IntRange(min=1), required=True, help="Size of the top.")
@out_option
@vote_options
@model_options(_MODELS)
@click.option("--top", type=click.IntRange(min=1), help=f"Most items to draw.  [default: {TOP}, or 2 k]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same draws.")
def top(
    votes: tuple[str, ...], k: int, out: str, form: str, items: str | None, top: int | None, seed: int, **model: Any
) -> None:
    """Draw probabilities; the text of the help is above."""
    found = _fitted(votes, form, items, model)
    _write(lambda: plot_in_top(found, k, top=top, seed=seed), out, found)


@plot.command(
    epilog=_example("voters"),
    short_help="How often each voter agrees with the common order.",
    help=f"""Draw the share of each voter's votes that agree with the common order, lowest first, with its interval.

    {FILES_HELP}""",
)
@click.argument("votes", nargs=-1, required=True, metavar="VOTES...")
@out_option
@vote_options
@model_options(_MODELS)
@click.option("--top", type=click.IntRange(min=1), default=TOP, show_default=True, help="Number of voters.")
@_level_option
def voters(
    votes: tuple[str, ...], out: str, form: str, items: str | None, top: int, level: float, **model: Any
) -> None:
    """Draw voters; the text of the help is above."""
    checked_level(level)
    found = _fitted(votes, form, items, model)
    shares = agreement(found, level=level)
    what = f"Votes that agree with the common order, with a {100 * level:g} % interval"
    _write(lambda: plot_voters(shares, what=what, reference=(AT_RANDOM, "answers at random"), top=top), out, found)


def _fitted(votes: tuple[str, ...], form: str, items: str | None, model: dict[str, Any]) -> Strengths:
    return cast("Strengths", fit_named(read_votes(votes, form, items), model.pop("model"), **model))


def _write(draw: Callable[[], Figure], out: str, found: Strengths) -> None:
    for message in [*write_figure(draw, out), *found.warnings]:
        print_note(message)
