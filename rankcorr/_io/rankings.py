"""Read rankings from tables of text: records -> columns -> numbers by label -> Ranking.

Anything doubtful is an error that names file, line and column. Nothing is dropped, repaired or guessed unless
requested.
"""

import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, tee
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from rankcorr._checks import check_choice, counted, give_notice, real_text, shown
from rankcorr._input.frames import is_rank_column
from rankcorr._io.source import path_text, printable
from rankcorr._io.table import (
    Record,
    TextTable,
    delimiters_of,
    end_with_total,
    is_formula,
    list_names,
    names_total,
    unguarded,
)
from rankcorr._ranking import Ranking
from rankcorr.errors import OptionError, RankColumnWarning

_COMMENTS = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\n)+")
_BY_SPACE = re.compile(r"\s*\S+ \S+ \S")
_MISSING = frozenset({"na", "n/a", "null", "none", "-", "?"})
_FITTED: Final = ("strength", "score", "ybar")  # after the column rank, in rankings of `ballots`
Label: TypeAlias = str | tuple[str, ...]

Duplicates: TypeAlias = Literal["error", "mean", "first"]
DUPLICATES: Final[tuple[Duplicates, ...]] = get_args(Duplicates)


def read_ranking(
    path: str | os.PathLike[str],
    *,
    id_columns: Sequence[str] | None = None,
    score_column: str | None = None,
    ranks: bool = False,
    header: bool = True,
    unordered: bool = False,
    duplicates: Duplicates = "error",
) -> Ranking:
    r"""Read a ranking, labelled by id, from a CSV or TSV file in UTF-8, which may be compressed by gzip.

    The delimiter is the one of comma, tab, semicolon and pipe that the first line has outside quotes. If it has
    several, the one that yields the requested columns is taken, otherwise the tab; anything else doubtful is an error.
    Blank lines are skipped. Errors in a record that spans lines name its first line.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input, ``"./-"`` a file of that name.
    id_columns : sequence of str, optional
        Columns that name the item. One gives labels of type str, several give tuples of str.
    score_column : str, optional
        Column of the numbers. Either option may be omitted if only one column is left for it, and both if the file has
        two columns: the first is then the id.
    ranks : bool
        The numbers are ranks (smaller is better), not scores. Those of a column named "rank", "mean rank" or the like
        always are; a `RankColumnWarning` says so.
    header : bool
        The first line names the columns. Without it columns are named "1", "2", ...
    unordered : bool
        The two id columns are a pair in either order: "gem, jewel" and "jewel, gem" are one item. The label of a pair
        is in alphabetical order.
    duplicates : {"error", "mean", "first"}
        How to treat a repeated id: raise an error, or use the mean or the first of its numbers.

    Returns
    -------
    Ranking

    Raises
    ------
    TableError
        The file cannot be read or does not hold a ranking; the message gives file, line and column. Every row needs a
        unique id and a number (``inf`` is one, ``nan`` is not).
    OptionError
        ``id_columns`` is a str or empty, `duplicates` is unknown, or ``unordered`` has no two id columns.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "gold.tsv")
    ...     _ = file.write_text("word1\tword2\tgold\ngem\tjewel\t3.9\ncock\trooster\t3.7\n")
    ...     gold = read_ranking(file, id_columns=["word1", "word2"], score_column="gold")
    >>> gold.labels
    (('gem', 'jewel'), ('cock', 'rooster'))
    >>> gold.ranks
    array([1., 2.])
    """
    options: dict[str, Any] = {"header": header, "unordered": unordered, "duplicates": duplicates}
    table = read_numbers(path, id_columns=id_columns, score_column=score_column, **options)
    if not ranks and is_rank_column(table.column):
        give_notice(
            f'{table.file}: column "{printable(table.column)}" is read as ranks (1 is best); rename it if larger '
            "numbers are better",
            RankColumnWarning,
        )
        ranks = True
    return Ranking.from_ranks(table.numbers) if ranks else Ranking.from_scores(table.numbers)


class TableNumbers(NamedTuple):
    """The numbers of a file by label, in its order, with the names of the file and of their column."""

    numbers: dict[Label, float]
    file: str
    column: str


def read_numbers(
    path: str | os.PathLike[str],
    *,
    id_columns: Sequence[str] | None = None,
    score_column: str | None = None,
    header: bool = True,
    unordered: bool = False,
    duplicates: Duplicates = "error",
    words: bool = False,
    score_option: str = "--score",
) -> TableNumbers:
    r"""Read the numbers that make a ranking, by label, with the parameters and errors of `read_ranking`.

    A whole number is an int, so that no two beyond 2^53 become one. The order is that of the file. `words` reads gold
    scores of pairs of words as they are published, see `rankcorr.vectors.read_pairs`. Messages name the option of a
    command for the column of numbers, `score_option`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "gold.csv")
    ...     _ = file.write_text("item,score\nant,3\nbee,0.5\n")
    ...     read_numbers(file).numbers
    {'ant': 3, 'bee': 0.5}
    """
    check_choice("duplicates", duplicates, DUPLICATES)
    if isinstance(id_columns, str) or (id_columns is not None and len(id_columns) == 0):
        raise OptionError(f"id_columns must be a list of one or more column names; got {shown(id_columns)}")
    table = TextTable(path_text(path))
    text = table.columns_text()
    if words:  # comments become blank lines, so that the numbers of lines stay
        text = _COMMENTS.sub(lambda match: "\n" * match[0].count("\n"), text)
    columns_in_use = [*(id_columns or ()), *(() if score_column is None else (score_column,))] if header else []
    by_space = words and _BY_SPACE.match(text) and not delimiters_of(text)[1]
    delimiter = " " if by_space else table.delimiter(text, columns_in_use)
    records = table.records(text, delimiter)
    first = next(records)
    if words and header and (second := next(records, None)):
        # The first line is data if it has a number wherever the second line has one.
        numeric = [column for column, cell in enumerate(second.cells) if real_text(cell)]
        header = not (numeric and all(real_text(cell) for column, cell in enumerate(first.cells) if column in numeric))
        records = chain([second], records)
    roles = "the words (--words)" if words else "the ids (--id)", f"the numbers ({score_option})"
    columns = _find_columns(table, first, id_columns, score_column, roles, header=header, n_ids=2 if words else 1)
    if header and id_columns is None and not words and (second := next(records, None)):
        _check_ids(table, columns.names[columns.ids[0]], first.line, second.cells[columns.ids[0] :])
        records = chain([second], records)
    if unordered and len(columns.ids) != 2:
        raise OptionError(f"unordered=True needs exactly two id columns; got {len(columns.ids)}")
    rows: Iterable[Record] = records if header else chain([first], records)
    if {"rank", "strength", "in_top"} <= {*columns.names}:  # the ranking of a campaign, which may be an export
        rows = _unguarded_rows(list(rows), columns.ids)
    if delimiter == ";":
        rows, rows_ahead = tee(rows)
        place = columns.score
        cells = ((row.line, row.cells[place]) for row in rows_ahead if len(row.cells) > place)
        table.check_thousands(columns.names[place], cells)
        del rows_ahead, cells  # or they would keep all rows in memory
    numbers = _items(table, iter(rows), columns, unordered=unordered, duplicates=duplicates, are_pairs=words)
    return TableNumbers(numbers, table.name, columns.names[columns.score] if header else "")


def _unguarded_rows(rows: list[Record], ids: tuple[int, ...]) -> Iterator[Record]:
    """Remove the apostrophes before formulas, unless a formula has none: then no export has written them."""
    labels = [row.cells[i] for row in rows for i in ids if i < len(row.cells)]
    if any(is_formula(label) and not label.startswith("'") for label in labels):
        return iter(rows)
    return (row._replace(cells=[*map(unguarded, row.cells)]) for row in rows)


class _RankingColumns(NamedTuple):
    names: list[str]
    ids: tuple[int, ...]
    score: int


def _find_columns(
    table: TextTable,
    first: Record,
    id_columns: Sequence[str] | None,
    score_column: str | None,
    roles: tuple[str, str],
    *,
    header: bool,
    n_ids: int,
) -> _RankingColumns:
    names = first.cells if header else [str(number) for number in range(1, len(first.cells) + 1)]
    numeric = header and any(real_text(cell) for cell in first.cells)
    hint = "; if this line holds data, use --no-header (in Python, header=False)" if numeric else ""
    named = Record(first.line, names)
    ids = None if id_columns is None else tuple(table.place(named, name, roles[0], hint) for name in id_columns)
    score = None if score_column is None else table.place(named, score_column, roles[1], hint)
    used = [*(ids or ()), *(() if score is None else (score,))]
    for i in used:
        if used.count(i) > 1:
            table.fail("chosen twice; the ids and the score need different columns", first.line, names[i])
    if not used and n_ids == 1 and "rank" in names[1:-1]:  # a fitted ranking: items, rank, strength and more
        place = names.index("rank")
        if names[place + 1] in _FITTED:
            ids, score = tuple(range(place)), place + 1
            used = [*ids, score]
    left = [i for i in range(len(names)) if i not in used]
    n_missing = n_ids * (ids is None) + (score is None)
    if ids is None and (len(left) == n_missing or (n_ids > 1 and len(left) > n_missing)):
        ids, left = tuple(left[:n_ids]), left[n_ids:]
    if ids is not None and score is None and len(left) == 1:
        score = left.pop()
    if ids is None or score is None:
        parts = [role for role, is_known in zip(roles, (ids, score), strict=True) if is_known is None]
        arguments = " (in Python, word_columns and score_column)" if n_ids > 1 else ""
        table.fail(
            f"say which column holds {' and '.join(parts)}{arguments}; the columns are {list_names(names)}{hint}",
            first.line,
        )
    if header:
        # The name of a column of text is in no row of data, so that numbers next to it are names, such as years.
        is_certain = id_columns is not None and not any(map(real_text, id_columns))
        _check_header(table, names[score], first.line, is_certain=is_certain)
    return _RankingColumns(names, ids, score)


def _check_header(table: TextTable, name: str, line: int, *, is_certain: bool) -> None:
    if not name.strip():
        table.fail(
            "the score column has no name; if this line holds data, use --no-header (in Python, header=False)", line
        )
    if not is_certain and (real_text(name) or name.strip().lower() in _MISSING):
        table.fail(
            "this line looks like data; use --no-header (in Python, header=False), or rename the column", line, name
        )


def _check_ids(table: TextTable, name: str, line: int, cells: list[str]) -> None:
    """Refuse a column of ids that has the name of a column of numbers, and a number in its first cell."""
    if (name in _FITTED or is_rank_column(name)) and cells and real_text(cells[0]):
        table.fail(
            "by its name, this column holds numbers, but it would be read as the ids; name both columns (--id and "
            "--score)",
            line,
            name,
        )


def _items(
    table: TextTable,
    records: Iterator[Record],
    columns: _RankingColumns,
    *,
    unordered: bool,
    duplicates: Duplicates,
    are_pairs: bool,
) -> dict[Label, float]:
    names = columns.names
    lines: dict[Label, tuple[int, tuple[str, ...]]] = {}
    numbers: dict[Label, list[float]] = {}
    for record in records:
        cells, line = record.cells, record.line
        if len(cells) != len(names):
            table.check_width(Record(1, names), record)
        for i in columns.ids:
            if not cells[i] or cells[i].isspace():
                table.fail("empty cell; every item needs an id", line, names[i])
        ids = tuple(cells[i] for i in columns.ids)
        label = ids[0] if len(ids) == 1 else tuple(sorted(ids)) if unordered else ids
        if label in lines and duplicates == "error":
            column = ", ".join(names[i] for i in columns.ids)
            before, spelling = lines[label]
            there = f"line {before}" if spelling == ids else f"line {before}, as {list_names(spelling)}"
            table.fail(
                f"{list_names(ids)} is also on {there}; ids must be unique: merge repeats with "
                f'duplicates="mean" or duplicates="first"{" (in Python, of read_pairs)" if are_pairs else ""}',
                line,
                column,
            )
        number = table.number(cells[columns.score], line, names[columns.score])
        lines.setdefault(label, (line, ids))
        repeats = numbers.setdefault(label, [])
        repeats.append(number)
        if duplicates == "mean" and {*repeats} >= {math.inf, -math.inf}:
            table.fail(f"{list_names(ids)} is inf and -inf, here and above, and has no mean", line)
    if len(numbers) < 2:
        table.fail(f"a ranking needs at least two items; got {len(numbers)}")
    label = next(reversed(numbers))
    if names_total(label):
        *others, repeats = numbers.values()
        if end_with_total([[*chain.from_iterable(others), repeats[0]]]):
            message = f'"{printable(str(label))}" is the total or the mean of the other rows: remove it'
            table.fail(f"{message}, or put it in another row if it is an item", lines[label][0])
    if n_more := sum(map(len, numbers.values())) - len(numbers):
        repeats_text = counted(n_more, "line that repeats", "lines that repeat")
        effect = "dropped; its first number counts" if duplicates == "first" else "merged into its mean"
        be, item = "was" if n_more == 1 else "were", "a pair" if are_pairs else "an item"
        give_notice(f"{table.name}: {repeats_text} {item} {be} {effect}", None)
    return {
        lines[label][1] if are_pairs and unordered else label: repeats[0] if duplicates == "first" else _mean(repeats)
        for label, repeats in numbers.items()
    }


def _mean(numbers: list[float]) -> float:
    """Mean of numbers, exact for a whole number and otherwise rounded once."""
    if infinite := [number for number in numbers if math.isinf(number)]:
        return infinite[0]
    mean = sum(map(Fraction, numbers), Fraction()) / len(numbers)
    return mean.numerator if mean.denominator == 1 else float(mean)
