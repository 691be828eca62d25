"""Read the rows of qrels and runs from text: TREC, MS MARCO, three columns, BEIR and JSON.

The whole text is read at once: about 200 bytes for each row, and 60 if pyarrow can read it (`rankcorr._io.table`).
`rankcorr.evaluation` makes qrels and runs of the rows.
"""

import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import counted, first_few, give_notice, real_text, shown
from rankcorr._io.source import path_text, printable
from rankcorr._io.table import Kind, TextTable, is_json, json_values, parse_number, plain_bytes, read_plain
from rankcorr.errors import RankColumnWarning, TableError

Form: TypeAlias = Literal["trec", "msmarco", "scores", "beir", "json"]

FORMATS: Final[tuple[Form, ...]] = get_args(Form)
BEIR_HEAD: Final = ("query-id", "corpus-id", "score")
ROW: Final = frozenset(BEIR_HEAD)  # keys of qrels in MTEB's data sets, one object in each line
HIT: Final = frozenset({"corpus_id", "score"})  # keys of a document that a search of sentence-transformers found
METADATA: Final = "mteb_model_meta"
_BLANKS: Final = " \t\r"
_FORMATS_READ: Final = (
    "supported formats: TREC, MS MARCO, three columns, BEIR, JSON, Parquet, Arrow, and CSV with a header such as "
    "query, document, {value}"
)
_SHAPES: Final = (
    'expected an object with "query_id" and "results" (each with "corpus_id" and "score"), or with "query-id", '
    '"corpus-id" and "score"'
)


class LineLayout(NamedTuple):
    """Meaning of the fields of a line, None for one that is not read; for "beir" also its header line."""

    fields: tuple[str | None, ...]
    separator: str | None = None  # spaces and tabs
    has_head: bool = False


LAYOUTS: Final = {  # by the name of a value, and by form
    "relevance": {
        "trec": LineLayout(("query", None, "document", "relevance")),
        "msmarco": LineLayout(("query", None, "document", "relevance"), "\t"),
        "beir": LineLayout(("query", "document", "relevance"), "\t", True),
    },
    "score": {
        "trec": LineLayout(("query", None, "document", "rank", "score", None)),
        "msmarco": LineLayout(("query", "document", "rank")),
        "scores": LineLayout(("query", "document", "score")),
        "beir": LineLayout(("query", "document", "score"), "\t", True),
    },
}


class FileColumns(NamedTuple):
    """Columns of a file, and the line of each row; `ranks` is empty if the file has none next to its scores.

    Ids are columns of Arrow, and numbers are arrays, where pyarrow has read them.
    """

    queries: Any
    documents: Any
    values: Any
    ranks: Any
    lines: Sequence[int]

    def query_codes(self) -> NDArray[np.int64]:
        """Return a number for the query of each row, shape (n_rows,)."""
        if isinstance(self.queries, list):
            numbers: dict[str, int] = {}
            return np.array([numbers.setdefault(query, len(numbers)) for query in self.queries], np.int64)
        return np.array(self.queries.combine_chunks().indices.to_numpy(), np.int64)

    def place_of_repeat(self) -> str:
        """The line where a query first repeats a document, as part of a place in a file; empty for JSON."""
        earlier_pairs: set[tuple[str, str]] = set()
        ids = (column if isinstance(column, list) else column.to_pylist() for column in (self.queries, self.documents))
        for line, pair in zip(self.lines, zip(*ids, strict=True), strict=False):
            if pair in earlier_pairs:
                return f":{line}"
            earlier_pairs.add(pair)
        return ""


def read_columns(table: TextTable, value_name: str, form: str | None) -> FileColumns:
    """Read qrels or a run; `value_name` is "relevance" for qrels, and "score" for a run.

    Raises
    ------
    TableError
        With file and line, as `read_qrels` and `read_run`.
    """
    layouts = LAYOUTS[value_name]
    data = plain_bytes(table.read_bytes())
    if form == "msmarco" and value_name == "relevance" and b"\t" not in data.lstrip().partition(b"\n")[0]:
        form = None  # the form of the run; these qrels are not those of MS MARCO
    layout_name = _plain_layout(data, value_name, form)
    columns = None if layout_name is None else _read_plain(data, layouts[layout_name])
    if columns is None:
        text = table.text()
        layout_name = form if form in (*layouts, "json") else _recognize_form(text, value_name)
        if layout_name == "json":
            rows = list(_json_rows(table, text, value_name))
            if not rows:
                table.fail("there is no document")
            queries, documents, values = map(list, zip(*rows, strict=True))
            return FileColumns(queries, documents, values, [], [])
        columns = _read_lines(table, text, layouts[layout_name])
    is_short = value_name == "score" and layout_name in ("msmarco", "scores")
    return _ranks_or_scores(table, columns, form) if is_short else columns


def _plain_layout(data: bytes, value_name: str, form: str | None) -> str | None:
    """Return the layout of a text by its first line; None where only the exact reader knows."""
    line = data[: max(0, data.find(b"\n"))]
    if not line.strip() or line.lstrip()[:1] in b"<{[" or not line.isascii() or line[:4].lower() == b"sep=":
        return None
    if form == "beir" and tuple(map(str.strip, line.decode().split("\t")))[:2] != BEIR_HEAD[:2]:
        return None
    return (
        form if form in LAYOUTS[value_name] else None if form == "json" else _recognize_form(line.decode(), value_name)
    )


def read_plain_table(data: bytes, header: str, names: Sequence[str | None]) -> FileColumns | None:
    """Read a table by pyarrow, if its first line is the header, and has one delimiter that needs no further checks.

    `names` are those of the columns of the query, the document, the score and the rank.
    """
    data = plain_bytes(data)
    delimiters = {sign for sign in ",;|\t" if sign in header}
    if not data.startswith(f"{header}\n".encode()) or len(delimiters) != 1 or delimiters == {";"}:
        return None
    (separator,) = delimiters
    fields = dict(zip(names, ("query", "document", "score", "rank"), strict=True))
    cells = header.split(separator)
    if len(set(cells)) < len(cells) or not set(names[:3]) <= set(cells):  # repeats, or quotes
        return None
    return _read_plain(data, LineLayout(tuple(map(fields.get, cells)), separator, True))


def _read_plain(data: bytes, layout: LineLayout) -> FileColumns | None:
    """Read lines by pyarrow, if every one has the same number of fields between single spaces, tabs or delimiters."""
    line = data[: data.find(b"\n")]
    n_fields = len(layout.fields)
    by_tabs = layout.separator is not None or (n_fields == 3 and line.count(b"\t") == 2)
    separator = (layout.separator or ("\t" if by_tabs or b"\t" in line else " ")).encode()
    odd = [separator * 2, separator + b"\n", b"\n" + separator]
    for blank in {b" ", b"\t"} - {separator}:
        odd += [separator + blank, blank + separator, blank + b"\n", b"\n" + blank] if by_tabs else [blank]
    if data[:1] in b" \t" or data[-1:] in b" \t" or any(signs in data for signs in odd):
        return None
    value_name = next(name for name in ("score", "relevance", "rank") if name in layout.fields)
    kinds: dict[str, Kind] = {"query": "codes", "document": "codes", "rank": "numbers", value_name: "numbers"}
    columns = read_plain(
        data,
        separator.decode(),
        n_fields,
        {place: kinds[name] for place, name in enumerate(layout.fields) if name},
        start=len(line) + 1 if layout.has_head else 0,
    )
    if columns is None:
        return None
    queries, documents, values = (columns[layout.fields.index(name)] for name in ("query", "document", value_name))
    ranks = columns[layout.fields.index("rank")] if "rank" in layout.fields and value_name != "rank" else []
    return FileColumns(queries, documents, values, ranks, range(1 + layout.has_head, 1 + layout.has_head + len(values)))


def is_trec(path: str | os.PathLike[str]) -> bool:
    r"""Whether the first line of a file looks like TREC qrels or a TREC run; always false for standard input.

    Examples
    --------
    >>> from pathlib import Path
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
        return trec_kind(_first_line(TextTable(path_text(path)).text())) is not None
    except TableError:
        return False


def trec_kind(line: str) -> str | None:
    """Return "qrels" or "a run" for a line in TREC's format, and None for any other line.

    Examples
    --------
    >>> trec_kind("q1 0 d1 2"), trec_kind("q1 Q0 d1 1 3.5 bm25"), trec_kind("q1 d1 2")
    ('qrels', 'a run', None)
    """
    fields = _split(line, None)
    n_numbers = {6: 2, 4: 1}.get(len(fields), 0)  # a run has a rank and a score after the document, qrels a relevance
    if not n_numbers or fields[1].upper() not in ("Q0", "0") or not all(map(real_text, fields[3 : 3 + n_numbers])):
        return None
    return "a run" if n_numbers == 2 else "qrels"


def _recognize_form(text: str, value_name: str) -> str:
    """Format of a text, from its first line."""
    if is_json(text):
        return "json"
    first = _first_line(text)
    fields = _split(first, "\t" if "\t" in first else None)
    if tuple(name.strip() for name in fields[:2]) == BEIR_HEAD[:2]:
        return "beir"
    return "scores" if value_name == "score" and 3 in (len(fields), len(_split(first, None))) else "trec"


def _first_line(text: str) -> str:
    return next(line for line in text.split("\n") if line.strip(_BLANKS))


def _split(line: str, separator: str | None) -> list[str]:
    """Fields of a line, between tabs, or between spaces and tabs; other white space is part of an id."""
    if separator is not None:
        return line.split(separator)
    spaced = line.replace("\t", " ")
    if spaced.isascii() and spaced.isprintable():  # without other white space, and read in a third of the time
        return spaced.split()
    return [field for field in spaced.split(" ") if field]


def _read_lines(table: TextTable, text: str, layout: LineLayout) -> FileColumns:
    value_name = next(name for name in ("score", "relevance", "rank") if name in layout.fields)
    query, document, value = (layout.fields.index(name) for name in ("query", "document", value_name))
    rank = layout.fields.index("rank") if "rank" in layout.fields and value_name != "rank" else None
    lines: list[int] = []
    columns = FileColumns([], [], [], [], lines)
    for line, fields in _fields(table, text, layout):
        for ids, place, name in ((columns.queries, query, "query"), (columns.documents, document, "document")):
            identifier = fields[place].strip(_BLANKS)
            if not identifier:
                table.fail("empty cell; every row needs an id", line, name)
            ids.append(identifier)
        columns.values.append(table.number(fields[value], line, value_name))
        if rank is not None:
            columns.ranks.append(table.number(fields[rank], line, "rank"))
        lines.append(line)
    if not columns.values:
        table.fail("there is no line after the header")
    return columns


def _fields(table: TextTable, text: str, layout: LineLayout) -> Iterator[tuple[int, Sequence[str]]]:
    """Fields of each line that is not blank, after the header."""
    n_fields = len(layout.fields)
    by_tabs = layout.separator is not None or (n_fields == 3 and _first_line(text).count("\t") == 2)
    has_head = layout.has_head
    kind, other = trec_kind(_first_line(text)), "a run" if "relevance" in layout.fields else "qrels"
    # For the first line only: a file that begins well has the right format.
    value_name = "relevance" if "relevance" in layout.fields else "score"
    formats = _FORMATS_READ.format(value=value_name)
    advice = f": the file holds {other}; are two files swapped?" if kind == other else f"; {formats}"
    for line, content in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not content.strip(_BLANKS):
            continue
        fields = _split(content, "\t" if by_tabs else None)
        if has_head:
            if tuple(name.strip() for name in fields[:2]) != BEIR_HEAD[:2]:
                table.fail(f"the first line must be the header {', '.join(BEIR_HEAD)}, separated by tabs", line)
        elif len(fields) != n_fields:
            between, names = "tabs" if by_tabs else "spaces or tabs", " ".join(name or "-" for name in layout.fields)
            table.fail(f"expected {n_fields} fields separated by {between} ({names}); got {len(fields)}{advice}", line)
        else:
            yield line, fields
        has_head, advice = False, ""


def _ranks_or_scores(table: TextTable, columns: FileColumns, form: str | None) -> FileColumns:
    """Return the third column of a run as scores: ranks change their sign.

    The column holds ranks if its numbers are whole, at least 1, and differ within each query; but not if they fall from
    line to line, as scores do that are sorted, also those that count down to 1. It also holds ranks if the lines of
    each query are numbered from 0 in their order, and a query has three lines.
    """
    values = np.array(columns.values, float)
    is_whole = (values == np.floor(values)) & np.isfinite(values)
    if form == "msmarco" and not is_whole.all():
        line = columns.lines[int(np.argmin(is_whole))]
        table.fail('ranks must be whole numbers; if larger is better, read the file with form="scores"', line, "rank")
    is_ranks = form == "msmarco"
    if form is None and is_whole.all():
        codes = columns.query_codes()
        order = np.lexsort((values, codes))
        has_repeats = ((np.diff(codes[order]) == 0) & (np.diff(values[order]) == 0)).any()
        steps = np.diff(values)[np.diff(codes) == 0]
        is_falling = steps.size > 0 and bool((steps < 0).all())
        is_first = np.diff(codes, prepend=-1) != 0
        places = np.arange(codes.size) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
        counts_from_0 = bool((values == places).all()) and bool(places.max() >= 2)
        is_ranks = counts_from_0 or (bool(values.min() >= 1) and not has_repeats and not is_falling)
        reading = f"ranks ({0 if counts_from_0 else 1} is best)" if is_ranks else "scores (larger is better)"
        other = 'form="scores" reads them as scores' if is_ranks else 'form="msmarco" reads them as ranks'
        give_notice(
            f"{table.name}: the whole numbers in the third column are read as {reading}; {other}",
            RankColumnWarning,
            stacklevel=6,
        )
    if not is_ranks:
        return columns
    is_list = isinstance(columns.values, list)  # of numbers that floats may not hold
    return columns._replace(values=[-value for value in columns.values] if is_list else -values)


def check_ranks(table: TextTable, columns: FileColumns) -> None:
    """Warn if a smaller rank has a smaller score within a query, or if ranks differ where no score does."""
    if not len(columns.ranks):
        return
    lines = columns.lines

    def place_of(row: int) -> str:
        return f"{table.name}:{lines[row]}: this document"

    note_ranks(columns.query_codes(), columns.ranks, columns.values, table.name, place_of, 6)


def note_ranks(
    codes: Any, rank_column: Any, score_column: Any, name: str, place_of: Callable[[int], str], stacklevel: int
) -> None:
    """Warn of ranks that contradict scores; `codes` number the queries, and `place_of` names the document of a row."""
    ranks, scores = np.array(rank_column, float), np.array(score_column, float)
    order = np.lexsort((-scores, ranks, codes))
    is_same_query = np.diff(codes[order]) == 0
    is_ranked = is_same_query & (np.diff(ranks[order]) > 0)
    wrong = np.flatnonzero(is_ranked & (np.diff(scores[order]) > 0))
    if is_ranked.any() and not (is_same_query & (np.diff(scores[order]) != 0)).any():
        message = (
            f"{name}: all documents of a query have the same score; the scores are used, not the ranks. If the "
            "ranks hold the order, write scores that fall with them"
        )
    elif wrong.size:
        queries = counted(len(set(codes[order][wrong].tolist())), "query", "queries")
        place = place_of(int(order[wrong[0] + 1]))
        contradiction = f"{place} has a larger score than one ranked above it, as in {queries}"
        message = f"{contradiction}; the scores are used, not the ranks"
    else:
        return
    give_notice(message, RankColumnWarning, stacklevel=stacklevel)


class JsonPairs(list[tuple[str, Any]]):
    """A JSON object that keeps repeated names."""

    def get(self, name: str) -> Any:
        """Value of the last entry of a name; None without one."""
        return dict(self).get(name)


def _json_rows(table: TextTable, text: str, value_name: str) -> Iterator[tuple[str, str, float]]:
    """Query, document and value of each entry of a text in JSON; repeated names are kept as such.

    The text is one object of query to documents, an object for each query with `query_id` and `results` (one a line, or
    in an array), one for each row with `query-id`, `corpus-id` and `score`, or the predictions of MTEB. Documents are
    an object of document to value, or a list as in `QueryColumns.from_dict`.
    """
    for query, documents in _queries(table, text, value_name):
        pairs = documents if isinstance(documents, JsonPairs) else _list_documents(table, query, documents, value_name)
        for document, value in pairs:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or value == math.inf:  # only a number beyond the range of floats is infinite here
                fault = "is beyond the range of a 64-bit float" if is_number else "is not a number"
                table.fail(f'query "{printable(query)}", document "{printable(document)}": {value_name} {fault}')
            yield query, document, value


def _queries(table: TextTable, text: str, value_name: str) -> Iterator[tuple[str, Any]]:
    """Each query with its documents, in whatever form they are."""
    # NaN and Infinity, which are not valid JSON, become text, and so no number.
    numbers: dict[str, Any] = {"parse_constant": str, "parse_float": _json_number, "parse_int": _json_number}
    entries = list(json_values(table, text, json.JSONDecoder(object_pairs_hook=JsonPairs, **numbers)))
    if len(entries) == 1 and not text.lstrip().startswith("["):
        ((line, content),) = entries
        if isinstance(content, JsonPairs) and METADATA in dict(content):
            content = _only_split(table, content)
        if isinstance(content, JsonPairs) and not _is_prediction(content):
            if not all(isinstance(value, list) for _, value in content):  # `JsonPairs` are lists too
                _refuse_shape(table, value_name)
            yield from content
            return
        entries = [(line, entry) for entry in (content if type(content) is list else [content])]
    for line, entry in entries:
        if not isinstance(entry, JsonPairs) or not _is_prediction(entry):
            table.fail(_SHAPES, line)
        row = dict(entry)
        if row.keys() >= ROW:
            query, document = _checked_ids(table, [row["query-id"], row["corpus-id"]], line)
            yield query, JsonPairs([(document, row["score"])])
            continue
        results = row.get("results")
        hits = [dict(hit) for hit in results if isinstance(hit, JsonPairs)] if type(results) is list else None
        if hits is None or len(hits) < len(results or ()) or not all(hit.keys() >= HIT for hit in hits):
            table.fail(_SHAPES, line)
        query, *ids = _checked_ids(table, [row.get("query_id"), *(hit["corpus_id"] for hit in hits)], line)
        yield query, JsonPairs((document, hit["score"]) for document, hit in zip(ids, hits, strict=True))


def _checked_ids(table: TextTable, ids: list[Any], line: int) -> list[str]:
    if wrong := [identifier for identifier in ids if type(identifier) not in (str, int)]:
        table.fail(f"ids must be text or whole numbers; got {shown(wrong[0])}", line)
    return list(map(str, ids))


def _is_prediction(entry: JsonPairs) -> bool:
    """Whether an object is a query of sentence-transformers or a row of MTEB, and not one of query to documents."""
    return any(
        name in dict(entry) and not isinstance(entry.get(name), JsonPairs | list) for name in ("query_id", "query-id")
    )


def _only_split(table: TextTable, predictions: JsonPairs) -> Any:
    """Return the predictions of the only subset and split of a file of MTEB."""
    splits = [
        (subset, split, queries)
        for subset, content in predictions
        if subset != METADATA and isinstance(content, JsonPairs)
        for split, queries in content
    ]
    if len(splits) != 1:
        names = first_few([f"{printable(subset)} {printable(split)}" for subset, split, _ in splits]) or "none"
        table.fail(f"expected the predictions of one subset and split; the file has {names}")
    return splits[0][2]


def _list_documents(table: TextTable, query: str, documents: list[Any], value_name: str) -> list[tuple[str, Any]]:
    """Documents and values of a list of hits, or of a list of ids."""
    entries = [dict(entry) if isinstance(entry, JsonPairs) else entry for entry in documents]
    pairs = listed_values(entries, value_name)
    if pairs is None or not all(isinstance(document, str | int) for document, _ in pairs):
        _refuse_shape(table, value_name, f'; the list of query "{printable(query)}" is neither')
    return [(str(document), value) for document, value in pairs]


def _refuse_shape(table: TextTable, value_name: str, more: str = "") -> NoReturn:
    table.fail(
        f'expected an object such as {{"q1": {{"d1": {value_name}}}}}, or with a list of ids or hits for each query'
        f"{more}"
    )


def _json_number(text: str) -> float:
    """A number of JSON; infinite if it is beyond the range of a float."""
    try:
        return parse_number(text) or 0
    except OverflowError:
        return math.inf


def is_hit(value: Any) -> bool:
    """Whether a value is a document that a search of sentence-transformers found.

    Examples
    --------
    >>> is_hit({"corpus_id": "d1", "score": 0.7}), is_hit({"d1": 0.7})
    (True, False)
    """
    return isinstance(value, Mapping) and value.keys() >= HIT


def listed_values(entries: Collection[Any], value_name: str) -> list[tuple[Any, Any]] | None:
    """Return documents with values from a list of hits, of relevant ids, or of a run's ids; None for any other list.

    Examples
    --------
    >>> listed_values(["b", "a"], "relevance"), listed_values(["b", "a"], "score"), listed_values({"b"}, "score")
    ([('b', 1), ('a', 1)], [('b', -1), ('a', -2)], None)
    """
    if entries and all(map(is_hit, entries)):
        return [(hit["corpus_id"], hit["score"]) for hit in entries]
    if any(isinstance(entry, Mapping | list | tuple) for entry in entries):
        return None
    if value_name == "relevance":
        return [(document, 1) for document in entries]
    if isinstance(entries, Set):  # without an order
        return None
    return [(document, -rank) for rank, document in enumerate(entries, start=1)]
