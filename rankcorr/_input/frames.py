"""Data frames and series of pandas, polars and pyarrow become numbers with labels; their columns are rankings.

narwhals, which reads all kinds of frames, is imported only when a value is of a type that belongs neither to Python
nor to numpy: the import takes 30 ms, a quarter of what `import rankcorr` takes.
"""

import re
import sys
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, Final, NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import ArrayLike

from rankcorr._checks import offending, repeated
from rankcorr._input.identifiers import plain_identifier
from rankcorr.errors import ColumnError, DimensionError, DuplicateLabelError, MissingArrowError, NonNumericError

# Types that are never frames: most calls pass one of these.
PLAIN: Final = (np.ndarray, list, tuple, dict, range, set, frozenset, str, bytes, int, float)
_RANKS: Final = frozenset({"rank", "ranks", "ranking", "position", "positions", "place", "places"}) | {
    *("rang", "ränge", "rangs", "platz", "platzierung", "classement", "puesto", "posición", "posicion"),
    *("clasificación", "clasificacion", "posizione", "classifica", "posição", "posicao"),
}
_KINDS_OF_RANKS: Final = frozenset({"low", "high", "lower", "upper", "min", "max", "best", "worst", "mid"}) | {
    *("mean", "avg", "average", "median", "expected", "final", "true", "gold", "human", "overall", "anytime")
}


class Series(NamedTuple):
    """Values of a series, with nulls masked, and its labels: those of a pandas index, or None."""

    labels: list[Hashable] | None
    values: ArrayLike


def arrow() -> Any:
    """Import pyarrow with its functions, or say what to install."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError as error:
        raise MissingArrowError(
            "Parquet and Arrow files and partitions need pyarrow, which is not installed: pip install pyarrow"
        ) from error
    return pyarrow


def series_of(value: object, noun: str) -> Series | None:
    """Read a series of numbers; None for anything but a series or a frame. `noun` names the numbers in messages.

    Raises
    ------
    DimensionError
        A data frame, which holds a ranking in each column.
    NonNumericError
        A column of text, categories, dates or lists.
    ColumnError
        Scores in a series that is named as one of ranks.
    """
    series = _read(value)
    if series is None:
        return None
    import narwhals.stable.v2 as nw

    if not isinstance(series, nw.Series):
        raise DimensionError(
            f"{noun}s must have one dimension; got a data frame: pass one of its columns (correlate_many takes a frame)"
        )
    if noun.endswith("score") and is_rank_column(series.name):
        raise ColumnError(
            f"the series {series.name!r} is named as ranks, but {noun}s (larger is better) are needed: use "
            "Ranking.from_ranks for ranks, or rename the series"
        )
    index = nw.maybe_get_index(series)
    labels = None if index is None else list(index)
    native_type = getattr(series.to_native(), "dtype", None)
    if (
        isinstance(native_type, np.dtype) and native_type.kind in "biuf"
    ):  # numbers that pandas keeps in numpy, nan for nulls
        return Series(labels, series.to_numpy())
    kind = series.dtype
    if isinstance(kind, nw.Categorical | nw.Enum):
        raise categories_are_no_numbers(noun)
    if not (kind.is_numeric() or isinstance(kind, nw.Boolean | nw.Object | nw.Unknown)):
        raise NonNumericError(f"every {noun} must be a real number; got a column of type {kind}")
    return Series(labels, _values(series))


def labelled_values(value: object) -> dict[Hashable, Any] | None:
    """Values of a series by its labels, those of a pandas index; None for anything else.

    Raises
    ------
    DuplicateLabelError
        Two values have one label.
    """
    series = _read(value)
    import narwhals.stable.v2 as nw

    index = nw.maybe_get_index(series) if isinstance(series, nw.Series) else None
    if index is None:
        return None
    labels = list(index)
    if again := repeated(labels):
        raise DuplicateLabelError(offending("labels must be unique; more than once", again))
    return dict(zip(labels, series.to_list(), strict=True))


def has_names(labels: Collection[Hashable], names: Collection[Hashable]) -> bool:
    """Whether labels of a series or a frame name its values, which have `names` elsewhere.

    The labels 0 to n - 1, which pandas sets by default, are positions unless they are the names.

    Examples
    --------
    >>> has_names(["a", "b"], ["b", "a"]), has_names(range(2), ["b", "a"]), has_names(range(2), [1, 0])
    (True, False, True)
    """
    return list(labels) != list(range(len(labels))) or set(labels) == set(names)


def categories_are_no_numbers(noun: str) -> NonNumericError:
    """Return the error for a column of categories, which a cast may replace with its codes."""
    return NonNumericError(
        f"every {noun} must be a real number; got a column of categories: convert their text to numbers, in polars by "
        ".cast(pl.String).cast(pl.Float64), in pandas by .astype(float)"
    )


def decoded(column: Any) -> Any:
    """Decode numbers that Arrow holds by a dictionary, in pyarrow or in pandas; return any other column as it is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> decoded(pa.array([0.5, 2.0, 0.5]).dictionary_encode()).type
    DataType(double)
    """
    pyarrow = sys.modules.get("pyarrow")
    of_pandas = getattr(getattr(column, "dtype", None), "pyarrow_dtype", None)
    kind = of_pandas or getattr(column, "type", None)
    if pyarrow is None or not isinstance(kind, pyarrow.DictionaryType):
        return column
    from pyarrow import types

    inner = kind.value_type
    if not any(is_number(inner) for is_number in (types.is_integer, types.is_floating, types.is_decimal)):
        return column
    return column.cast(inner) if of_pandas is None else column.astype(type(column.dtype)(inner))


def columns_of(value: object) -> dict[Any, Any] | None:
    """Columns of a data frame by name, in their order; None for anything else.

    Raises
    ------
    DuplicateLabelError
        Two columns have one name.
    DimensionError
        A lazy frame or series, which holds no data yet.
    """
    frame = _read(value)
    import narwhals.stable.v2 as nw

    if not isinstance(frame, nw.DataFrame):
        return None
    return {column: frame.get_column(column).to_native() for column in frame.columns}


def with_levels(value: Any) -> Any:
    """Return a frame or series of pandas with the named levels of its index as columns; anything else unchanged.

    A series without a name, such as the counts of groupby and size, would lose its values among named columns.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, pandas.DataFrame | pandas.Series) or getattr(value, "name", "") is None:
        return value
    columns = (value.name,) if isinstance(value, pandas.Series) else value.columns
    levels = [name for name in value.index.names if name is not None and name not in columns]
    return value.reset_index(level=levels) if levels else value


def is_rank_column(name: object) -> bool:
    """Whether the name of a column says that it holds ranks, of which the smallest is the best.

    Examples
    --------
    >>> [is_rank_column(name) for name in ("rank", "rank_low", "Mean rank", "Rang", "page_rank", "rank score", 3)]
    [True, True, True, True, False, False, False]
    """
    words = set(re.findall(r"[^\W\d_]+", normalize("NFC", name).lower())) if isinstance(name, str) else set()
    return bool(words & _RANKS) and words <= _RANKS | _KINDS_OF_RANKS


class FrameColumns(dict[Any, Any]):
    """Columns of a data frame by name."""


def by_name(value: Any) -> Mapping[Any, Any] | None:
    """Values by name: the columns of a data frame, or a mapping unchanged; None for anything else."""
    if isinstance(value, PLAIN) and not isinstance(value, dict):
        return None
    columns = None if isinstance(value, Mapping) else columns_of(value)
    if columns is not None:
        return FrameColumns(columns)
    return value if hasattr(value, "keys") else None


def python_values(values: Iterable[Any]) -> Iterable[Any]:
    """Convert a column of numpy, pyarrow, pandas, polars, torch or jax to Python values, which labels are.

    Anything else is unchanged.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":  # whose nanoseconds would become integers
        return list(map(plain_identifier, values))
    convert = next((name for name in ("to_pylist", "tolist", "to_list") if hasattr(values, name)), None)
    converted: Iterable[Any] = getattr(values, convert)() if convert and getattr(values, "ndim", 1) == 1 else values
    return converted


def _read(value: object) -> Any:
    """Wrap a frame or a series by narwhals; None for anything else."""
    if isinstance(value, PLAIN):
        return None
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    pyarrow, datasets = sys.modules.get("pyarrow"), sys.modules.get("datasets")
    if isinstance(value, getattr(datasets, "Dataset", ())):  # of Hugging Face
        value = value.with_format("arrow")[:]  # type: ignore[attr-defined]
    value = decoded(value)
    if pyarrow is not None and isinstance(value, pyarrow.Array):
        value = pyarrow.chunked_array([value])
    if pyarrow is not None and isinstance(value, pyarrow.RecordBatch):
        value = pyarrow.Table.from_batches([value])
    try:
        wrapped = nw.from_native(value, allow_series=True, pass_through=True)
    except DuplicateError as error:
        names = repeated(getattr(value, "column_names", None) or value.columns)  # type: ignore[attr-defined]
        raise DuplicateLabelError(offending("names of columns must be unique; more than once", names)) from error
    dask_frames = sys.modules.get("dask.dataframe")  # narwhals passes its series, which numpy would read without labels
    if isinstance(wrapped, nw.LazyFrame) or (dask_frames is not None and isinstance(wrapped, dask_frames.Series)):
        raise DimensionError(
            "a lazy frame or series holds no data yet: load it first, in polars by .collect(), in Dask by .compute(), "
            "in DuckDB by .df(), in Spark by .toPandas()"
        )
    return wrapped if isinstance(wrapped, nw.DataFrame | nw.Series) else None


def _values(series: Any) -> ArrayLike:
    """Numbers of a narwhals series, without converting integers to floats; nulls are masked."""
    import narwhals.stable.v2 as nw

    null = series.is_null().to_numpy()
    if not null.any():
        wide = isinstance(series.dtype, nw.Int128 | nw.UInt128)  # numpy has no 128-bit integers
        numbers: ArrayLike = series.to_list() if wide else series.to_numpy()
        return numbers
    values = np.empty(len(null), dtype=object)
    values[:] = series.to_list()
    return np.ma.MaskedArray(values, mask=null)
