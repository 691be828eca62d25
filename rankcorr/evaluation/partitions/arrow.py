"""pyarrow, which is imported only by the calls that need it."""

from __future__ import annotations

from typing import Any, Final

from rankcorr.checks import offending
from rankcorr.evaluation.errors import ColumnError, MissingArrowError
from rankcorr.frames import columns_of, decoded

NOT_OF_ARROW: Final = ("Object", "Int128", "UInt128")


def arrow() -> Any:
    """Import pyarrow with its functions, or say what to install."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError as error:
        raise MissingArrowError(
            "evaluation of partitions needs pyarrow, which is not installed: pip install 'rankcorr[arrow]'"
        ) from error
    return pyarrow


def as_table(rows: Any, names: tuple[str, ...]) -> Any:
    """Columns of a record batch, a table or a data frame as a pyarrow Table; nan of pandas becomes null.

    Raises
    ------
    ColumnError
        It is no frame, a column is missing, or pyarrow cannot hold a column, such as ids of two types.

    Examples
    --------
    >>> import pandas as pd
    >>> as_table(pd.DataFrame({"query": ["q"], "note": [object()]}), ("query",)).column_names
    ['query']
    """
    pa = arrow()
    if isinstance(rows, pa.Table | pa.RecordBatch):
        if lacking := [name for name in names if name not in rows.schema.names]:
            raise _missing(lacking, rows.schema.names)
        if again := [name for name in names if rows.schema.names.count(name) > 1]:
            raise ColumnError(offending("a column comes more than once", again))
        return pa.table({name: decoded(rows.column(name)) for name in names})
    columns = columns_of(rows)
    if columns is None:
        raise ColumnError(f"a record batch, a table or a data frame is wanted; got {type(rows).__name__}")
    if lacking := [name for name in names if name not in columns]:
        raise _missing(lacking, columns)
    return pa.table({name: _array(columns[name], name) for name in names})


def _array(column: Any, name: str) -> Any:
    pa = arrow()
    try:
        if hasattr(column, "to_arrow"):  # polars, some types of which Arrow lacks
            return pa.array(column.to_list()) if str(column.dtype) in NOT_OF_ARROW else column.to_arrow()
        return pa.Array.from_pandas(decoded(column)) if hasattr(column, "to_numpy") else column
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ColumnError(
            f"column {name!r} holds values of several types, or of one that Arrow lacks: {error}"
        ) from error
    except (OverflowError, UnicodeError) as error:  # a whole number beyond 64 bits, half of a surrogate pair
        raise ColumnError(f"column {name!r} holds a value that Arrow cannot: {error}") from error


def _missing(lacking: list[str], there: Any) -> ColumnError:
    plural = "s" * (len(lacking) > 1)
    names, others = (", ".join(map(repr, each)) for each in (lacking, there))
    return ColumnError(f"the frame has no column{plural} {names}; it has {others or 'none'}")
