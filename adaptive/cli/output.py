"""What the `ballots` commands print or write; a file is written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from adaptive.errors import TableError
from rankcorr.io.records import printable


def emit(text: str, out: str | None, note: str) -> None:
    """Print a text, or write it to a file and print a note instead."""
    if out is None or out == "-":
        click.echo(text, nl=False)
        return
    with whole_file(out, text):
        pass
    click.echo(printable(note, limit=None))


@contextmanager
def whole_file(path: str, text: str) -> Iterator[None]:
    """Write a file once the block has succeeded: what can fail comes before it, and a failure leaves the old file.

    Parameters
    ----------
    path : str
        A link stays a link; a device or pipe is written to, after the block.
    text : str

    Raises
    ------
    TableError
        When the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise TableError(f"{path}: cannot be written: it is a folder")
        yield
        with _named_errors(path):
            target.write_bytes(text.encode())
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with _named_errors(path), temporary.open("xb") as file:
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o7777)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        yield
        with _named_errors(path):
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _named_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TableError(f"{path}: cannot be written: {error.strerror or error}") from error
