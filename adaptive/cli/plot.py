"""`ballots plot`: votes -> strengths -> a figure -> a PNG, SVG or PDF file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from adaptive.cli.output import print_note
from adaptive.cli.vote_files import FILES_HELP, Reading, model_options, read_files, vote_options
from adaptive.model.accuracy import N_SAMPLES
from adaptive.model.estimators import MODELS, fit_named
from adaptive.plots import agreement, plot_in_top, plot_strengths, plot_voters
from adaptive.plots.strengths import LEVEL, SCALES, TOP, Scale
from adaptive.plots.voters import AT_RANDOM
from rankcorr.checks import checked_level
from rankcorr.cli.console import out_option, write_figure
from rankcorr.workers import progress_bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from adaptive.model.strengths import Strengths

Draw = TypeVar("Draw", bound="Callable[..., Figure]")

_MODELS: Final = [model for model, options in MODELS.items() if options]
_EXAMPLES: Final = {
    "strengths": "ballots plot strengths votes.csv --out strengths.png",
    "top": "ballots plot top votes.csv --k 10 --out top.svg",
    "voters": "ballots plot voters votes.csv --out voters.pdf",
}


def _example(*names: str) -> str:
    return "\n".join(["\b", "Example:", *(f"  {_EXAMPLES[name]}" for name in names)])


_level_option = click.option("--level", type=float, default=LEVEL, show_default=True, help="Of the intervals.")
_OWN: Final = ("k", "top", "level", "scale", "seed")


@click.group(no_args_is_help=False, epilog=_example(*_EXAMPLES), short_help="Draw strengths and voters.")
def plot() -> None:
    """Draw figures of what votes say. Needs matplotlib: pip install 'rankcorr[plot]'."""


def _command(short_help: str, text: str, *options: Callable[[Any], Any]) -> Callable[[Draw], Draw]:
    """Add a command that fits strengths to VOTES, and writes what the decorated function draws of them."""

    def add(draw: Draw) -> Draw:
        def run(votes: tuple[str, ...], out: str, reading: Reading, items: str | None, **given: Any) -> None:
            own = {name: given.pop(name) for name in _OWN if name in given}
            if "level" in own:
                checked_level(own["level"])  # before a fit that may take long
            comparisons = read_files(votes, reading, items).votes
            found = cast("Strengths", fit_named(comparisons, given.pop("model"), **given))
            for message in [*write_figure(lambda: draw(found, **own), out), *found.warnings]:
                print_note(message)

        command: Any = run
        votes = click.argument("votes", nargs=-1, required=True, metavar="VOTES...")
        for option in reversed((votes, out_option, vote_options, model_options(_MODELS), *options)):
            command = option(command)
        name = draw.__name__
        plot.command(name, epilog=_example(name), short_help=short_help, help=f"{text}\n    {FILES_HELP}")(command)
        return draw

    return add


def _draw(found: Strengths, seed: int) -> None:
    """Draw the rankings that a figure shows, which are kept, behind a progress bar."""
    with progress_bar(N_SAMPLES, "draw") as advance:
        found.drawn(N_SAMPLES, seed, progress=advance)


@_command(
    "The strengths of the best items, with intervals.",
    """Draw the strength of each of the best items with its interval, best first; or its rank.

    Of more than 100 items the intervals are a band.
""",
    click.option("--top", type=click.IntRange(min=1), default=TOP, show_default=True, help="Number of items."),
    _level_option,
    click.option("--scale", type=click.Choice(SCALES), default=SCALES[0], show_default=True, help="What is drawn."),
)
def strengths(found: Strengths, *, top: int, level: float, scale: Scale) -> Figure:
    """Figure of `ballots plot strengths`."""
    if scale == "rank":
        _draw(found, 0)
    return plot_strengths(found, top=top, level=level, scale=scale)


@_command(
    "How likely each item is to be in the top k.",
    "Draw the probability of each item to be in the top k, in the order of the ranking.\n",
    click.option("--k", type=click.IntRange(min=1), required=True, help="Size of the top."),
    click.option("--top", type=click.IntRange(min=1), help=f"Most items to draw.  [default: {TOP}, or 2 k]"),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same draws."),
)
def top(found: Strengths, *, k: int, top: int | None, seed: int) -> Figure:
    """Figure of `ballots plot top`."""
    _draw(found, seed)
    return plot_in_top(found, k, top=top, seed=seed)


@_command(
    "How often each voter agrees with the common order.",
    "Draw the share of each voter's votes that agree with the common order, lowest first, with its interval.\n",
    click.option("--top", type=click.IntRange(min=1), default=TOP, show_default=True, help="Number of voters."),
    _level_option,
)
def voters(found: Strengths, *, top: int, level: float) -> Figure:
    """Figure of `ballots plot voters`."""
    what = f"Votes that agree with the common order, with a {100 * level:g} % interval"
    shares = agreement(found, level=level)
    return plot_voters(shares, what=what, reference=(AT_RANDOM, "answers at random"), top=top)
