"""A part: the bytes of one finished cell, the same bytes whenever and wherever it is computed.

Parquet, uncompressed, one row group: configuration columns, then result columns. The question is
carried in the file's metadata, so that a part says by itself what it answers. Times, machines and
versions are not in it (see `attnlab.lab.provenance`).
"""

from __future__ import annotations

import functools
import hashlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy

from attnlab.lab.cell import Cell, CellKind, Outcome, column_types, config_values

METADATA = b"attnlab"
VERSION = "cell_version"  # the last column, so that SQL can tell old answers from new ones
ARROW = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


@dataclass(frozen=True)
class Finished:
    """What a worker hands back: bytes ready to store, or the error that stopped the cell.

    `mistake` says that the configuration was refused: the error is then the whole sentence.
    """

    key: str
    part: bytes = b""
    weights: bytes = b""
    seconds: float = 0.0
    error: str = ""
    mistake: bool = False


class Damaged(Exception):
    """The bytes are not the part they are said to be."""


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@functools.cache
def schema_of(kind: CellKind) -> pa.Schema:
    columns = {**column_types(kind.config), **column_types(kind.row), VERSION: (int, False)}
    return pa.schema(
        [pa.field(name, ARROW[t], optional) for name, (t, optional) in columns.items()]
    )


def compute(cell: Cell) -> Finished:
    """Run one cell on one thread and encode its result."""
    from threadpoolctl import threadpool_limits

    started = time.perf_counter()
    with threadpool_limits(limits=1):
        result = cell.kind.run(cell.config)
    outcome = result if isinstance(result, Outcome) else Outcome([result])
    weights = b""
    if outcome.weights:
        arrays = {name: np.ascontiguousarray(a) for name, a in sorted(outcome.weights.items())}
        weights = safetensors.numpy.save(arrays, metadata={"attnlab": cell.document})
    return Finished(cell.key, encode(cell, outcome), weights, time.perf_counter() - started)


def encode(cell: Cell, outcome: Outcome) -> bytes:
    given = config_values(cell.config)
    given[VERSION] = cell.kind.version
    records = [{**given, **config_values(row)} for row in outcome.rows]
    schema = schema_of(cell.kind)
    columns = [pa.array([record[item.name] for record in records], item.type) for item in schema]
    buffer = pa.BufferOutputStream()
    layout = {"compression": "none", "use_dictionary": False, "store_schema": False}
    with pq.ParquetWriter(buffer, schema, **layout) as writer:
        writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        writer.add_key_value_metadata({METADATA: cell.document.encode()})
    return buffer.getvalue().to_pybytes()


def decode(cell: Cell, data: bytes) -> list[Any]:
    """The rows of a part; `Damaged` if it is none or answers something else."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        question = file.metadata.metadata[METADATA].decode()
        # Arrow's threads can outlive the interpreter and abort it at exit (apache/arrow#34314).
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as reason:
        raise Damaged(f"not a part of attnlab ({type(reason).__name__})") from reason
    if question != cell.document:
        raise Damaged("it answers another question")
    names = list(column_types(cell.kind.row))
    if table.column_names != schema_of(cell.kind).names:
        raise Damaged("its columns are not those of its kind")
    return [cell.kind.row(**record) for record in table.select(names).to_pylist()]


def decode_weights(data: bytes) -> dict[str, np.ndarray]:
    return safetensors.numpy.load(data)
