"""`attnlab query`: the stored results with SQL."""

from __future__ import annotations

import csv
import decimal
import json
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from attnlab.cli.options import Common

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Query(Common):
    """Ask the stored results with SQL: one table per kind of cell. Without SQL, list the tables.

    For example:
      attnlab query
      attnlab query "SELECT m, exact, sampled FROM separation_attention WHERE n = 200 AND d = 22"
      attnlab query "SELECT * FROM separation_attention" --format csv > points.csv
    """

    sql: Annotated[Positional[str | None], arg(metavar="[SQL]")] = None
    """One SQL statement, in DuckDB's dialect."""
    format: Annotated[Literal["table", "json", "csv"], arg(metavar="{table,json,csv}")] = "table"
    """How to print the answer."""

    def run(self, console: Console) -> int:
        """Ask and print."""
        from attnlab.lab import query
        from attnlab.report.terminal import print_rows

        store = self.open(create=False)
        answer = query.tables(store) if self.sql is None else query.query(store, self.sql)
        if self.format == "json":
            rows = [[_json_value(value) for value in row] for row in answer.rows]
            records = [dict(zip(answer.columns, row, strict=True)) for row in rows]
            print(json.dumps(records, indent=2, default=str, ensure_ascii=False))
        elif self.format == "csv":
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(answer.columns)
            writer.writerows(answer.rows)
        else:
            print_rows(answer.columns, answer.rows, console)
        return 0


def _json_value(value: Any) -> Any:
    """JSON has neither Decimal nor NaN nor infinity."""
    number = float(value) if isinstance(value, decimal.Decimal) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number
