"""SQL over the store: DuckDB reads the parts, one table a kind of cell, and keeps nothing open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from attnlab.errors import UserError
from attnlab.lab.store import Store


@dataclass(frozen=True)
class Answer:
    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]


def query(store: Store, sql: str) -> Answer:
    """Run one statement over all whole parts; nothing outside the store can be read."""
    with _connect(store) as connection:
        try:
            result = connection.execute(sql)
            columns = [column[0] for column in result.description or ()]
            return Answer(columns, result.fetchall() if columns else [])
        except duckdb.Error as reason:
            message = " ".join(str(reason).split("\n\n")[0].split())
            tables = ", ".join(store.kinds()) or "none yet"
            raise UserError(f"The SQL was refused: {message} (tables: {tables}).") from reason


def tables(store: Store) -> Answer:
    """What there is to ask about: each table, its rows and its columns."""
    with _connect(store) as connection:
        found = []
        for kind in [row[0] for row in connection.execute("SHOW TABLES").fetchall()]:
            described = connection.execute(f'DESCRIBE "{kind}"').fetchall()
            count = connection.execute(f'SELECT count(*) FROM "{kind}"').fetchall()[0][0]
            found.append((kind, count, ", ".join(f"{row[0]} {row[1]}" for row in described)))
        return Answer(["table", "rows", "columns"], found)


def _connect(store: Store) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    )
    for kind in store.kinds():
        files = [str(path) for path in store.parts(kind)]
        if files:
            quoted = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            parts = f"read_parquet([{quoted}], union_by_name=true)"
            connection.execute(f'CREATE VIEW "{kind}" AS SELECT * FROM {parts}')
    folder = str(store.root / "parts").replace("'", "''")
    connection.execute(f"SET allowed_directories = ['{folder}']")
    connection.execute("SET enable_external_access = false")
    return connection
