"""What commands that draw share: the option of the file, checked before any work, and the file itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankcorr.io.records import printable
from rankcorr.plots.style import FORMS, MissingMatplotlibError, figure_class, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _ready(context: click.Context, parameter: click.Parameter, out: str | None) -> str | None:
    """Refuse, before any work, a file that no figure could be written to."""
    if out is None:
        return None
    if Path(out).suffix.lower().removeprefix(".") not in FORMS:
        raise click.BadParameter(f"'{out}' must end with .png, .svg or .pdf", context, parameter)
    if not Path(out).parent.is_dir():
        raise click.ClickException(f"{out}: cannot be written: there is no folder {Path(out).parent}")
    try:
        figure_class()
    except MissingMatplotlibError as error:
        raise click.ClickException(str(error)) from error
    return out


def figure_option(name: str, what: str, *, required: bool = False) -> Callable[..., Any]:
    """Make an option of the file of a figure."""
    return click.option(
        name,
        required=required,
        metavar="FILE.png|.svg|.pdf",
        callback=_ready,
        help=f"{what}; an existing file is replaced.",
    )


out_option = figure_option("--out", "Write the figure here", required=True)


def saved_figure(draw: Callable[[], Figure], out: str) -> list[str]:
    """Draw a figure, write it, and return what matplotlib warned of: letters that the font lacks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", "Glyph", UserWarning)
        try:
            save_figure(draw(), out)
        except OSError as error:
            raise click.ClickException(f"{out}: cannot be written: {error.strerror or error}") from error
    return list(dict.fromkeys(str(each.message) for each in caught))


def print_path(out: str) -> None:
    """Print the path of a figure that was written."""
    click.echo(printable(str(Path(out)), limit=None))


def write_figure(draw: Callable[[], Figure], out: str) -> list[str]:
    """Do what `saved_figure` does, and print the path."""
    lacking = saved_figure(draw, out)
    print_path(out)
    return lacking
