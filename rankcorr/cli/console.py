"""What our commands share: errors in one line, tables and JSON. Imports click, which the libraries do not need."""

import io
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click

from rankcorr.errors import RankingError
from rankcorr.io.records import printable
from rankcorr.results import json_ready


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
