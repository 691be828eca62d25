"""Move many rows at once, columns into a table and integer columns out of a query; record what organisers do."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive.ledger._store import schema
from adaptive.ledger._store.encoding import json_of, now

_BLOCK: Final = 50_000  # rows: 10 MB of Python numbers


def insert_columns(connection: sa.Connection, table: sa.Table, columns: Mapping[str, Sequence[Any] | Any]) -> None:
    """Insert rows that are given as columns; a single value applies to each row.

    psycopg takes 10 s for 200,000 rows one by one, and 1 s for arrays that the server unpacks.
    """
    lists = {name: values for name, values in columns.items() if isinstance(values, list)}
    n_rows = len(next(iter(lists.values())))
    if not n_rows:
        return
    if connection.dialect.name == "postgresql":
        kinds = {name: table.c[name].type.compile(connection.dialect) for name in columns}
        arrays = ", ".join(f"CAST(:{name} AS {kinds[name]}[])" for name in lists)
        single = [f"CAST(:{name} AS {kinds[name]})" for name in columns if name not in lists]
        names = ", ".join([*lists, *(name for name in columns if name not in lists)])
        taken = ", ".join([f"rows.{name}" for name in lists] + single)
        statement = (
            f"INSERT INTO {table.name} ({names}) SELECT {taken} FROM unnest({arrays}) AS rows({', '.join(lists)})"
        )
        connection.execute(sa.text(statement), dict(columns))
        return
    # Call the driver directly: a dictionary for each row would cost as much as the insert.
    marks = ", ".join("?" for _ in columns)
    filled = [values if name in lists else [values] * n_rows for name, values in columns.items()]
    connection.exec_driver_sql(
        f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})", list(zip(*filled, strict=True))
    )


def integer_columns(connection: sa.Connection, statement: sa.Select[Any]) -> list[NDArray[np.int64]]:
    """Return the columns of a query whose values are integers without gaps."""
    n_columns = len(statement.selected_columns)
    # Set on the statement: as an option of the connection it would apply to all later statements.
    streamed = statement.execution_options(stream_results=connection.dialect.name == "postgresql")
    blocks = [
        np.fromiter(chain.from_iterable(rows), np.int64, n_columns * len(rows)).reshape(-1, n_columns)
        for rows in connection.execute(streamed).partitions(_BLOCK)
    ]
    table = np.concatenate(blocks) if blocks else np.empty((0, n_columns), np.int64)
    return [np.ascontiguousarray(column) for column in table.T]


def audit(
    connection: sa.Connection,
    campaign_id: int,
    kind: str,
    details: Mapping[str, Any],
    *,
    ballot_id: int | None = None,
    voter_id: int | None = None,
) -> None:
    """Record an organiser's action."""
    row = {"campaign_id": campaign_id, "at": now(), "kind": kind, "details": json_of(dict(details))}
    connection.execute(sa.insert(schema.audit_event).values({**row, "ballot_id": ballot_id, "voter_id": voter_id}))
