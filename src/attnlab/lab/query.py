"""SQL over the store: DuckDB reads the parts, one table per kind of cell; nothing stays open."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import duckdb

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 60  # rows in a notebook


@dataclass(frozen=True)
class Answer:
    """Columns and rows; a notebook shows the first `SHOWN` of them."""

    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]

    def to_arrow(self) -> pa.Table:
        """The rows as a table of Arrow, with the types of the values."""
        import pyarrow as pa

        found = {}
        for place, name in enumerate(self.columns):
            try:
                found[name] = pa.array([row[place] for row in self.rows])
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as reason:
                raise UserError(
                    f"Column {name!r} has no type of Arrow that holds all its values; CAST it in "
                    "the SQL."
                ) from reason
        return pa.table(found)

    def to_pandas(self) -> Any:
        """The rows as a DataFrame of pandas, which has to be installed."""
        if importlib.util.find_spec("pandas") is None:
            raise UserError(
                "to_pandas() needs pandas, which is not installed; install it, or take to_arrow(), "
                "which needs nothing more."
            )
        return self.to_arrow().to_pandas()

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(item))}</td>" for item in row) + "</tr>"
            for row in self.rows[:SHOWN]
        )
        more = len(self.rows) - SHOWN
        note = f"<p><small>and {more} more rows</small></p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def query(store: Store, sql: str) -> Answer:
    """Ask one question of all whole parts; nothing else can be read, and nothing written."""
    with _connect(store) as connection:
        try:
            _refuse_all_but_one_question(connection.extract_statements(sql))
            result = connection.execute(sql)
            columns = _distinct([column[0] for column in result.description or ()])
            return Answer(columns, result.fetchall())
        except duckdb.Error as reason:
            message = " ".join(str(reason).split("\n\n")[0].split())
            known = [kind for kind in store.kinds() if store.parts(kind)]
            tables = ", ".join(known) or "none yet"
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


def _refuse_all_but_one_question(statements: Sequence[duckdb.Statement]) -> None:
    """DuckDB would also write below the directory it may read: COPY, EXPORT, EXPLAIN ANALYZE COPY.

    A SELECT cannot; DESCRIBE, SUMMARIZE and SHOW count as one.
    """
    kinds = [statement.type for statement in statements]
    if kinds != [duckdb.StatementType.SELECT]:
        given = ", ".join(kind.name for kind in kinds) or "nothing"
        raise UserError(f"The SQL was refused: give one SELECT statement, got {given}.")


def _distinct(names: Sequence[str]) -> list[str]:
    """Two columns x become x and x_2, so that none is lost where columns go by name."""
    found: list[str] = []
    for name in names:
        fresh = (name, *(f"{name}_{i}" for i in range(2, len(names) + 2)))
        found.append(next(each for each in fresh if each not in found))
    return found


def _connect(store: Store) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    )
    for kind in store.kinds():
        files = [str(path) for path in store.parts(kind)]
        if files:
            quoted = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            parts = f"read_parquet([{quoted}], union_by_name=true)"
            try:
                connection.execute(f'CREATE VIEW "{kind}" AS SELECT * FROM {parts}')
            except duckdb.Error as reason:
                message = " ".join(str(reason).split("\n\n")[0].split())
                raise AttnlabError(f"The parts of {kind} cannot be read: {message}.") from reason
    folder = str(store.root / "parts").replace("'", "''")
    connection.execute(f"SET allowed_directories = ['{folder}']")
    connection.execute("SET enable_external_access = false")
    return connection
