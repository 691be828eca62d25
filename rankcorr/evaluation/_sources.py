"""Read qrels, runs and groups of queries from files and from objects in memory.

Errors about a file name the file, the line and the column.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import (
    check_choice,
    check_unique,
    counted,
    equals_itself,
    give_notice,
    is_unhashable,
    offending,
    real_text,
    shown,
)
from rankcorr._input.frames import arrow, columns_of, labelled_values
from rankcorr._input.identifiers import comparable
from rankcorr._io.columnar import ARROW_FILES, ArrowFile
from rankcorr._io.source import path_text, printable
from rankcorr._io.table import TextTable
from rankcorr._io.trec import BEIR_HEAD, FORMATS, FileColumns, Form, check_ranks, is_hit, read_columns, read_plain_table
from rankcorr.errors import ColumnError, DuplicateDocumentError, OptionError, RankingError, SplitQueryError, TableError
from rankcorr.evaluation._columns import DUPLICATES, Duplicates, encode_ids
from rankcorr.evaluation._partitions.joined_columns import as_table
from rankcorr.evaluation._qrels import DOCUMENT, QUERY, RANK, Qrels, QueryColumns, Run, is_of_ranx, note_rank_column

Source = TypeVar("Source", bound=QueryColumns)
ONLY_RUN: Final = "run"
GROUP: Final = "group"
_ENDINGS: Final = re.compile(r"(\.(gz|txt|csv|tsv|run|trec|jsonl?|parquet|arrow|feather))+$")
_CONTENT: Final = "an id of a query, an id of a document and a number are expected"

QrelsLike: TypeAlias = Qrels | Mapping[Any, Mapping[Any, float]] | str | os.PathLike[str] | Any
RunLike: TypeAlias = Run | Mapping[Any, Mapping[Any, float]] | str | os.PathLike[str] | Any
RunsLike: TypeAlias = RunLike | Mapping[str, RunLike] | Sequence[Run]


def read_qrels(path: str | os.PathLike[str], *, form: Form | None = None, duplicates: Duplicates = "error") -> Qrels:
    r"""Read qrels from a UTF-8 text file, a Parquet file or an Arrow file, which may be compressed by gzip.

    ======= ==================================================================
    form    lines
    ======= ==================================================================
    trec    query, anything, document, relevance; spaces or tabs
    msmarco the same, separated by tabs; without tabs, as without a form
    beir    query-id, corpus-id, score, with these names as the first line
            and tabs
    json    one object: query to an object of document to relevance, or to a
            list of relevant documents; or a line for each document, with
            query-id, corpus-id and score, as in data sets of MTEB
    ======= ==================================================================

    Columns of CSV and TSV with a line of names, and of Parquet and Arrow files (IPC or Feather), are recognized as by
    `Qrels.from_frame`; all ids become text, as in the other files. Parquet and Arrow files need the extra `arrow`.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input.
    form : {"trec", "msmarco", "scores", "beir", "json"}, optional
        Form of a text file. By default, it is recognized from its beginning: an object or array is JSON, names of
        columns are a table, the BEIR header is BEIR, anything else is TREC. "scores" is as the default, without tables.
    duplicates : {"error", "first", "max"}
        How to treat a document that occurs more than once in a query; see `Qrels.from_columns`.

    Raises
    ------
    TableError
        A line has a wrong number of fields, an empty id, or a value that is not a number; the message names file, line
        and column. Or a Parquet or Arrow file is damaged.
    ColumnError, MissingValueError, NonNumericError
        A column of a Parquet or Arrow file is missing, or holds nulls, nan or other types.
    DuplicateDocumentError
        A query has a document more than once, and `duplicates` is "error".
    MissingArrowError
        The file is a Parquet or Arrow file, and pyarrow is not installed.

    See Also
    --------
    read_run : Read a run.
    Qrels : The type of the result; also builds qrels from a dict or a data frame.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.evaluation import read_qrels
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "qrels.txt")
    ...     _ = file.write_text("q1 0 a 2\nq1 0 b 0\n")
    ...     read_qrels(file)["q1"]
    {'a': 2.0, 'b': 0.0}
    """
    return cast(Qrels, _read(Qrels, path, form, duplicates))


def read_run(
    path: str | os.PathLike[str], *, form: Form | None = None, duplicates: Duplicates = "error", name: str | None = None
) -> Run:
    r"""Read a run from a UTF-8 text file, a Parquet file or an Arrow file, which may be compressed by gzip.

    ======= ==================================================================
    form    lines
    ======= ==================================================================
    trec    query, anything, document, rank, score, name; spaces or tabs
    msmarco query, document, rank; spaces or tabs; ordered by rank
    scores  query, document, score; spaces or tabs
    beir    query-id, corpus-id, score, with these names as the first line
            and tabs
    json    one object: query to an object of document to score, or to a list
            of documents, best first; predictions of MTEB; predictions of
            sentence-transformers, a line for each query or in an array
    ======= ==================================================================

    Tables with names of columns, Parquet and Arrow files are read as by `read_qrels`. In other files, only spaces and
    tabs separate fields; other white space is part of an id.

    Scores determine the order, as in trec_eval. There is a `RankColumnWarning` if the ranks of a TREC run contradict
    its scores, or if its scores are all equal within each query.

    Of three columns, the third holds ranks if its numbers are whole, at least 1 and different within each query, unless
    they decrease from line to line. It also holds ranks if the lines of each query are numbered from 0, and a query has
    three lines. Otherwise it holds scores. A `RankColumnWarning` reports the choice, unless `form` is given.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input.
    form : {"trec", "msmarco", "scores", "beir", "json"}, optional
        Form of a text file. By default, it is recognized from its beginning: an object or array is JSON, names of
        columns are a table, the BEIR header is BEIR, three fields are ranks or scores, anything else is TREC.
    duplicates : {"error", "first", "max"}
        How to treat a document that occurs more than once in a query; see `Run.from_columns`.
    name : str, optional
        Name of the run in results; by default the name of the file, without folder and extension.

    Raises
    ------
    RankingError, MissingArrowError
        As `read_qrels`.

    See Also
    --------
    read_qrels : Read the gold scores.
    Run : The type of the result; also builds a run from a dict or a data frame.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.evaluation import read_run
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "bm25.run")
    ...     _ = file.write_text("q1 Q0 b 1 9.5 bm25\nq1 Q0 a 2 3.1 bm25\n")
    ...     read_run(file)
    <Run 'bm25' of 1 query, 2 documents>
    """
    stem = "stdin" if path == "-" else _ENDINGS.sub("", Path(path_text(path)).name)
    return cast(Run, _read(Run, path, form, duplicates, stem if name is None else name))


def read_groups(path: str | os.PathLike[str]) -> dict[str, str]:
    r"""Read the group of each query from a CSV or TSV file with two columns: query, group.

    The first line is a header if it begins with "query", "query_id", "qid" or "q_id", or ends with "cluster" or
    "group". Clusters of queries have the same form.

    Raises
    ------
    TableError
        A line has a wrong number of columns or an empty cell, or a query has two groups; the message names file and
        line.

    See Also
    --------
    compare_runs : Also compares runs within these groups.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rankcorr.evaluation import read_groups
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "genres.csv")
    ...     _ = file.write_text("query,group\nq1,drama\nq2,war\n")
    ...     read_groups(file)
    {'q1': 'drama', 'q2': 'war'}
    """
    return {query: group for (query,), group in _read_group_rows(path, ("query",)).items()}


def read_clusters(path: str | os.PathLike[str], n_ids: int = 1, *, unordered: bool = False) -> dict[Hashable, str]:
    r"""Read the cluster of each item from a CSV or TSV file with `n_ids` columns of ids and a column of clusters.

    Labels are as in `read_ranking`: tuples if an item has several ids, sorted if `unordered`. The first line is a
    header if it ends with "cluster" or "group".

    Raises
    ------
    TableError
        As for `read_groups`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "topics.csv")
    ...     _ = file.write_text("word1,word2,cluster\njewel,gem,stones\n")
    ...     read_clusters(file, 2, unordered=True)
    {('gem', 'jewel'): 'stones'}
    """
    names = ("id",) if n_ids == 1 else tuple(f"id {number}" for number in range(1, n_ids + 1))
    clusters = _read_group_rows(path, names, noun="item", group_noun="cluster", unordered=unordered)
    return {ids[0] if n_ids == 1 else ids: cluster for ids, cluster in clusters.items()}


def _read_group_rows(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    *,
    noun: str = "query",
    group_noun: str = GROUP,
    unordered: bool = False,
) -> dict[tuple[str, ...], str]:
    """Read the group of each tuple of ids; `columns`, `noun` and `group_noun` are words for error messages."""
    table = TextTable(path_text(path), content=f"a {columns[0]} and a {group_noun} are expected")
    text = table.columns_text()
    groups: dict[tuple[str, ...], str] = {}
    for number, record in enumerate(table.records(text, table.delimiter(text, ()))):
        cells = [cell.strip() for cell in record.cells]
        if len(cells) != len(columns) + 1:
            names = f"{', '.join(columns)} and {group_noun}"
            table.fail(f"expected {len(columns) + 1} columns ({names}); got {len(cells)}", record.line)
        *ids, group = cells
        if number == 0 and ((noun == "query" and ids[0].lower() in QUERY) or group.lower() in {"cluster", GROUP}):
            continue
        for cell, column in zip(cells, (*columns, group_noun), strict=True):
            if not cell:
                table.fail(f"empty cell; every {noun} needs a {group_noun}", record.line, column)
        label = tuple(sorted(ids)) if unordered else tuple(ids)
        if groups.setdefault(label, group) != group:
            table.fail(
                f'{noun} "{printable(", ".join(ids))}" has two {group_noun}s, "{printable(groups[label])}" and '
                f'"{printable(group)}"',
                record.line,
            )
    if not groups:
        table.fail("there is no line after the header")
    return groups


def qrels_of(source: QrelsLike) -> Qrels:
    """Return qrels from a file or an object, as `Qrels.of`; the folds of a list are merged."""
    return _read_source(Qrels, read_qrels, source)


def run_of(source: RunLike) -> Run:
    """Return a run from a file or an object, as `Run.of`; the folds of a list are merged."""
    return _read_source(Run, read_run, source)


def _read_source(kind: type[Source], read: Callable[[Any], Source], source: Any) -> Source:
    # Folds are files, mappings or objects of this kind, and no entries of ir_measures.
    kinds = kind | Mapping | str | os.PathLike
    if isinstance(source, list | tuple) and source and all(isinstance(part, kinds) for part in source):
        return kind.pooled([_read_source(kind, read, part) for part in source])
    return read(source) if isinstance(source, str | os.PathLike) else kind.of(source)


def runs_of(runs: Any) -> dict[str, Run]:
    """Return runs by name; a single one without a name is called "run".

    Raises
    ------
    OptionError
        There is no run, or a name is not text or appears twice.
    RankingError
        A run cannot be read; the message names it.
    """
    if isinstance(runs, Mapping) and not _is_one(runs):
        if not runs:
            raise OptionError("there is no run to evaluate")
        if wrong := [name for name in runs if not isinstance(name, str) or not name]:
            raise OptionError(offending("names of runs must be text; got", wrong))
        return {name: _named_run(name, run) for name, run in runs.items()}
    if isinstance(runs, list | tuple) and all(
        isinstance(part, Run | str | os.PathLike) or is_of_ranx(part, Run) for part in runs
    ):
        listed_runs = [run_of(part) for part in runs]
        if not listed_runs:
            raise OptionError("there is no run to evaluate")
        if any(run.name is None for run in listed_runs) and len(listed_runs) > 1:
            raise OptionError("runs in a list need names: give each a name=, or pass a mapping of name to run")
        check_unique([run.name for run in listed_runs], "names of runs", OptionError)
        return {run.name or ONLY_RUN: run for run in listed_runs}
    try:
        run = run_of(runs)
    except SplitQueryError as error:
        raise SplitQueryError(
            f"{error}. A list of dicts is one run in parts; pass several runs as a mapping of name to run"
        ) from error
    return {run.name or ONLY_RUN: run}


def _is_one(runs: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is one run (query to document to number), and not a mapping of name to run."""
    for entry in runs.values():
        if isinstance(entry, list | tuple):
            return all(map(is_hit, entry))
        if not isinstance(entry, Mapping) or isinstance(entry, QueryColumns):
            return False
        if entry:
            value = next(iter(entry.values()))
            return not isinstance(value, Mapping | list | tuple) and not getattr(value, "ndim", 0)
    return bool(runs)


def _named_run(name: str, run: Any) -> Run:
    if isinstance(run, list | tuple) and run and isinstance(run[0], str) and not os.path.lexists(run[0]):
        raise ColumnError(
            f"run {shown(name)}: there is no file {shown(run[0])}. If the lists hold document ids by query, best "
            "first, use Run.from_dict(...)"
        )
    try:
        return run_of(run)
    except (ColumnError, SplitQueryError) as error:
        raise type(error)(f"run {shown(name)}: {error}") from error


def _read(kind: Any, path: Any, form: str | None, duplicates: str, name: str | None = None) -> Any:
    check_choice("duplicates", duplicates, DUPLICATES)
    if form is not None:
        check_choice("form", form, FORMATS)
    table = TextTable(path_text(path), content=_CONTENT, form="CSV, Parquet, or text of TREC or BEIR")
    table.data = table.read_bytes()
    if table.data.startswith(ARROW_FILES):
        return _of_arrow(kind, table, duplicates, name)
    columns = (_read_table(kind, table) if form is None else None) or read_columns(table, kind.value_name, form)
    table.data = b""
    try:
        rows = kind.from_columns(columns.queries, columns.documents, columns.values, duplicates=duplicates, name=name)
    except DuplicateDocumentError as error:
        raise DuplicateDocumentError(f"{table.name}{columns.place_of_repeat()}: {error}") from error
    _note_repeats(table, rows, len(columns.values), duplicates)
    check_ranks(table, columns)
    return rows


def _read_table(kind: Any, table: TextTable) -> FileColumns | None:
    """Read a table whose first line names its columns as data frames do; None if it does not, or is BEIR's."""
    first_line = table.first_line()
    if tuple(map(str.strip, first_line.split("\t")))[:-1] == BEIR_HEAD[:2]:
        return None
    cells = [cell.strip(' "') for cell in re.split("[,;|\t]", first_line)]
    try:
        names = kind.chosen_columns(cells)
    except ColumnError as error:
        has_ids = not {*QUERY, BEIR_HEAD[0]}.isdisjoint(cells) and not {*DOCUMENT, BEIR_HEAD[1]}.isdisjoint(cells)
        if has_ids and not any(map(real_text, cells)):
            table.fail(str(error))
        return None
    if columns := read_plain_table(cast(bytes, table.data), first_line, (*names, RANK if kind is Run else None)):
        return columns
    text = table.columns_text()
    delimiter = table.delimiter(text, names)
    header, *rows = table.records(text, delimiter)
    if not rows:
        table.fail("there is no line after the header")
    header = header._replace(cells=list(map(str.strip, header.cells)))
    query, document, value = (table.place(header, name) for name in names)
    columns = FileColumns([], [], [], [], [row.line for row in rows])
    for row in rows:
        table.check_width(header, row)
    if delimiter == ";":
        table.check_thousands(names[2], ((row.line, row.cells[value]) for row in rows))
    for row in rows:
        for ids, place in ((columns.queries, query), (columns.documents, document)):
            identifier = row.cells[place].strip(" \t")  # other white space is part of an id
            if not identifier:
                table.fail("empty cell; every row needs an id", row.line, header.cells[place])
            ids.append(identifier)
        columns.values.append(table.number(row.cells[value], row.line, names[2]))
    if kind is Run and RANK in header.cells:
        rank = table.place(header, RANK)
        with suppress(TableError):  # without numbers, it is ignored
            columns.ranks.extend([table.number(row.cells[rank], row.line, RANK) for row in rows])
    return columns


def _of_arrow(kind: Any, table: TextTable, duplicates: str, name: str | None) -> Any:
    """Return qrels or a run from a Parquet or Arrow file; ids become text, as in all other files."""
    pa = arrow()
    try:
        file = ArrowFile(table, cast(bytes, table.data))
        names = kind.chosen_columns(file.names)
        read_names = [*names, RANK] if file.names.count(RANK) == 1 and RANK not in names else names
        query, document, values, *ranks = as_table(file.read(read_names), tuple(read_names)).columns
        ids = [column.cast(pa.string()) if pa.types.is_integer(column.type) else column for column in (query, document)]
        rows = kind.from_columns(*ids, values, duplicates=duplicates, name=name)
        if ranks:
            note_rank_column(rows, ids[0], ids[1], ranks[0], table.name, 7)
    except TableError:  # which names the file
        raise
    except RankingError as error:
        raise type(error)(f"{table.name}: {error}") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        table.fail(f"cannot be read as Parquet or Arrow: {error}")
    _note_repeats(table, rows, len(values), duplicates)
    return rows


def _note_repeats(table: TextTable, rows: QueryColumns, n_rows: int, duplicates: str) -> None:
    """Give a notice of the number of rows that were dropped because they repeat a document of a query."""
    if n_dropped := n_rows - rows.values.size:
        rows_that_repeat = counted(n_dropped, "row that repeats", "rows that repeat")
        be, value = "was" if n_dropped == 1 else "were", "first" if duplicates == "first" else "largest"
        text = (
            f"{table.name}: {rows_that_repeat} a document of a query {be} dropped; its {value} {rows.value_name} counts"
        )
        give_notice(text, None)


def grouped_queries(groups: Any, queries: tuple[Hashable, ...]) -> dict[Hashable, list[int]]:
    """Return the indices of the queries of each group, in the order of first queries; empty if `groups` is None.

    Parameters
    ----------
    groups : mapping of query to group, series with labels, data frame, or None
        A frame has a column of queries, named as in `Qrels.from_frame`, and either one other column or one called
        "group". It may repeat a query with the same group.
    queries : tuple
        The queries of qrels. Each needs a group.

    Raises
    ------
    OptionError
        `groups` is anything else, or a query has no group.
    ColumnError
        A frame lacks these columns, or has two groups for a query.

    Examples
    --------
    >>> grouped_queries({"q1": "drama", "q2": "war", "q3": "drama"}, ("q1", "q2", "q3"))
    {'drama': [0, 2], 'war': [1]}
    """
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        columns = columns_of(groups)
        by_query = labelled_values(groups) if columns is None else _groups_of_frame(columns)
        if by_query is None:
            raise OptionError(f"groups must be a mapping of query to group, or a data frame; got {shown(groups)}")
        groups = by_query
    ids, keys = comparable(queries, groups)
    group_of = dict(zip(keys, groups.values(), strict=True))
    if lacking := [query for query in ids if query not in group_of]:
        raise OptionError(offending("every query of qrels needs a group; without one", lacking))
    places: dict[Hashable, list[int]] = {}
    for place, query in enumerate(ids):
        group = group_of[query]
        if is_unhashable(group) or group is None or not equals_itself(group) or group == "":
            raise OptionError(f"every query of qrels needs a group; that of {shown(query)} is {shown(group)}")
        places.setdefault(group, []).append(place)
    return places


def cluster_numbers(clusters: Any, queries: tuple[Hashable, ...]) -> NDArray[np.intp] | None:
    """Return the number of the cluster of each query, from 0, or None; `clusters` has the form of `groups`."""
    if clusters is None:
        return None
    numbers = np.empty(len(queries), np.intp)
    try:
        for number, places in enumerate(grouped_queries(clusters, queries).values()):
            numbers[places] = number
    except OptionError as error:
        raise OptionError(f"clusters: {error}") from error
    return numbers


def _groups_of_frame(columns: Mapping[Any, Any]) -> dict[Hashable, Hashable]:
    """Return the group of each query, from the columns of a frame."""
    import narwhals.stable.v2 as nw

    listed = ", ".join(map(repr, columns))
    names = [name for name in QUERY if name in columns]
    if len(names) != 1:
        raise ColumnError(f"groups need one column of queries, such as {', '.join(map(repr, QUERY))}; got {listed}")
    others = [name for name in columns if name != names[0]]
    if len(others) != 1 and GROUP not in others:
        raise ColumnError(f"groups need one column other than {names[0]!r}, or one called {GROUP!r}; got {listed}")
    queries = encode_ids(columns[names[0]], "query")
    groups = nw.from_native(columns[others[0] if len(others) == 1 else GROUP], series_only=True).to_list()
    group_of: dict[Hashable, Hashable] = {}
    for code, group in zip(queries.codes.tolist(), groups, strict=True):
        query = queries.ids[code]
        if group_of.setdefault(query, group) != group:
            raise ColumnError(f"query {shown(query)} has two groups, {shown(group_of[query])} and {shown(group)}")
    return group_of
