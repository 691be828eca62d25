"""Print and write the results of the `ballots` commands; a file is written whole or not at all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import click

from adaptive._record import label_from_json
from adaptive._tables import item_cells, items_csv
from rankcorr import UndefinedCorrelationWarning
from rankcorr._checks import shell_options
from rankcorr._cli.console import print_json, print_rows, text_option, whole, write_whole
from rankcorr._io.source import printable

if TYPE_CHECKING:
    from adaptive.ledger import Verified


def out_option(content: str) -> Any:
    """Make the option --out of a command that writes to standard output without it."""
    return text_option("FILE", f"Write the {content} here.  [default: standard output]", "--out")


def emit(text: str, out: str | None, note: str) -> None:
    """Print a text, or write it to a file and print a note instead."""
    if out is None or out == "-":
        click.echo(text, nl=False)
        return
    write_whole(out, text)
    click.echo(whole(note))


def print_note(message: str) -> None:
    """Print a note on stderr, in one line, with options as a shell writes them."""
    click.echo(f"ballots: note: {whole(shell_options(message))}", err=True)


def print_items(rows: Sequence[Mapping[str, Any]], n_items: int, texts: Mapping[str, str]) -> None:
    """Print the best of some items; `texts` are the formats of columns, by default three decimals or a whole number."""
    headings = {name: name.replace("_", " ") for name in rows[0] if name != "item"}
    columns = {heading: (name, texts.get(name, _number_text)) for name, heading in headings.items()}
    print_rows(rows, {"item": item_text, **columns})
    if n_items > len(rows):
        click.echo(f"... and {n_items - len(rows):,} more: --top N prints them, --out FILE writes them")


def write_items(rows: Sequence[Mapping[str, Any]], out: str) -> None:
    """Write items as CSV; the parts of those that JSON holds as lists are columns."""
    items = [{**row, "item": label_from_json(row["item"])} for row in rows]
    emit(items_csv(items), out, f"{len(items):,} items written to {out}")


def item_text(item: Any) -> str:
    """Return an item as a terminal can show it; its parts are separated by commas."""
    return printable(", ".join(item_cells(label_from_json(item))))


def _number_text(value: float | None) -> str:
    return "-" if value is None else f"{value:z.3f}" if isinstance(value, float) else f"{value:,}"


@contextmanager
def quiet_executor(workers: int) -> Iterator[Executor | None]:
    """Give an executor of processes, or None for one process; the caller reports undefined coefficients once."""
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        if workers == 1:
            yield None
            return
        # A forked process would lack the thread of a progress bar, but might inherit its lock.
        with ProcessPoolExecutor(
            workers, get_context("spawn"), warnings.simplefilter, ("ignore", UndefinedCorrelationWarning)
        ) as executor:
            yield executor


def print_verified(verified: Verified, as_json: bool) -> None:
    """Print what has been checked."""
    counted = ("items", "ballots", "closed", "comparisons", "events", "votes")
    counts = {name: getattr(verified, f"n_{name}") for name in counted}
    if as_json:
        about = {"replayed": verified.result is not None, "chain_digest": verified.chain_digest}
        unchecked = {name: list(fields) for name, fields in verified.unchecked.items()}
        print_json({"campaign": verified.name, "key": verified.key, **counts, **about, "unchecked": unchecked})
        return
    click.echo(f"campaign {whole(verified.name)}, {verified.key}")
    for name, count in counts.items():
        click.echo(f"{name:<12}{count:>10,}")
    if verified.chain_digest is not None:
        click.echo(f"chain digest {verified.chain_digest}")
    replayed = "; the votes give all records to the last bit" if verified.result is not None else ""
    click.echo(f"all digests hold{replayed}")
    if "seed" not in verified.unchecked["plan.json"]:
        click.echo("the seed gives all draws, and the choice among items that tie at a cut")
    click.echo("\nNot checked: nothing else repeats these fields. Compare the chain digest with one you noted earlier.")
    for name, fields in verified.unchecked.items():
        click.echo(f"  {name}: {', '.join(fields)}")
