"""Groups of queries, such as genres or languages: from a mapping, a data frame or a file."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

from rankcorr.checks import offending, shown
from rankcorr.errors import OptionError
from rankcorr.evaluation.columns import coded
from rankcorr.evaluation.errors import ColumnError
from rankcorr.evaluation.judgements import QUERY
from rankcorr.frames import columns_of
from rankcorr.io.records import TextTable, printable

GROUP: Final = "group"


def grouped_queries(groups: Any, queries: tuple[Hashable, ...]) -> dict[Hashable, list[int]]:
    """Places of the queries of each group; groups in the order of their first queries, and none without groups.

    Parameters
    ----------
    groups : mapping of query to group, data frame, or None
        A frame has a column of queries, called as in `Qrels.from_frame`, and either one other column or one called
        "group". It may repeat a query with the same group.
    queries : tuple
        Those of qrels, each of which needs a group.

    Raises
    ------
    OptionError
        Anything else, or a query without a group.
    ColumnError
        A frame without these columns, or with two groups for one query.

    Examples
    --------
    >>> grouped_queries({"q1": "drama", "q2": "war", "q3": "drama"}, ("q1", "q2", "q3"))
    {'drama': [0, 2], 'war': [1]}
    """
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        columns = columns_of(groups)
        if columns is None:
            raise OptionError(f"groups must be a mapping of query to group, or a data frame; got {shown(groups)}")
        groups = _of_frame(columns)
    found: dict[Hashable, list[int]] = {}
    if lacking := [query for query in queries if query not in groups]:
        raise OptionError(offending("every query of qrels needs a group; without one", lacking))
    for place, query in enumerate(queries):
        group = groups[query]
        if group is None or group != group:  # noqa: PLR0124 - nan is not equal to itself
            raise OptionError(f"every query of qrels needs a group; that of {shown(query)} is {shown(group)}")
        found.setdefault(group, []).append(place)
    return found


def read_groups(path: str | os.PathLike[str]) -> dict[str, str]:
    r"""Read the group of each query from a CSV or TSV file with two columns: query, group.

    The first line is a head if it begins with "query", "query_id", "qid" or "q_id".

    Raises
    ------
    TableError
        With file and line: another number of columns, an empty cell, or two groups for one query.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "genres.csv")
    ...     _ = file.write_text("query,group\nq1,drama\nq2,war\n")
    ...     read_groups(file)
    {'q1': 'drama', 'q2': 'war'}
    """
    table = TextTable(os.fspath(path), wanted="a query and a group are wanted")
    text = table.text()
    found: dict[str, str] = {}
    for number, record in enumerate(table.records(text, table.delimiter(text, ()))):
        cells = [cell.strip() for cell in record.cells]
        if len(cells) != 2:
            table.fail(f"two columns are wanted, query and group; got {len(cells)}", record.line)
        query, group = cells
        if number == 0 and query.lower() in QUERY:
            continue
        for cell, column in ((query, "query"), (group, GROUP)):
            if not cell:
                table.fail("empty cell; every query needs a group", record.line, column)
        if found.setdefault(query, group) != group:
            table.fail(
                f'query "{printable(query)}" has two groups, "{printable(found[query])}" and "{printable(group)}"',
                record.line,
            )
    if not found:
        table.fail("there is no line besides the head")
    return found


def _of_frame(columns: Mapping[Any, Any]) -> dict[Hashable, Hashable]:
    """Group of each query, from the columns of a frame."""
    listed = ", ".join(map(repr, columns))
    names = [name for name in QUERY if name in columns]
    if len(names) != 1:
        raise ColumnError(f"groups need one column of queries, such as {', '.join(map(repr, QUERY))}; got {listed}")
    others = [name for name in columns if name != names[0]]
    if len(others) != 1 and GROUP not in others:
        raise ColumnError(f"groups need one column besides {names[0]!r}, or one called {GROUP!r}; got {listed}")
    queries = coded(columns[names[0]], "query")
    groups = _listed(columns[others[0] if len(others) == 1 else GROUP])
    found: dict[Hashable, Hashable] = {}
    for code, group in zip(queries.codes.tolist(), groups, strict=True):
        query = queries.ids[code]
        if found.setdefault(query, group) != group:
            raise ColumnError(f"query {shown(query)} has two groups, {shown(found[query])} and {shown(group)}")
    return found


def _listed(column: Any) -> Iterable[Hashable]:
    """Cells of a column of pandas, polars or pyarrow as values of Python."""
    import narwhals.stable.v2 as nw

    cells: list[Hashable] = nw.from_native(column, series_only=True).to_list()
    return cells
