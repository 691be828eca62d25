"""Read tables of scores of systems on tasks, in several forms, as a matrix."""

import math
import os
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np

from rankcorr import errors
from rankcorr._checks import (
    check_unique,
    equals_itself,
    first_few,
    give_notice,
    offending,
    real_number,
    repeated,
    shown,
)
from rankcorr._input.frames import columns_of, is_rank_column, with_levels
from rankcorr._io.columnar import ARROW_FILES, ArrowFile
from rankcorr._io.table import DECIMAL_COMMA, TextTable, end_with_total, names_total, parse_number
from rankcorr._workers import Values

SYSTEM: Final = re.compile(r"(system|model|run|method|submission|team|participant)s?([ _-]?(name|id))?", re.I)
TASK: Final = re.compile(r"(task|dataset|data[ _-]set|benchmark)s?([ _-]?(name|id))?", re.I)
SCORE: Final = re.compile(r"(main[ _-])?(score|value|result)s?", re.I)
WITHIN: Final = re.compile(r"(seed|repeat|repetition|query|qid|item)s?([ _-]?id)?", re.I)
TOTAL: Final = re.compile(
    r"(average|avg|mean|overall|total|sum|rank)\b.*|.*[ _-](average|avg|mean|overall|(?-i:All))", re.I
)
ID: Final = re.compile(r"id", re.I)  # of the row, or scores for Indonesian
PROPERTY: Final = re.compile(
    r"#? *((num|n|number of)[ _-])?(params?|parameters)\b.*|(model[ _-])?size\b.*|year"
    r"|votes|battles|(num|n|number of)[ _-](votes|battles|games|samples|examples)"
    r"|(co[2₂]|costs?|price)([ _-](costs?|emissions?|usd|eur|per[ _-].*))?( *[(/$€].*)?"
    # errors and limits of another column, as in arenas and lm-evaluation-harness
    r"|(.*[ _-])?(std|stdev|stddev|stderr|standard[ _-](error|deviation)|variance)(,.*)?"
    r"|.*[ _-](q0?25|q0?5|q95\d?|q975|lower|upper)"
    r"|#|index|unnamed: \d+",  # pandas reads a column without a name as "Unnamed: 0"
    re.I,
)
LOW: Final = re.compile(
    r"(.*[ _-])?(ppl|perplexity|loss|wer|cer|ter|mae|mse|rmse|errors?|error[ _-]?rate|fid|latency)( *\(.*\))?", re.I
)
LARGEST: Final = 1e150
_ROWS_ARE_TASKS: Final = "the table has a row for each task: transpose it, so that it has a row for each system"
_NAME_TASKS: Final = 'remove or rename them, or name each task, as in tasks=["x"]'
_TRUTH_VALUES: Final = frozenset({"true", "false"})
_TRUTH: Final = "; write 1 for true and 0 for false"
_ABSENT: Final = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "–", "?"})  # noqa: RUF001


class ScoreTable(NamedTuple):
    """Scores of systems, a row each, on tasks, a column each; nan if missing."""

    systems: tuple[str, ...]
    tasks: tuple[str, ...]
    values: Values


def read_score_table(
    source: Any,
    *,
    system: str | None = None,
    task: str | None = None,
    score: str | None = None,
    within: str | None = None,
    tasks: Sequence[str] | None = None,
) -> ScoreTable:
    """Read a table of scores, wide (a column for each task) or long (a row for each score).

    `leaderboard_of_scores` describes the parameters and errors.

    Examples
    --------
    >>> read_score_table({"a": {"x": 1, "y": [2, 4]}, "b": {"x": 0, "y": None}})
    ScoreTable(systems=('a', 'b'), tasks=('x', 'y'), values=array([[ 1.,  3.],
           [ 0., nan]]))
    """
    if isinstance(source, Mapping) and all(isinstance(row, Mapping) for row in source.values()):
        rows: Iterable[tuple[Any, Any, Any]] = (
            (name, key, cell) for name, row in source.items() for key, cell in row.items()
        )
        cells = _collect(rows, within=True)
        return _table_of(cells, list(map(NameTexts("system"), source)), tasks)
    columns, index, check_scores = _columns(source)
    names = {str(name): name for name in columns}
    if len(names) < len(columns):
        raise errors.ColumnError(
            offending("names of columns must be unique as text; more than once", repeated(map(str, columns)))
        )
    column_of = {
        role: _find_column(names, column, pattern, role)
        for role, column, pattern in (("system", system, SYSTEM), ("task", task, TASK), ("score", score, SCORE))
    }
    if task is not None or score is not None or None not in column_of.values():
        if lacking := [role for role, column in column_of.items() if column is None]:
            raise errors.ColumnError(
                f"say which column holds the {lacking[0]}, or name it {lacking[0]}; the columns are {_quote(names)}"
            )
        used = {column for column in column_of.values() if column is not None}
        check_scores([str(column_of["score"])])
        repeats_column = _find_column(
            {name: key for name, key in names.items() if name not in used}, within, WITHIN, "within"
        )
        triples = list(zip(*(columns[names[str(column)]] for column in column_of.values()), strict=True))
        cells = _collect(triples, within=repeats_column is not None)
        if repeats_column is not None:
            parts = map(str, columns[names[repeats_column]])
            rows = ((name, key, part) for (name, key, _), part in zip(triples, parts, strict=True))
            check_unique(rows, f"rows of (system, task, {repeats_column})", errors.DuplicateLabelError)
        return _table_of(cells, None, tasks)
    if within is not None:
        raise errors.ColumnError("within needs a long table, with columns of systems, tasks and scores")
    return _wide(columns, names, column_of["system"], index, tasks, check_scores)


class _ScoreColumns(NamedTuple):
    """Columns as lists, the labels of a pandas frame, and a function that refuses columns of ambiguous numbers."""

    lists: dict[Any, list[Any]]
    row_labels: list[Any] | None = None
    check_scores: Callable[[Iterable[str]], None] = lambda _: None


def _columns(source: Any) -> _ScoreColumns:
    """Return the columns of a file, a frame or a mapping."""
    if isinstance(source, str | os.PathLike):
        return _columns_of_file(os.fspath(source))
    if isinstance(source, list | tuple) and all(isinstance(row, Mapping) for row in source):
        source = {name: [row.get(name) for row in source] for name in dict.fromkeys(chain.from_iterable(source))}
    if isinstance(source, Mapping):
        listed: dict[Any, list[Any]] = {name: list(column) for name, column in source.items() if _is_list(column)}
        if len(listed) < len(source) or len(set(map(len, listed.values()))) != 1:
            raise errors.ColumnError(
                "a mapping must hold a mapping of task to score for each system, or columns of one length; got "
                f"{shown(source)}"
            )
        return _ScoreColumns(listed)
    levels = getattr(getattr(source, "index", None), "names", ())
    if len(levels) > 1 and any(isinstance(level, str) and TASK.fullmatch(level) for level in levels):
        source = with_levels(source)  # as groupby of pandas returns it
    frame = columns_of(source)
    if frame is None:
        raise errors.ColumnError(
            "the table must be a data frame, a mapping, a list of dicts, or the path of a CSV or Parquet file; got "
            f"{shown(source)}"
        )
    import narwhals.stable.v2 as nw

    index: Any = getattr(source, "index", None)
    names = None if not hasattr(index, "names") or list(index) == list(range(len(index))) else list(index)
    title = getattr(index, "name", None)
    if names is not None and isinstance(title, str) and TASK.fullmatch(title):
        raise errors.ColumnError(_ROWS_ARE_TASKS)
    lists = {}
    for name, column in frame.items():
        text = " ".join(map(str, name)).strip() if isinstance(name, tuple) else name  # the levels of a pivot table
        lists[name if text in lists else text] = nw.from_native(column, series_only=True).to_list()
    return _ScoreColumns(lists, names)


def _is_list(column: Any) -> bool:
    is_sized = hasattr(column, "__len__") and hasattr(column, "__iter__") and getattr(column, "ndim", 1) > 0
    return is_sized and not isinstance(column, str | bytes | Mapping)


def _columns_of_file(path: str) -> _ScoreColumns:
    table = TextTable(path, content="systems and their scores are expected", form="CSV or Parquet")
    table.data = table.read_bytes()
    if table.data.startswith(ARROW_FILES):
        file = ArrowFile(table, table.data)
        _check_names(table, file.names, 0)
        return _ScoreColumns({name: list(file.column(name)) for name in file.names})
    text = table.columns_text()
    delimiter = table.delimiter(text, ())
    header, *records = table.records(text, delimiter)
    names = [cell.strip() for cell in header.cells]
    _check_names(table, names, header.line)
    for record in records:
        table.check_width(header, record)
    if not records:
        table.fail("there is no line after the header")
    lists = {name: [record.cells[place].strip() for record in records] for place, name in enumerate(names)}

    def check_scores(used: Iterable[str]) -> None:
        lines = [record.line for record in records]
        for name in used if delimiter == ";" else ():
            table.check_thousands(name, zip(lines, lists[name], strict=True))

    return _ScoreColumns(lists, None, check_scores)


def _check_names(table: TextTable, names: Sequence[str], line: int) -> None:
    if again := repeated(names):
        table.fail(offending("names of columns must be unique; more than once", again), line)


def _find_column(names: Mapping[str, Any], column: str | None, pattern: re.Pattern[str], role: str) -> str | None:
    """Return the requested column, or the only one that matches the pattern; None if there is none."""
    if column is not None:
        if column not in names:
            raise errors.ColumnError(f"the table has no column {shown(column)} for the {role}; it has {_quote(names)}")
        return column
    fitting = [name for name in names if pattern.fullmatch(name.strip())]
    return fitting[0] if len(fitting) == 1 else None


def _wide(
    columns: Mapping[Any, list[Any]],
    names: Mapping[str, Any],
    system: str | None,
    index: list[Any] | None,
    tasks: Sequence[str] | None,
    check_scores: Callable[[Iterable[str]], None],
) -> ScoreTable:
    left = [name for name in names if name != system]
    if system is None and index is None:
        texts = [name for name in left if any(_is_text(cell) for cell in columns[names[name]])]
        if len(texts) != 1:
            raise errors.ColumnError(
                f"say which column holds the systems, or name it model or system; the columns are {_quote(names)}"
            )
        (system,) = texts
        if TASK.fullmatch(system.strip()):
            raise errors.ColumnError(_ROWS_ARE_TASKS)
        left.remove(system)
    rows = index if system is None else columns[names[system]]
    systems = list(map(NameTexts("system"), rows or ()))
    if again := repeated(systems):
        raise errors.DuplicateLabelError(
            f"{offending('names of systems must be unique; more than once', again)} (for a row for each score, name "
            "the columns model, task and score)"
        )
    used = left if tasks is None else [name for name in left if name in set(map(str, tasks))]
    if "" in used:
        raise errors.ColumnError(
            "a column has no name, such as the index that pandas writes: remove it, or name each task, as in "
            'tasks=["x"]'
        )
    if texts := [
        name for name in used if all(isinstance(cell, str) and _is_text(cell) for cell in columns[names[name]])
    ]:
        raise errors.ColumnError(
            f'{offending("columns of text, not of scores", texts)}; name each task, as in tasks=["x"]'
        )
    check_scores(used)
    triples = [
        (name, column, cell) for column in used for name, cell in zip(systems, columns[names[column]], strict=True)
    ]
    return _table_of(_collect(triples, within=False), systems, tasks, left)


def _is_text(cell: Any) -> bool:
    """Return whether a cell is text: no number, also with a decimal comma, no truth value, and not missing."""
    if not isinstance(cell, str) or cell.lower() in _ABSENT | _TRUTH_VALUES:
        return False
    digits = cell.strip("% ")
    return _number(digits) is None and not DECIMAL_COMMA.fullmatch(digits)


class NameTexts:
    """Converts names to text, and refuses different names with the same text, as 1 and "1"."""

    def __init__(self, role: str, owner: str = "row") -> None:
        self._role, self._owner = role, owner
        self._values: dict[str, Any] = {}
        self._texts: dict[Any, str] = {}

    def __call__(self, value: Any) -> str:
        try:
            text = self._texts.get(value)
        except TypeError as error:  # a list
            raise errors.LabelError(
                f"every {self._owner} needs the name of a {self._role}; got {shown(value)}"
            ) from error
        if text is None:
            text = self._texts[value] = self._text_of(value)
        return text

    def _text_of(self, value: Any) -> str:
        stripped = value.strip() if isinstance(value, str) else value
        if stripped is None or not equals_itself(stripped) or stripped == "":
            raise errors.LabelError(f"every {self._owner} needs the name of a {self._role}; got {shown(value)}")
        text = str(stripped)
        if text in self._values:
            other = self._values[text]
            raise errors.DuplicateLabelError(
                f"names of {self._role}s must differ as text; got {shown(other)} and {shown(value)}"
            )
        self._values[text] = value
        return text


def _collect(rows: Iterable[tuple[Any, Any, Any]], *, within: bool) -> dict[tuple[str, str], list[float]]:
    """Return the scores of each system on each task: several if there are seeds or queries within the task."""
    cells: dict[tuple[str, str], list[float]] = {}
    name_system, name_task = NameTexts("system"), NameTexts("task")
    for system, task, cell in rows:
        place = name_system(system), name_task(task)
        scores = cells.setdefault(place, [])
        if scores and not within:
            raise errors.DuplicateLabelError(
                f"system {shown(place[0])} has more than one score on task {shown(place[1])}; to "
                "average over seeds or queries, name their column seed or query"
            )
        listed = cell if _is_list(cell) else [cell]
        scores += [score for score in (_score(value, *place) for value in listed) if not math.isnan(score)]
    return cells


def _score(cell: Any, system: str, task: str) -> float:
    """Return the number in a cell; nan if it is missing."""
    if type(cell) is float and math.isfinite(cell):
        return cell
    where = f"system {shown(system)}, task {shown(task)}"
    if cell is None or not equals_itself(cell) or (isinstance(cell, str) and cell.lower() in _ABSENT):
        return math.nan
    if isinstance(cell, str):
        number = _number(cell)
        if number is None:
            advice = ": write all scores without the percent sign" if cell.rstrip().endswith("%") else ""
            advice = _TRUTH if cell.lower() in _TRUTH_VALUES else advice
            advice = "; use a decimal point, not a comma" if DECIMAL_COMMA.fullmatch(cell.strip()) else advice
            raise errors.NonNumericError(f"{where}: {shown(cell)} is not a number{advice}")
        value = float(number)
    else:
        value = float(cell) if isinstance(cell, Decimal) else real_number(cell)
        if math.isnan(value) and not isinstance(cell, float | np.floating):
            advice = _TRUTH if isinstance(cell, bool | np.bool_) else ""
            raise errors.NonNumericError(f"{where}: {shown(cell)} is not a number{advice}")
    if math.isinf(value):
        raise errors.NonNumericError(f"{where}: a score must be finite; got {value}")
    return value


def _number(text: str) -> float | None:
    try:
        return parse_number(text.strip())
    except OverflowError:
        return math.inf


def _table_of(
    cells: Mapping[tuple[str, str], list[float]],
    systems: list[str] | None,
    tasks: Sequence[str] | None,
    columns: Sequence[str] = (),
) -> ScoreTable:
    """Return the means of the cells as a matrix of all systems, and all tasks or those in `tasks`.

    `columns` are the tasks of a table that has a column for each, for a message.
    """
    every_task = list(dict.fromkeys(task for _, task in cells))
    systems = list(dict.fromkeys(system for system, _ in cells)) if systems is None else systems
    if tasks is not None:
        if isinstance(tasks, str) or not isinstance(tasks, Collection):
            raise errors.OptionError(f"tasks must be a list of names; got {shown(tasks)}")
        tasks = list(map(str, tasks))
        check_unique(tasks, "tasks", errors.OptionError)
        if unknown := [task for task in tasks if task not in every_task]:
            raise errors.OptionError(
                f"{offending('the table has no task', unknown)}; it has {_quote(columns or every_task)}"
            )
    elif totals := [name for name in every_task if TOTAL.fullmatch(name) or names_total(name) or is_rank_column(name)]:
        raise errors.OptionError(f"{offending('columns that look like totals of other tasks', totals)}; {_NAME_TASKS}")
    elif properties := [
        task
        for task in every_task
        if PROPERTY.fullmatch(task)
        or (ID.fullmatch(task) and all(n.is_integer() for place, ns in cells.items() if place[1] == task for n in ns))
    ]:
        raise errors.OptionError(
            f"{offending('columns that look like properties of systems, not scores', properties)}; {_NAME_TASKS}"
        )
    used = every_task if tasks is None else list(tasks)
    for role, names in (("systems", systems), ("tasks", used)):
        if len(names) < 2:
            raise errors.TooFewItemsError(f"a leaderboard needs at least two {role}; got {len(names)}")
    counts = dict.fromkeys((task, len(scores)) for (_, task), scores in cells.items() if scores and task in used)
    if uneven := repeated([task for task, _ in counts]):
        give_notice(
            offending("systems have different numbers of scores, so their means are compared; tasks", uneven),
            UserWarning,
            stacklevel=5,
        )
    values = np.array(
        [[_mean(scores) if (scores := cells.get((name, task))) else math.nan for task in used] for name in systems]
    )
    if names_total(systems[-1]) and end_with_total(values.T.tolist()):
        raise errors.LabelError(
            f"{shown(systems[-1])} is the total or the mean of the other systems: remove it, or put it in another row "
            "if it is a system"
        )
    if (too_large := np.argwhere(np.abs(values) > LARGEST)).size:
        place, column = too_large[0].tolist()
        where = f"system {shown(systems[place])}, task {shown(used[column])}"
        raise errors.NonNumericError(
            f"{where}: a score must be between {-LARGEST:g} and {LARGEST:g}, as its square must be finite"
        )
    for role, names, is_empty in (
        ("task", used, np.isnan(values).all(axis=0)),
        ("system", systems, np.isnan(values).all(axis=1)),
    ):
        if is_empty.any():
            lacking = [name for name, empty in zip(names, is_empty.tolist(), strict=True) if empty]
            raise errors.MissingValueError(offending(f"no score of {role}", lacking))
    return ScoreTable(tuple(systems), tuple(used), values)


def _mean(scores: Sequence[float]) -> float:
    """Return a mean; infinity if a score is too large, because the sum may then overflow or be nan."""
    return math.fsum(scores) / len(scores) if max(map(abs, scores)) <= LARGEST else math.inf


def _quote(names: Iterable[Hashable]) -> str:
    return first_few(list(map(repr, names)))
