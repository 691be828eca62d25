"""Shared parts of commands that fit strengths: reading votes from files or a ledger, and options of the model."""

import csv
import re
from collections.abc import Hashable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import numpy as np

from adaptive._cli.output import print_note
from adaptive._formats.layouts import NAMED_ANSWERS, Answers
from adaptive._formats.records import Records, records_of_file
from adaptive._formats.votes import FORMATS, PROMPT_NAMES, read_votes
from adaptive._tables import check_decimals, item_cells, read_items
from adaptive.choices._files import CHOICE_ROLES
from adaptive.choices._judges import SideBias
from adaptive.comparisons._columns import columns_of_votes
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ComparisonError
from adaptive.model._models import FitOptions
from rankcorr import OptionError
from rankcorr._checks import collected_notices, counted, first_few, repeated, shown
from rankcorr._cli import console
from rankcorr._input.identifiers import warn_unicode_twins
from rankcorr._io.source import printable

FILES_HELP: Final = """
    VOTES are CSV, TSV, JSON, Parquet or Arrow with the columns left, right (or left_1, left_2, ...) and winner: left,
    right, tie, or empty where there is no answer; voter, if voters are known. Other formats are found by their columns:
    arenas (model_a, model_b and winner, or winner_model_a, ...), pairs (winner, loser), exports of Label Studio (JSON,
    CSV), of potato, and of crowd-kit (label). A column n, count or weight says how often a row counts. For other names
    and encodings use --columns, --answers and --encoding. VOTES may also be the ledger of `ballots run`, a file or a
    URL. Several files are read as one list of votes.
"""
SQLITE: Final = b"SQLite format 3\0"  # the first bytes of its files


class PairsType(click.ParamType):  # type: ignore[type-arg, unused-ignore] # generic only in newer releases of click
    """Names and their meanings, such as A=left,B=right; a pair that contains a comma is quoted."""

    name = "NAME=..."

    def __init__(self, *words: str) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text of an option; the words given to the type are returned unchanged."""
        if not isinstance(value, str) or value in self.words:
            return value
        pairs = [entry.rpartition("=") for entry in next(csv.reader([value]), [])]
        if not pairs or not all(middle for _, middle, _ in pairs):
            also = "".join(f", or {word}" for word in self.words)
            self.fail(f"{value!r} is not of the form NAME=MEANING,NAME=MEANING{also}", param, ctx)
        names = [name for name, _, _ in pairs]
        if again := repeated(names):
            self.fail(f"{again[0]!r} is listed twice", param, ctx)
        return {name: meaning for name, _, meaning in pairs}


@dataclass(frozen=True)
class Reading:
    """The options about the format of files of votes: arguments of `adaptive._formats.votes.read_votes`."""

    format: Any = console.choice_option(
        FORMATS, "Format of the files; auto detects it from their columns.", default="auto"
    )
    columns: dict[str, str] | None = console.text_option(
        "ROLE=NAME,...", "Names of columns: left=item_a,right=item_b,winner=vote,voter=worker.", type=PairsType()
    )
    answers: Answers | None = console.text_option(
        f"WORD=ANSWER,...|{'|'.join(NAMED_ANSWERS)}",
        "Meaning of other answers: A=left,B=right,same=tie,neither=both bad; left_won (1 left, 0 right) or codes "
        "(1 left, 0 tie, -1 right).",
        type=PairsType(*NAMED_ANSWERS),
    )
    encoding: str = console.option(default="utf-8", help="Encoding of the files, such as utf-16 or latin-1.")
    ignore: tuple[str, ...] = console.several_option(
        "--ignore",
        "COLUMN",
        "Leave out a column that may change the meaning of votes, such as weight or prompt; repeatable.",
    )
    instances: str | None = console.text_option("FILE", "Data file of potato, with the items of a user_state.json.")

    def __post_init__(self) -> None:
        if unknown := [role for role in self.columns or () if role not in CHOICE_ROLES]:
            raise OptionError(f"--columns: unknown role {printable(repr(unknown[0]))}; use {', '.join(CHOICE_ROLES)}")


def votes_argument(*, required: bool = True) -> Any:
    """Make the argument VOTES, files of votes."""
    return console.argument(nargs=-1, required=required, metavar="VOTES...")


def items_option() -> Any:
    """Make the option --items."""
    return console.text_option("FILE", "File of all items: CSV with the column item, or item_1, ...")


def check_repeated_files(paths: Sequence[str]) -> None:
    """Refuse a file that is given twice."""
    if again := repeated(paths):
        raise OptionError(f"each file can be given only once; repeated: {printable(str(again[0]))}")


def named_pairs(pairs: Iterable[tuple[str, str]], items: Iterable[Hashable]) -> list[tuple[Hashable, Hashable]]:
    """Return the items that the pairs of --better stand for, or refuse a name; the message has the first items."""
    labels = {", ".join(item_cells(item)): item for item in items}
    if unknown := [name for name in chain.from_iterable(pairs) if name not in labels]:
        known = first_few([printable(label) for label in labels])
        raise OptionError(f"--better: no item is called {printable(repr(unknown[0]))}; there are {known}")
    return [(labels[first], labels[second]) for first, second in pairs]


def side_bias_text(bias: SideBias) -> str:
    """Describe a side bias in one line."""
    low, high = bias.interval
    return (
        f"side bias {bias.bias:+.2f} ({100 * bias.level:g} % interval {low:+.2f} to {high:+.2f}): of "
        f"{counted(bias.n_pairs, 'pair')}, {bias.n_left:,} left both times, {bias.n_right:,} right"
    )


def model_options(models: Sequence[str]) -> Any:
    """Make the options of a model of votes, as a dict of arguments of `fit_named`; the default of each is None."""
    return console.options_of(
        dict,
        model=console.choice_option(models, "Model of votes."),
        ties=console.declared_option(FitOptions, "ties"),
        oversight=console.declared_option(FitOptions, "oversight"),
        prior=console.declared_option(FitOptions, "prior", metavar="SD"),
        voters=console.declared_option(FitOptions, "voters", default=None),
        side_bias=console.declared_option(FitOptions, "side_bias", default=None),
        **({"alpha": console.declared_option(FitOptions, "alpha")} if "rank-centrality" in models else {}),
    )


def check_voter_name(name: str) -> None:
    """Refuse a name for --voter that a file of votes cannot contain."""
    if name != name.strip() or not name or "\n" in name or "\r" in name:
        raise OptionError("--voter must be one line of text without spaces around it")


class NumberedVotes(NamedTuple):
    """Votes of all files, the first whole number above all their ids, for new ids, and the prompts of `shown_pairs`."""

    votes: Comparisons
    next_id: int
    prompts: Sequence[str] = ()


def read_prompts(path: str) -> tuple[str, ...]:
    """Read the prompts of a file, from the column prompt or another name of it."""
    records = records_of_file(path)
    name = prompt_column(records)
    if name is None:
        records.table.fail('no column "prompt"', records.header.line)
    labels = [str(label) for label in records.labels(name)]
    if again := repeated(labels):
        first, second = [line for line, label in zip(records.lines, labels, strict=True) if label == again[0]][:2]
        records.table.fail(f"prompt {shown(again[0])} is listed twice (lines {first} and {second})", second)
    if not labels:
        records.table.fail("no prompts, only the names of the columns", records.header.line)
    return tuple(labels)


def prompt_column(records: Records) -> str | None:
    """Return the column of prompts; None if there is none."""
    return next((name for name in PROMPT_NAMES if name in records.names), None)


def _file_of_name(paths: Sequence[str], files: Sequence[Comparisons], text: str) -> str:
    """Return the first file with an item or a voter of this name."""
    names = (map(str, (*votes.items, *(votes.voters or ()))) for votes in files)
    return next(printable(path) for path, texts in zip(paths, names, strict=True) if text in texts)


def read_files(
    paths: Sequence[str], reading: Reading, items: str | None, *, with_prompts: bool = False
) -> NumberedVotes:
    """Read the votes of all files together; labels of items and voters are text, as in a file.

    Parameters
    ----------
    paths : sequence of str
        Files to read; may be empty if `items` is given.
    reading : Reading
    items : str or None
        File that lists all items.
    with_prompts : bool
        Read the prompt of each comparison too; every file must have a column of them.

    Raises
    ------
    OptionError
        No file at all, or the same file twice.
    ComparisonError
        Only some votes have a voter, or an error of `adaptive.read_comparisons`.
    TableError, VoteError
        As `adaptive.read_comparisons`.
    """
    check_repeated_files(paths)
    known = None if items is None else read_items(items)
    if not paths:
        if known is None:
            raise OptionError("give a file of votes, or start from items alone with --items")
        return NumberedVotes(Comparisons(known, *np.zeros((3, 0), np.int32)), 0)
    with collected_notices() as notices:
        read = [_read(path, reading, known, with_prompts) for path in paths]
        files = [_as_text(file.votes) for file in read]
        names_of_files = {
            "item": list(chain.from_iterable(votes.items for votes in files)),
            "voter": list(chain.from_iterable(votes.voters or () for votes in files)),
        }
        for noun, all_names in names_of_files.items():
            check_decimals(all_names, noun, ComparisonError, partial(_file_of_name, paths, files))
            warn_unicode_twins(all_names, noun)
    for notice in dict.fromkeys(notices):
        print_note(notice)
    if len({votes.voters is None for votes in files}) > 1:
        names = [printable(path) for path, votes in zip(paths, files, strict=True) if votes.voters is None]
        raise ComparisonError(f"name voters in all files or in none; without voters: {', '.join(names)}")
    labels = tuple(dict.fromkeys(chain.from_iterable(votes.items for votes in files)))
    if len({isinstance(label, tuple) and len(label) for label in labels}) > 1:
        raise ComparisonError("items must have the same number of columns (left_1, left_2, ...) in all files")
    joint = reduce(Comparisons.joined, [_of_items(votes, labels) for votes in files])
    ids = map(str, chain.from_iterable(file.ids for file in read))
    numbers = [int(number) for number in ids if re.fullmatch("[0-9]{1,18}", number)]  # our own ids are never longer
    # Joined votes have the answered ones of all files first.
    parts = [file.prompts[: file.votes.n_comparisons] for file in read]
    parts += [file.prompts[file.votes.n_comparisons :] for file in read]
    next_id = max([joint.n_comparisons + joint.n_unanswered, *(n + 1 for n in numbers)])
    return NumberedVotes(joint, next_id, list(chain.from_iterable(parts)))


def check_selection(only: Sequence[str], without: Sequence[str]) -> None:
    """Refuse voters to use beside voters to leave out."""
    if only and without:
        raise OptionError("give --only or --without, not both")


def select_voters(votes: Comparisons, only: Sequence[str], without: Sequence[str]) -> Comparisons:
    """Return the votes of some voters, or those of all others; items stay as they are."""
    check_selection(only, without)
    names = only or without
    if not names:
        return votes
    if votes.voters is None or votes.voter is None:
        raise ComparisonError("the voters of these votes are not known")
    if unknown := [name for name in names if name not in votes.voters]:
        raise ComparisonError(f"no voter is called {printable(repr(unknown[0]))}")
    is_named = np.array([name in names for name in votes.voters])
    selected = votes.select(is_named[votes.voter] != bool(without))
    places, voter = np.unique(np.asarray(selected.voter), return_inverse=True)
    return replace(selected, voters=[votes.voters[place] for place in places], voter=voter.astype(np.int32))


class _VotesOfFile(NamedTuple):
    """Votes of one file, the ids of its comparisons, and the prompts of its shown pairs."""

    votes: Comparisons
    ids: Sequence[Hashable] = ()
    prompts: Sequence[str] = ()


def _read(path: str, reading: Reading, known: Sequence[Hashable] | None, with_prompts: bool) -> _VotesOfFile:
    """Read a file or ledger, recognized by its first bytes."""
    if is_ledger(path):
        if with_prompts:
            raise ComparisonError(f"{path}: a ledger has no prompts")
        from adaptive.ledger import Ledger

        with closing(Ledger.open(path)) as ledger:  # counted votes exclude those of excluded voters
            campaign = ledger.campaign()
            counted = _as_text(campaign.counted_votes())
            has_grades, set_size = campaign.info.settings.grades > 1, campaign.info.set_size
        if set_size > 2:
            print_note(
                f"{path}: of each set, only its best and its worst item are compared; `ballots run result` ranks by "
                f"all {set_size}, and `ballots run export --format csv` writes them"
            )
        if has_grades:
            print_note(
                f"{path}: the grades of preferences are left out; `ballots run result` ranks by them, and `ballots run "
                "export --format csv` writes them"
            )
        listed = set(counted.items if known is None else known)
        if others := [item for item in counted.items if item not in listed]:
            raise ComparisonError(f"{path}: item {printable(repr(others[0]))} is not among the items of --items")
        return _VotesOfFile(counted)  # ids like 1-3 are not numbers
    if not with_prompts:
        votes = read_votes(path, **vars(reading))
        return _VotesOfFile(Comparisons(*columns_of_votes(votes, known)), votes.comparison or ())
    columns = dict(reading.columns or {})
    prompt_name = columns.pop("prompt", None)
    votes = read_votes(path, **vars(replace(reading, columns=columns or None)))
    name = prompt_name or prompt_column(votes.records)
    if name not in votes.records.names:
        expected_name = prompt_name or "prompt"
        votes.records.table.fail(f'no column "{expected_name}", which --prompts needs', votes.records.header.line)
    votes = replace(votes, unused=[column for column in votes.unused if column != name])
    prompts = votes.records.labels(name)
    if None in prompts:
        votes.records.table.fail("no prompt", votes.records.lines[prompts.index(None)], name)
    # Prompts in the place of voters are sorted and repeated as the votes are.
    by_prompt = Comparisons(*columns_of_votes(replace(votes, voter=list(map(str, prompts))), known))
    names = by_prompt.voters or ()
    of_pairs = [] if by_prompt.shown_pairs.voter is None else by_prompt.shown_pairs.voter.tolist()
    labels = [str(names[place]) for place in of_pairs]
    return _VotesOfFile(Comparisons(*columns_of_votes(votes, known)), votes.comparison or (), labels)


def is_ledger(path: str) -> bool:
    """Tell whether a path is that of a ledger: the URL of PostgreSQL, or a file of SQLite, by its first bytes."""
    try:
        with Path(path).open("rb") as file:
            is_sqlite = file.read(len(SQLITE)) == SQLITE
    except OSError:  # no file, or one that the reader refuses
        is_sqlite = False
    return is_sqlite or path.startswith("postgresql")


def _as_text(votes: Comparisons) -> Comparisons:
    """Return the same votes with labels as text, so that 7 in JSON or a ledger is "7" in CSV."""
    items = [item_cells(item) if isinstance(item, tuple) else str(item) for item in votes.items]
    voters = None if votes.voters is None else [" ".join(item_cells(voter)) for voter in votes.voters]
    return replace(votes, items=items, voters=voters)


def _of_items(votes: Comparisons, items: tuple[Hashable, ...]) -> Comparisons:
    """Return the same votes, with the items of all files."""
    place = {item: number for number, item in enumerate(items)}
    places = np.array([place[item] for item in votes.items], np.int32)
    silent = None if votes.unanswered is None else votes.unanswered.renumber(items=places)
    return replace(votes, items=items, left=places[votes.left], right=places[votes.right], unanswered=silent)
