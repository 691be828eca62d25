"""What the commands print besides tables and JSON: names, numbers, notes, and errors that name their files."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import click

from rankcorr import RankingError
from rankcorr.alignment import Missing, align
from rankcorr.checks import counted
from rankcorr.cli.console import text_width
from rankcorr.cli.options import Named
from rankcorr.inference.null import MAX_EXACT_ITEMS
from rankcorr.inference.orbit import alpha_of
from rankcorr.inference.paired import LeftOut
from rankcorr.io.records import printable

Note: TypeAlias = dict[str, Any]


@contextmanager
def errors_of(*rankings: Named) -> Iterator[None]:
    """Begin the message of an error with the names of the rankings."""
    try:
        yield
    except RankingError as error:
        *names, last = [each.name for each in rankings]
        raise click.ClickException(f"{', '.join(names)} and {last}: {error}") from error


@dataclass(frozen=True)
class ItemMatch:
    """How the items of a system match those of gold, and its ties among the items compared."""

    n_shared: int
    n_gold: int
    n_other: int
    ties: int

    def described(self) -> dict[str, int]:
        """The numbers, ready for JSON."""
        return {"ties": self.ties, "n_shared": self.n_shared, "n_other": self.n_other}

    def line(self, system: Named) -> str:
        """How many of gold's items a system has, as a line above a table."""
        others = f", and {counted(self.n_other, 'other')}" if self.n_other else ""
        return f"coverage: {system.shown} has {self.n_shared:,} of gold's {self.n_gold:,} items{others}"


def match_items(gold: Named, system: Named, missing: Missing) -> ItemMatch:
    """Match a system with gold; errors name the files."""
    with errors_of(gold, system):
        _, aligned = align(gold.ranking, system.ranking, names=(gold.name, system.name), missing=missing)
    n_shared = len(set(gold.ranking.labels or ()) & set(system.ranking.labels or ()))
    return ItemMatch(n_shared, gold.ranking.n_items, system.ranking.n_items - n_shared, aligned.n_ties)


def check_items(gold: Named, systems: Sequence[Named], missing: Missing) -> None:
    """Refuse systems whose items do not match those of gold, by the names of the files."""
    for system in systems:
        match_items(gold, system, missing)


def coverage_lines(matches: Sequence[ItemMatch], systems: Sequence[Named], missing: Missing) -> list[str]:
    """Lines on coverage, where files may differ in their items."""
    pairs = zip(matches, systems, strict=True)
    return [] if missing == "raise" else [match.line(system) for match, system in pairs]


def notes_of(messages: Sequence[str], coefficients: Sequence[str], system: str | None = None) -> list[Note]:
    """What the library warned of, each message once."""
    named = {} if system is None else {"system": system}
    return [{**named, "coefficients": list(coefficients), "message": message} for message in dict.fromkeys(messages)]


def decisive_text(unit: str, pvalue: float, without: Sequence[LeftOut | None], level: float) -> str:
    """Which item or query decides whether a test rejects, and what the test says without it."""
    alpha = alpha_of(level)
    found = next(each for each in without if each is not None and (each.pvalue <= alpha) != (pvalue <= alpha))
    return (
        f"one {unit} decides: without {label_text(found.label)} the difference is {found.difference:z.4f}, "
        f"p {pvalue_text(found.pvalue)}"
    )


def print_notes(notes: Sequence[Note]) -> None:
    """Print notes on stderr, one on each line."""
    for note in notes:
        parts = [note.get("system", ""), ", ".join(note.get("coefficients", ())), note["message"]]
        text = ": ".join(part for part in parts if part)
        click.echo(f"rankcorr: note: {printable(text, limit=None)}", err=True)


def described(ranking: Named) -> dict[str, Any]:
    """A ranking, ready for JSON."""
    return {"name": ranking.name, "n": ranking.ranking.n_items, "ties": ranking.ranking.n_ties}


def gold_line(ranking: Named, what: str = "gold") -> str:
    """A gold ranking, as the line above a table."""
    return f"{what}: {ranking.shown} ({ranking.ranking.n_items} items, {ranking.ranking.n_ties} ties)"


def resamples_text(number: int, seed: int, of: str | None = None) -> str:
    """How many resamples were drawn, and of what, unless of a model."""
    return f"{counted(number, 'resample')}{'' if of is None else f' of {of}'}, seed {seed}"


def permutations_text(number: int, seed: int, sizes: Sequence[int]) -> str:
    """How many permutations were drawn; `sizes` are the numbers of items of the comparisons."""
    drawn = f"{counted(number, 'permutation')}, seed {seed}"
    exact = [size <= MAX_EXACT_ITEMS for size in sizes]
    if all(exact):
        return "all permutations"
    return f"{drawn}; all of {MAX_EXACT_ITEMS} items or fewer" if any(exact) else drawn


def percent_text(level: float) -> str:
    """A level of confidence."""
    return f"{100 * level:.10g} %"


def pvalue_text(pvalue: float) -> str:
    """A p-value; "-" where there is none."""
    if math.isnan(pvalue):
        return "-"
    return f"{pvalue:.4f}" if pvalue >= 0.001 or pvalue == 0 else f"{pvalue:.1e}"


def number_text(value: float) -> str:
    """Four decimals; "-" where there is no value."""
    return "-" if math.isnan(value) else f"{value:z.4f}"


def ranks_text(least: int | None, largest: int | None) -> str:
    """The ranks that tests leave possible."""
    if least is None:
        return "-"
    return str(least) if least == largest else f"{least}-{largest}"


def rank_text(rank: float) -> str:
    """A mid-rank, which is a whole number or half of one; "-" where there is none."""
    return "-" if math.isnan(rank) else f"{rank:.1f}".removesuffix(".0")


def label_text(label: Hashable) -> str:
    """A label as a terminal can show it; the parts of an id of several columns are separated by commas."""
    return printable(", ".join(label) if isinstance(label, tuple) else str(label))


def label_json(label: Hashable) -> Any:
    """A label, ready for JSON."""
    return list(label) if isinstance(label, tuple) else label


def left_aligned(cells: Sequence[str]) -> list[str]:
    """Cells of a column other than the first, padded so that they are aligned to the left."""
    width = max(map(text_width, cells))
    return [cell + " " * (width - text_width(cell)) for cell in cells]
