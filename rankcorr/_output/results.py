"""Base classes of results: equality by content, read-only arrays, and conversion to dicts and data frames."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from html import escape
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankcorr._output.tables import TableNotes, cell_text, html_table, is_numeric, latex_table, markdown_table
from rankcorr.errors import MissingPandasError

Kind = TypeVar("Kind")

_NAN: Final = ("nan",)
_JSON_KEYS: Final = (str, int, bool)


class Result:
    """Base class of all results: frozen dataclasses that are compared and hashed by content.

    Arrays are compared element by element, nan equals nan, and arrays stay read-only after pickle and deepcopy.
    Subclasses need ``eq=False``: the equality that a dataclass generates fails on arrays.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return _content(self) == _content(other) if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(_content(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            read_only(value)
            object.__setattr__(self, name, value)

    def _repr_html_(self) -> str | None:
        """Return the plain values as an HTML table; with fewer than two, None makes a notebook show `repr`."""
        values = _plain_values(self)
        return html_table({"": list(values), "value": list(values.values())}) if len(values) > 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, ready for JSON: lists for arrays, None for nan."""
        content: dict[str, Any] = json_ready(self)
        return content


class TableResult(Result, ABC):
    """A result with a table that converts to JSON, pandas, Markdown, LaTeX, and HTML for notebooks.

    A subclass defines the table in `_columns`. It may override `_title`, the heading in a notebook, and `_caption`,
    the caption in LaTeX.
    """

    __slots__ = ()
    _caption: ClassVar[str] = ""

    @abstractmethod
    def _columns(self) -> Mapping[Any, Sequence[Any]]:
        """Return the columns of the table by name, all of the same length."""

    def _title(self) -> str:
        """Return the heading of the table in a notebook."""
        return repr(self)

    def table(self) -> list[dict[str, Any]]:
        """Return the rows of the table, each as a dict by column name."""
        return table_rows(self._columns())

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame.

        Raises
        ------
        MissingPandasError
            pandas is not installed.
        """
        return _pandas().DataFrame(dict(self._columns()))

    def to_markdown(self) -> str:
        """Return the table in Markdown; numbers are right-aligned and have four significant digits."""
        return markdown_table(*self._texts())

    def to_latex(self) -> str:
        """Return the table in LaTeX, with a caption and the rules of booktabs.

        Numbers are right-aligned and have four significant digits. The best values of systems or runs are bold, and a
        dagger marks significant differences.
        """
        return latex_table(*self._texts(), self._notes())

    def _notes(self) -> TableNotes:
        """Return the caption and the emphasized cells of the table in LaTeX."""
        return TableNotes(self._caption or str(getattr(self, "coefficient", "")))

    def _texts(self) -> tuple[list[list[str]], list[bool]]:
        columns = self._columns()
        rows = [[cell_text(value) for value in row] for row in (columns, *zip(*columns.values(), strict=True))]
        return rows, [is_numeric(column) for column in columns.values()]

    def _shown_columns(self) -> Mapping[Any, Sequence[Any]]:
        """Return the columns that a notebook shows: all, unless a subclass overrides this."""
        return self._columns()

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._title())}</p>{html_table(self._shown_columns())}"


class ResultRows(tuple[Kind, ...]):
    """A tuple of results of one kind that notebooks show as a table of their plain values."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        rows = [_plain_values(row) for row in self]
        names = dict.fromkeys(name for row in rows for name in row)
        return html_table({name: [row.get(name) for row in rows] for name in names}) if names else None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Computed(Result):
    """The options that all results of a coefficient have in common."""

    n_items: int
    coefficient: str
    scheme: str | None = None
    n0: float | None = None
    weigher: str | None = None
    tied_weights: str | None = None
    variant: str | None = None
    missing: str | None = None

    def __repr__(self) -> str:
        """Show the statistic first, and omit options that do not apply."""
        values = {"statistic": None} | {field.name: getattr(self, field.name) for field in fields(self) if field.repr}
        return described_by(self, values)


class _CorrelationOptions(NamedTuple):
    n_items: int
    coefficient: str
    scheme: str | None
    n0: float | None
    weigher: str | None
    tied_weights: str | None
    variant: str | None
    missing: str | None
    n_missing: int | None


class RankCorrelation(float):
    """A rank correlation: a number that remembers the options it was computed with.

    In arithmetic, comparisons and formatting it is a float. Its value is the coefficient: between -1 and 1, or nan if
    undefined.

    Attributes
    ----------
    statistic : float
        The plain number.
    n_items : int
        Number of items compared, after alignment.
    coefficient : str
        "rho_w", "tau_w", "rho", "tau", or the name of another measure.
    scheme, tied_weights, variant : str or None
        Options of the coefficient; None where an option does not apply.
    n0 : float or None
        Offset of the weight 1/(n + n0)^2; None for other weighers.
    weigher : str or None
        Name of the weigher, with its parameters.
    missing : str or None
        "intersection", "bottom" or "gold"; None if both rankings had to hold the same items.
    n_missing : int or None
        Number of items in only one ranking. "intersection" leaves them out, and "bottom" places them last. "gold"
        leaves out those that only y has, and places last those that only x has. None if `missing` is None.

    See Also
    --------
    weighted_tau, weighted_rho, correlate : Return it.
    RankCorrelations : The results of many rankings.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> tau = weighted_tau([4, 3, 2, 1], [4, 3, 1, 2])
    >>> f"{tau:.2f}", tau > 0.5, tau.n_items, tau.n0
    ('0.88', True, 4, 2.0)
    """

    __slots__ = ("_options",)  # one tuple: filling nine slots takes a tenth of a call with short lists
    _options: _CorrelationOptions

    def __new__(
        cls,
        statistic: float,
        *,
        n_items: int | None = None,
        coefficient: str | None = None,
        scheme: str | None = None,
        n0: float | None = None,
        weigher: str | None = None,
        tied_weights: str | None = None,
        variant: str | None = None,
        missing: str | None = None,
        n_missing: int | None = None,
    ) -> RankCorrelation:
        """Make a result, or a plain float if `n_items` or `coefficient` is missing.

        `statistics.mean` and similar code creates numbers of the type of its input, and passes only a value.
        """
        if n_items is None or coefficient is None:
            return float(statistic)  # type: ignore[return-value]
        result = float.__new__(cls, statistic)
        options = n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing, n_missing
        object.__setattr__(result, "_options", tuple.__new__(_CorrelationOptions, options))  # twice as fast as by name
        return result

    @property
    def statistic(self) -> float:
        """The coefficient as a plain float."""
        return float(self)

    @property
    def n_items(self) -> int:
        """Number of items compared, after alignment."""
        return self._options.n_items

    @property
    def coefficient(self) -> str:
        """Name of the coefficient or measure."""
        return self._options.coefficient

    @property
    def scheme(self) -> str | None:
        """Scheme of the item weights."""
        return self._options.scheme

    @property
    def n0(self) -> float | None:
        """Offset of the weight 1/(n + n0)^2."""
        return self._options.n0

    @property
    def weigher(self) -> str | None:
        """Name of the weigher."""
        return self._options.weigher

    @property
    def tied_weights(self) -> str | None:
        """Weights of tied items."""
        return self._options.tied_weights

    @property
    def variant(self) -> str | None:
        """Variant of tau."""
        return self._options.variant

    @property
    def missing(self) -> str | None:
        """Treatment of items that only one ranking has."""
        return self._options.missing

    @property
    def n_missing(self) -> int | None:
        """Number of items that only one ranking has."""
        return self._options.n_missing

    def to_dict(self) -> dict[str, Any]:
        """Return the coefficient and the options used, ready for JSON: None for nan."""
        value = float(self)
        return {"statistic": None if math.isnan(value) else value, **self._options._asdict()}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a RankCorrelation is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a RankCorrelation is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._options._asdict()), (float(self),)

    def __repr__(self) -> str:
        return described_by(self, {"statistic": float(self), **self._options._asdict()})

    def __str__(self) -> str:
        return repr(float(self))


def described_by(result: object, values: Mapping[str, Any]) -> str:
    """Return the repr of a result: its class, and the values that are not None."""
    options = ", ".join(f"{name}={value!r}" for name, value in values.items() if value is not None)
    return f"{type(result).__name__}({options})"


def json_ready(value: Any) -> Any:
    """Convert a value for JSON: None for nan and infinities, lists for arrays, dicts for dataclasses.

    Values of other types, such as dates, become text.

    Examples
    --------
    >>> json_ready({"low": float("nan"), "values": np.array([1.0, 0.5])})
    {'low': None, 'values': [1.0, 0.5]}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key if isinstance(key, _JSON_KEYS) else str(key): json_ready(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | range):
        return [json_ready(entry) for entry in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_ready(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, float):  # a RankCorrelation becomes a plain number
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, _JSON_KEYS) else str(value)


def table_rows(columns: Mapping[Any, Sequence[Any]]) -> list[dict[Any, Any]]:
    """Turn columns of the same length into rows.

    Examples
    --------
    >>> table_rows({"item": ["ant", "bee"], "rank": [2, 1]})
    [{'item': 'ant', 'rank': 2}, {'item': 'bee', 'rank': 1}]
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def columns_of(kind: type, rows: Sequence[Any], *, omit: Collection[str] = ()) -> dict[str, list[Any]]:
    """Turn dataclasses of one kind into columns, one for each field that is not omitted.

    Examples
    --------
    >>> columns_of(Computed, [Computed(n_items=3, coefficient="tau", variant="b")], omit=["scheme", "n0", "weigher"])
    {'n_items': [3], 'coefficient': ['tau'], 'tied_weights': [None], 'variant': ['b'], 'missing': [None]}
    """
    return {field.name: [getattr(row, field.name) for row in rows] for field in fields(kind) if field.name not in omit}


def _plain_values(result: Any) -> dict[str, Any]:
    """Return the fields of a result that hold a text, a number, or a label of several texts."""
    values = {field.name: getattr(result, field.name) for field in fields(result)} if is_dataclass(result) else {}
    plain = str | bool | int | float | np.number
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, plain) or (isinstance(value, tuple) and value and all(isinstance(v, str) for v in value))
    }


def square_frame(values: np.ndarray, names: Sequence[Any] | None) -> Any:
    """Return a square matrix as a pandas DataFrame, with the same names for rows and columns."""
    labels = None if names is None else list(names)
    return _pandas().DataFrame(np.array(values), index=labels, columns=labels)


def _pandas() -> Any:
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingPandasError("to_frame needs pandas, which is not installed: pip install pandas") from error
    return pandas


def read_only(value: Kind) -> Kind:
    """Make an array, or all arrays in a mapping or sequence, read-only, and return the value.

    Results call this again after pickle and deepcopy, which return writeable arrays.
    """
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        for entry in value.values():
            read_only(entry)
    elif isinstance(value, tuple | list):
        for entry in value:
            read_only(entry)
    return value


def _content(value: Any) -> Any:
    """Return the content of a value in a form that supports `==` and `hash`."""
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


def mean_of(values: NDArray[np.float64]) -> float:
    """Return the mean of the values that are not nan; nan if all are.

    Examples
    --------
    >>> mean_of(np.array([0.5, float("nan"), 1.0]))
    0.75
    """
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")
