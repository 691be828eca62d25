"""Read qrels, runs and groups of queries from files; anything doubtful is an error that names file, line and column.

bytes -> text -> lines -> columns -> `Qrels` or `Run`. The whole file is read at once, about 200 bytes for each row.
`qrels_of` and `runs_of` take paths as well as everything that holds qrels and runs in memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeGuard, cast, get_args

import numpy as np

from rankcorr._checks import check_choice, check_unique, counted, give_notice, offending, real_text, shown
from rankcorr._input.frames import arrow
from rankcorr._io.records import TextTable, is_json
from rankcorr._io.source import printable
from rankcorr.errors import (
    ColumnError,
    DuplicateDocumentError,
    OptionError,
    RankColumnWarning,
    RankingError,
    SplitQueryError,
    TableError,
)
from rankcorr.evaluation._columns import DUPLICATES, Duplicates
from rankcorr.evaluation._json_files import json_rows
from rankcorr.evaluation._partitions.joined_columns import as_table
from rankcorr.evaluation._qrels import GROUP, QUERY, Qrels, QueryColumns, Run, is_hit

Form: TypeAlias = Literal["trec", "msmarco", "scores", "beir", "json"]

ARROW_FILES: Final = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")  # Parquet, a file and a stream of Arrow
FORMATS: Final[tuple[Form, ...]] = get_args(Form)
BEIR_HEAD: Final = ("query-id", "corpus-id", "score")
ONLY_RUN: Final = "run"
_ENDINGS: Final = re.compile(r"(\.(gz|txt|tsv|run|trec|jsonl?|parquet|arrow|feather))+$")
_BLANKS: Final = " \t\r"
_NEEDED: Final = "an id of a query, an id of a document and a number are expected"
_FORMATS_READ: Final = "the formats that are read: TREC, MS MARCO, three columns, BEIR (TSV), JSON, Parquet, Arrow"

QrelsLike: TypeAlias = Qrels | Mapping[Any, Mapping[Any, float]] | str | os.PathLike[str] | Any
RunLike: TypeAlias = Run | Mapping[Any, Mapping[Any, float]] | str | os.PathLike[str] | Any
RunsLike: TypeAlias = RunLike | Mapping[str, RunLike] | Sequence[Run]


class Layout(NamedTuple):
    """Meaning of the fields of a line, None for one that is not read; for "beir" also its header line."""

    fields: tuple[str | None, ...]
    separator: str | None = None  # spaces and tabs
    has_head: bool = False


QRELS_LAYOUTS: Final = {
    "trec": Layout(("query", None, "document", "relevance")),
    "msmarco": Layout(("query", None, "document", "relevance"), "\t"),
    "beir": Layout(("query", "document", "relevance"), "\t", True),
}
RUN_LAYOUTS: Final = {
    "trec": Layout(("query", None, "document", "rank", "score", None)),
    "msmarco": Layout(("query", "document", "rank")),
    "scores": Layout(("query", "document", "score")),
    "beir": Layout(("query", "document", "score"), "\t", True),
}


class Columns(NamedTuple):
    """Columns of a file, and the line of each row; `ranks` is empty if the file has none next to its scores."""

    queries: list[str]
    documents: list[str]
    values: list[float]
    ranks: list[float]
    lines: list[int]


def read_qrels(path: str | os.PathLike[str], *, form: Form | None = None, duplicates: Duplicates = "error") -> Qrels:
    r"""Read qrels from a text in UTF-8, a Parquet or an Arrow file, which may be compressed by gzip.

    ======= ==================================================================
    form    lines
    ======= ==================================================================
    trec    query, anything, document, relevance; spaces or tabs
    msmarco the same, separated by tabs
    beir    query-id, corpus-id, score, with these names as the first line
    json    one object: query to an object of document to relevance, or to a
            list of relevant documents; or query-id, corpus-id and score, a
            row a line, as in MTEB's data sets
    ======= ==================================================================

    Parquet and Arrow files (IPC or Feather; extra `arrow`) are read as well. `Qrels.from_frame` names the columns that
    are recognized; all ids become text, as in the other files.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input.
    form : {"trec", "msmarco", "scores", "beir", "json"}, optional
        Form of a text. By default, and with "scores", recognized from its beginning: an object or array is JSON, the
        BEIR header is BEIR, anything else TREC.
    duplicates : {"error", "first", "max"}
        How to treat a document that a query has more than once.

    Raises
    ------
    TableError
        A line has another number of fields, an empty id, or a value that is not a number; the message names file, line
        and column. Or a Parquet or Arrow file is damaged.
    ColumnError, MissingValueError, NonNumericError
        A column of a Parquet or Arrow file is missing or holds nulls, nan or other types.
    DuplicateDocumentError
        A document that a query has more than once, and `duplicates` is "error".
    MissingArrowError
        A Parquet or Arrow file, and pyarrow is not installed.

    See Also
    --------
    read_run : Read a run.
    Qrels : The type of the result; makes qrels from a dict or a data frame too.

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
    r"""Read a run from a text in UTF-8, a Parquet or an Arrow file, which may be compressed by gzip.

    ======= ==================================================================
    form    lines
    ======= ==================================================================
    trec    query, anything, document, rank, score, name; spaces or tabs
    msmarco query, document, rank; spaces or tabs: the rank decides
    scores  query, document, score; spaces or tabs
    beir    query-id, corpus-id, score, with these names as the first line
    json    one object: query to an object of document to score, or to a list
            of documents, best first; predictions of MTEB; those of
            sentence-transformers, a query a line or in an array
    ======= ==================================================================

    Parquet and Arrow files are read as by `read_qrels`. Only spaces and tabs separate fields: other white space is part
    of an id.

    Scores determine the order, as in trec_eval. A `RankColumnWarning` reports ranks of a TREC run that contradict them.
    Whole numbers in the third of three columns are ranks if they are at least 1 and differ within each query, otherwise
    scores; a `RankColumnWarning` says which, unless `form` is given.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input.
    form : {"trec", "msmarco", "scores", "beir", "json"}, optional
        Form of a text. By default recognized from its beginning: an object or array is JSON, the BEIR header is BEIR,
        three fields are ranks or scores, anything else is TREC.
    duplicates : {"error", "first", "max"}
        How to treat a document that a query has more than once.
    name : str, optional
        Name of the run in results; by default the name of the file, without its folder and ending.

    Raises
    ------
    RankingError, MissingArrowError
        As `read_qrels`.

    See Also
    --------
    read_qrels : Read the gold scores.
    Run : The type of the result; makes a run from a dict or a data frame too.

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
    stem = "stdin" if path == "-" else _ENDINGS.sub("", Path(path).name)
    return cast(Run, _read(Run, path, form, duplicates, stem if name is None else name))


def read_groups(path: str | os.PathLike[str]) -> dict[str, str]:
    r"""Read the group of each query from a CSV or TSV file with two columns: query, group.

    The first line is a header if it begins with "query", "query_id", "qid" or "q_id", or ends with "cluster". Clusters
    of queries have the same form.

    Raises
    ------
    TableError
        A line has another number of columns or an empty cell, or a query has two groups; the message names file and
        line.

    See Also
    --------
    compare_runs : Compares runs within these groups too.

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
    r"""Read the cluster of each item from a CSV or TSV file with `n_ids` columns of its id and one of clusters.

    Labels are those of `read_ranking`: tuples if there are several columns, in alphabetical order if `unordered`. The
    first line is a header if it ends with "cluster".

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
    """Read the group of each tuple of ids; errors name the columns of ids, what has a group, and the group."""
    table = TextTable(os.fspath(path), wanted=f"a {columns[0]} and a {group_noun} are expected")
    text = table.text()
    groups: dict[tuple[str, ...], str] = {}
    for number, record in enumerate(table.records(text, table.delimiter(text, ()))):
        cells = [cell.strip() for cell in record.cells]
        if len(cells) != len(columns) + 1:
            names = f"{', '.join(columns)} and {group_noun}"
            table.fail(f"{len(columns) + 1} columns are expected, {names}; got {len(cells)}", record.line)
        *ids, group = cells
        if number == 0 and ((noun == "query" and ids[0].lower() in QUERY) or group.lower() == "cluster"):
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
    """Return qrels from a file or from whatever holds them, see `Qrels.of`; those of a list are pooled."""
    if _are_folds(source, Qrels):
        return Qrels.pooled([qrels_of(part) for part in source])
    return read_qrels(source) if isinstance(source, str | os.PathLike) else Qrels.of(source)


def run_of(source: RunLike) -> Run:
    """Return a run from a file or from whatever holds it, see `Run.of`; the parts of a list are pooled."""
    if _are_folds(source, Run):
        return Run.pooled([run_of(part) for part in source])
    return read_run(source) if isinstance(source, str | os.PathLike) else Run.of(source)


def _are_folds(sources: Any, kind: type) -> TypeGuard[Sequence[Any]]:
    """Whether it is a list of files, of mappings or of a kind, and not of entries of ir_measures."""
    kinds = kind | Mapping | str | os.PathLike
    return isinstance(sources, list | tuple) and bool(sources) and all(isinstance(part, kinds) for part in sources)


def runs_of(runs: Any) -> dict[str, Run]:
    """Runs by name; a single one without a name is called "run".

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
    if isinstance(runs, list | tuple) and all(isinstance(part, Run | str | os.PathLike) for part in runs):
        listed_runs = [run_of(part) for part in runs]
        if not listed_runs:
            raise OptionError("there is no run to evaluate")
        if any(run.name is None for run in listed_runs) and len(listed_runs) > 1:
            raise OptionError("each run of a list needs a name: make it with name=, or pass a mapping of name to run")
        check_unique([run.name for run in listed_runs], "names of runs", OptionError)
        return {run.name or ONLY_RUN: run for run in listed_runs}
    run = run_of(runs)
    return {run.name or ONLY_RUN: run}


def _is_one(runs: Mapping[Any, Any]) -> bool:
    """Whether a mapping is one run, of query to a mapping of document to number, and not of name to run."""
    for entry in runs.values():
        if isinstance(entry, list | tuple):
            return all(map(is_hit, entry))
        if not isinstance(entry, Mapping) or isinstance(entry, QueryColumns):
            return False
        if entry:
            return not isinstance(next(iter(entry.values())), Mapping | list | tuple | np.ndarray)
    return bool(runs)


def _named_run(name: str, run: Any) -> Run:
    if isinstance(run, list | tuple) and run and isinstance(run[0], str) and not os.path.lexists(run[0]):
        raise ColumnError(
            f"run {shown(name)}: {shown(run[0])} is no file. If the lists are ids of documents by query, best first, "
            "write Run.from_dict(...)"
        )
    try:
        return run_of(run)
    except (ColumnError, SplitQueryError) as error:
        raise type(error)(f"run {shown(name)}: {error}") from error


def is_trec(path: str | os.PathLike[str]) -> bool:
    r"""Whether the first line of a file looks like TREC qrels or a TREC run; always false for standard input.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "qrels.txt")
    ...     _ = file.write_text("q1 0 a 2\nq1 0 b 0\n")
    ...     is_trec(file)
    True
    """
    if path == "-":
        return False
    try:
        fields = _split(_first_line(TextTable(os.fspath(path)).text()), None)
    except TableError:
        return False
    # A run has a rank and a score after the document, qrels a relevance.
    n_numbers = {len(RUN_LAYOUTS["trec"].fields): 2, len(QRELS_LAYOUTS["trec"].fields): 1}.get(len(fields), 0)
    return n_numbers > 0 and fields[1].upper() in ("Q0", "0") and all(map(real_text, fields[3 : 3 + n_numbers]))


def _read(kind: Any, path: Any, form: str | None, duplicates: str, name: str | None = None) -> Any:
    check_choice("duplicates", duplicates, DUPLICATES)
    if form is not None:
        check_choice("form", form, FORMATS)
    table = TextTable(os.fspath(path), wanted=_NEEDED, form="Parquet, or as text of TREC or BEIR")
    table.data = table.unpacked()
    if table.data.startswith(ARROW_FILES):
        return _of_arrow(kind, table, duplicates, name)
    text = table.text()
    layouts = QRELS_LAYOUTS if kind is Qrels else RUN_LAYOUTS
    layout_name = form if form in (*layouts, "json") else _recognize_form(text, kind)
    if layout_name == "json":
        columns = _of_json(table, text, kind.value_name)
    else:
        columns = _lines(table, text, layouts[layout_name])
    if kind is Run and layout_name in ("msmarco", "scores"):
        columns = _ranks_or_scores(table, columns, form)
    try:
        rows = kind.from_columns(columns.queries, columns.documents, columns.values, duplicates=duplicates, name=name)
    except DuplicateDocumentError as error:
        raise DuplicateDocumentError(f"{table.name}{_where(columns)}: {error}") from error
    _note_repeats(table, rows, len(columns.values), duplicates)
    if kind is Run and columns.ranks:
        _check_ranks(table, columns)
    return rows


def _of_json(table: TextTable, text: str, value_name: str) -> Columns:
    """Columns of a file in JSON."""
    rows = list(json_rows(table, text, value_name))
    if not rows:
        table.fail("there is no document")
    queries, documents, values = map(list, zip(*rows, strict=True))
    return Columns(queries, documents, values, [], [])


def _of_arrow(kind: Any, table: TextTable, duplicates: str, name: str | None) -> Any:
    """Qrels or a run from a Parquet or Arrow file. Ids are text, as they are in all other files."""
    pa = arrow()
    try:
        read = _columns_of(pa.BufferReader(table.data), kind.chosen_columns)
        read.validate(full=True)  # wrong offsets in a damaged file would end the process
        *ids, values = read.columns
        ids = [column.cast(pa.string()) if pa.types.is_integer(column.type) else column for column in ids]
        rows = kind.from_columns(*ids, values, duplicates=duplicates, name=name)
    except RankingError as error:
        raise type(error)(f"{table.name}: {error}") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        table.fail(f"cannot be read as Parquet or Arrow: {error}")
    _note_repeats(table, rows, len(values), duplicates)
    return rows


def _note_repeats(table: TextTable, rows: QueryColumns, n_rows: int, duplicates: str) -> None:
    """Say how many rows of a file were dropped because their query has the document already."""
    if n_dropped := n_rows - rows.values.size:
        rows_that_repeat = counted(n_dropped, "row that repeats", "rows that repeat")
        be, value = "was" if n_dropped == 1 else "were", "first" if duplicates == "first" else "largest"
        text = (
            f"{table.name}: {rows_that_repeat} a document of a query {be} dropped; its {value} {rows.value_name} counts"
        )
        give_notice(text, None)


def _columns_of(source: Any, choose_columns: Callable[[list[str]], list[str]]) -> Any:
    """The chosen columns of a file; those of Parquet are decompressed without the others."""
    from pyarrow import ipc, parquet

    start = source.read_buffer(6).to_pybytes()
    source.seek(0)
    if start.startswith(b"PAR1"):
        file = parquet.ParquetFile(source)
        names = choose_columns(file.schema_arrow.names)
        return as_table(file.read(names), tuple(names))
    reader = ipc.open_file(source) if start.startswith(b"ARROW1") else ipc.open_stream(source)
    return as_table(reader.read_all(), tuple(choose_columns(reader.schema.names)))


def _recognize_form(text: str, kind: Any) -> str:
    """Format of a text, from its first line."""
    if is_json(text):
        return "json"
    first = _first_line(text)
    fields = _split(first, "\t" if "\t" in first else None)
    if tuple(name.strip() for name in fields[:2]) == BEIR_HEAD[:2]:
        return "beir"
    return "scores" if kind is Run and 3 in (len(fields), len(_split(first, None))) else "trec"


def _first_line(text: str) -> str:
    return next(line for line in text.split("\n") if not _is_blank(line))


def _is_blank(line: str) -> bool:
    return not line.strip(_BLANKS)


def _split(line: str, separator: str | None) -> list[str]:
    """Fields of a line, between tabs, or between spaces and tabs; other white space is part of an id."""
    if separator is not None:
        return line.split(separator)
    spaced = line.replace("\t", " ")
    if spaced.isascii() and spaced.isprintable():  # without other white space, and read in a third of the time
        return spaced.split()
    return [field for field in spaced.split(" ") if field]


def _lines(table: TextTable, text: str, layout: Layout) -> Columns:
    """Columns of a file of lines."""
    value_name = next(name for name in ("score", "relevance", "rank") if name in layout.fields)
    query, document, value = (layout.fields.index(name) for name in ("query", "document", value_name))
    rank = layout.fields.index("rank") if "rank" in layout.fields and value_name != "rank" else None
    columns = Columns([], [], [], [], [])
    for line, fields in _fields(table, text, layout):
        columns.queries.append(_id(table, fields[query], line, "query"))
        columns.documents.append(_id(table, fields[document], line, "document"))
        columns.values.append(table.number(fields[value], line, value_name))
        if rank is not None:
            columns.ranks.append(table.number(fields[rank], line, "rank"))
        columns.lines.append(line)
    if not columns.values:
        table.fail("there is no line after the header")
    return columns


def _fields(table: TextTable, text: str, layout: Layout) -> Iterator[tuple[int, Sequence[str]]]:
    """Fields of each line that is not blank, after the header."""
    n_fields = len(layout.fields)
    first = _first_line(text)
    by_tabs = layout.separator is not None or (n_fields == 3 and first.count("\t") == 2)
    separator = "\t" if by_tabs else None
    names = " ".join(name or "-" for name in layout.fields)
    has_head = layout.has_head
    advice = f"; {_FORMATS_READ}"  # for the first line only: a file that begins well has the right format
    for line, content in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if _is_blank(content):
            continue
        fields = _split(content, separator)
        if has_head:
            if tuple(name.strip() for name in fields[:2]) != BEIR_HEAD[:2]:
                table.fail(f"the first line must be the head {', '.join(BEIR_HEAD)}, separated by tabs", line)
            has_head, advice = False, ""
            continue
        if len(fields) != n_fields:
            between = "tabs" if by_tabs else "spaces or tabs"
            table.fail(
                f"{n_fields} fields separated by {between} are expected ({names}); got {len(fields)}{advice}", line
            )
        advice = ""
        yield line, fields


def _ranks_or_scores(table: TextTable, columns: Columns, form: str | None) -> Columns:
    """Return the third column of a run as scores: ranks change their sign.

    The column holds ranks if its numbers are whole, at least 1, and differ within each query.
    """
    values = np.array(columns.values, float)
    is_whole = (values == np.floor(values)) & np.isfinite(values)
    if form == "msmarco" and not is_whole.all():
        line = columns.lines[int(np.argmin(is_whole))]
        table.fail('a rank must be a whole number; form="scores" reads scores, larger is better', line, "rank")
    is_ranks = form == "msmarco"
    if form is None and is_whole.all():
        pairs = np.stack([np.unique(np.array(columns.queries), return_inverse=True)[1], values])
        is_ranks = bool(values.min() >= 1) and np.unique(pairs, axis=1).shape[1] == values.size
        reading = "ranks (1 is best)" if is_ranks else "scores (larger is better)"
        other = 'form="scores" reads them as scores' if is_ranks else 'form="msmarco" reads them as ranks'
        give_notice(
            f"{table.name}: the whole numbers in the third column are read as {reading}; {other}",
            RankColumnWarning,
            stacklevel=5,
        )
    return columns._replace(values=[-value for value in columns.values]) if is_ranks else columns


def _id(table: TextTable, cell: str, line: int, column: str) -> str:
    identifier = cell.strip(_BLANKS)
    if not identifier:
        table.fail("empty cell; every row needs an id", line, column)
    return identifier


def _check_ranks(table: TextTable, columns: Columns) -> None:
    """Warn if a smaller rank has a smaller score within a query."""
    codes = np.unique(np.array(columns.queries), return_inverse=True)[1]
    ranks, scores = np.array(columns.ranks, float), np.array(columns.values, float)
    order = np.lexsort((-scores, ranks, codes))
    same = np.diff(codes[order]) == 0
    wrong = np.flatnonzero(same & (np.diff(scores[order]) > 0) & (np.diff(ranks[order]) > 0))
    if wrong.size:
        queries = len(set(codes[order][wrong].tolist()))
        line = columns.lines[int(order[wrong[0] + 1])]
        give_notice(
            f"{table.name}:{line}: the rank contradicts the score, which is larger than that of a smaller rank; so in "
            f"{counted(queries, 'query', 'queries')}. Scores decide",
            RankColumnWarning,
            stacklevel=5,
        )


def _where(columns: Columns) -> str:
    """The line where a query first repeats a document, as part of a place in a file; empty for JSON."""
    earlier_pairs: set[tuple[str, str]] = set()
    for line, pair in zip(columns.lines, zip(columns.queries, columns.documents, strict=True), strict=False):
        if pair in earlier_pairs:
            return f":{line}"
        earlier_pairs.add(pair)
    return ""
