"""What results have in common: content decides equality, arrays stay read-only, tables become dicts and frames."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from html import escape
from typing import Any, Final

import numpy as np

from rankcorr.errors import MissingPandasError

MAX_HTML_ROWS: Final = 60

_NAN: Final = ("nan",)


class Result:
    """Base of the frozen dataclasses that are results: values, equal and hashed by what they hold.

    Arrays are compared as a whole, nan equals nan, and read-only arrays stay read-only through pickle and deepcopy.
    Subclasses are declared with ``eq=False``, or the dataclass would bring an equality of its own, which fails on
    arrays.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return _content(self) == _content(other) if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(_content(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            _freeze(value)
            object.__setattr__(self, name, value)


class TableResult(Result):
    """A result with a table in it: `to_frame` gives it to pandas, and notebooks show it.

    A subclass says what the table is: `_columns`, and `_title` for notebooks.
    """

    __slots__ = ()

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Columns of the table by name, all of one length."""
        raise NotImplementedError

    def _title(self) -> str:
        """What stands above the table in a notebook."""
        return repr(self)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame.

        Raises
        ------
        MissingPandasError
            pandas is not installed.
        """
        return _pandas().DataFrame(dict(self._columns()))

    def _repr_html_(self) -> str:
        columns = self._columns()
        n_rows = len(next(iter(columns.values()), ()))
        head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
        listed = [list(column[:MAX_HTML_ROWS]) for column in columns.values()]
        rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in zip(*listed, strict=True))
        more = f"<p>… {n_rows - MAX_HTML_ROWS:,} more rows</p>" if n_rows > MAX_HTML_ROWS else ""
        title = escape(self._title())
        return f"<p>{title}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Computed(Result):
    """What was computed: the part that all results of a coefficient share."""

    n_items: int
    coefficient: str
    scheme: str | None = None
    n0: float | None = None
    weigher: str | None = None
    tied_weights: str | None = None
    variant: str | None = None
    missing: str | None = None

    def __repr__(self) -> str:
        """Show the result first, and leave out the options that did not take part."""
        shown = {"statistic": None} | {field.name: getattr(self, field.name) for field in fields(self) if field.repr}
        return described_by(self, shown)


def described_by(result: object, values: Mapping[str, Any]) -> str:
    """Text of a result: its class, and the values that are not None."""
    options = ", ".join(f"{name}={value!r}" for name, value in values.items() if value is not None)
    return f"{type(result).__name__}({options})"


def json_ready(value: Any) -> Any:
    """Return a value as JSON can hold it: None for nan and infinities, lists for arrays, dicts for dataclasses.

    Examples
    --------
    >>> json_ready({"low": float("nan"), "values": np.array([1.0, 0.5])})
    {'low': None, 'values': [1.0, 0.5]}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: json_ready(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | range):
        return [json_ready(entry) for entry in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_ready(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, float):  # a number with a memory becomes a plain one
        return float(value) if math.isfinite(value) else None
    return value


def square_frame(values: np.ndarray, names: Sequence[Any] | None) -> Any:
    """Return a matrix as a pandas DataFrame with names on both sides."""
    labels = None if names is None else list(names)
    return _pandas().DataFrame(np.array(values), index=labels, columns=labels)


def _pandas() -> Any:
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingPandasError("to_frame needs pandas, which is not installed: pip install pandas") from error
    return pandas


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f'<td style="text-align: right">{value:.4g}</td>'
    if isinstance(value, int | np.integer):
        return f'<td style="text-align: right">{value:,}</td>'
    return f"<td>{escape('' if value is None else str(value))}</td>"


def _freeze(value: Any) -> None:
    """Make arrays read-only again, which pickle and deepcopy forget; those in mappings and sequences too."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        for entry in value.values():
            _freeze(entry)
    elif isinstance(value, tuple | list):
        for entry in value:
            _freeze(entry)


def _content(value: Any) -> Any:
    """Return what a value holds, as something that `==` and `hash` understand."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            return value.shape, tuple(map(_content, value.ravel().tolist()))
        return value.shape, tuple(value.ravel().tolist())
    if isinstance(value, float):
        return _NAN if math.isnan(value) else float(value)
    if isinstance(value, tuple | list | range):
        return tuple(map(_content, value))
    if isinstance(value, Mapping):
        return frozenset((key, _content(entry)) for key, entry in value.items())
    if isinstance(value, Result) and is_dataclass(value):
        return type(value), tuple(_content(getattr(value, field.name)) for field in fields(value))
    return value
