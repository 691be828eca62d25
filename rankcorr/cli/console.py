"""What our commands share: errors in one line, tables, JSON, and files of figures, which are checked before any work.

Imports click, which the libraries do not need.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from rankcorr.errors import RankingError
from rankcorr.io.records import printable
from rankcorr.plots.style import FORMS, MissingMatplotlibError, figure_class, save_figure
from rankcorr.results import json_ready

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class OneLineErrors(click.Group):
    """A group that reports every failure in one line on stderr and exits with 2; any other exception is a bug."""

    bad_input: tuple[type[Exception], ...] = (RankingError,)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run as click does, except for the errors."""
        if not options.setdefault("standalone_mode", True):
            return super().main(*args, **options)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a letter that the terminal lacks is not a failure
        try:
            code = super().main(*args, **(options | {"standalone_mode": False}))
        except click.Abort:
            sys.exit(130)  # as a shell reports ctrl-c
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else self.name
            message = error.format_message().strip().rstrip(".")
            self._fail(f"{message}; '{command} --help' lists the options")
        except click.ClickException as error:
            self._fail(error.format_message())
        except self.bad_input as error:
            self._fail(str(error))
        except OSError as error:
            # The rest of the output would fail again when Python closes stdout.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self._fail(f"cannot write the output: {error.strerror or error}")
        sys.exit(code)

    def _fail(self, message: str) -> NoReturn:
        line = re.sub(r"\s*\n\s*", " ", message)
        click.echo(f"{self.name}: error: {printable(line, limit=None)}", err=True)
        sys.exit(2)


def print_json(document: Any) -> None:
    """Print JSON, with null for what is not finite."""
    click.echo(json.dumps(json_ready(document), indent=2, allow_nan=False))


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns, the first aligned to the left and the others to the right."""
    table = [header, *rows]
    widths = [max(text_width(row[column]) for row in table) for column in range(len(header))]
    for row in table:
        gaps = [" " * (width - text_width(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [row[0] + gaps[0], *(gap + cell for cell, gap in zip(row[1:], gaps[1:], strict=True))]
        click.echo("  ".join(cells).rstrip(" "))


def text_width(text: str) -> int:
    """Columns of a terminal: a wide letter takes two, a combining mark none."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)


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
