"""What commands that draw share: the option of the file, checked before any work, and the file itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankcorr.io.records import printable
from rankcorr.plots.style import FORMS, MissingMatplotlibError, figure_class, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _ready(context: click.Context, parameter: click.Parameter, out: str) -> str:
    """Refuse, before any work, a file that no figure could be written to."""
    if Path(out).suffix.lower().removeprefix(".") not in FORMS:
        raise click.BadParameter(f"'{out}' must end with .png, .svg or .pdf", context, parameter)
    if not Path(out).parent.is_dir():
        raise click.ClickException(f"{out}: cannot be written: there is no folder {Path(out).parent}")
    try:
        figure_class()
    except MissingMatplotlibError as error:
        raise click.ClickException(str(error)) from error
    return out


out_option = click.option(
    "--out",
    required=True,
    metavar="FILE.png|.svg|.pdf",
    callback=_ready,
    help="Write the figure here; an existing file is replaced.",
)


def write_figure(draw: Callable[[], Figure], out: str) -> list[str]:
    """Draw a figure, write it, print its path, and return what matplotlib warned of: letters that the font lacks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", "Glyph", UserWarning)
        try:
            path = save_figure(draw(), out)
        except OSError as error:
            raise click.ClickException(f"{out}: cannot be written: {error.strerror or error}") from error
    click.echo(printable(str(path), limit=None))
    return list(dict.fromkeys(str(each.message) for each in caught))
