"""A part: the bytes of one finished cell, the same bytes whenever it is computed on one machine.

Parquet, uncompressed, one row group: configuration columns, then result columns. The question is
carried in the file's metadata, so that a part says by itself what it answers; the part of a sweep
also carries how many rows each of its points has. Times, machines and versions are not in it (see
`attnlab.lab.provenance`).
"""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy

from attnlab.errors import UserError
from attnlab.lab.cell import (
    AnyCell,
    CellKind,
    Outcome,
    Sweep,
    column_types,
    config_values,
    digest_of_document,
)
from attnlab.lab.threads import one_thread

METADATA = b"attnlab"
COUNTS = b"attnlab-rows"  # of each point of a sweep
VERSION = "cell_version"  # the last column, so that SQL can tell old answers from new ones
ARROW = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


@dataclass(frozen=True)
class Finished:
    """What a worker hands back: bytes ready to store, or the error that stopped the cell.

    `mistake` says that the configuration was refused: the error is then the whole sentence.
    `stopped` says that the time was up: the error says at which step, and the next run goes on.
    `device` is what JAX computed on, "cpu" or the name of a card.
    """

    key: str
    part: bytes = b""
    weights: bytes = b""
    seconds: float = 0.0
    error: str = ""
    mistake: bool = False
    stopped: bool = False
    device: str = ""


class Damaged(Exception):
    """The bytes are not the part they are said to be."""


def digest(data: bytes) -> str:
    """The digest of a file's bytes that is part of its name."""
    return hashlib.sha256(data).hexdigest()[:16]


@functools.cache
def schema_of(kind: CellKind) -> pa.Schema:
    """The columns of a kind's table: configuration, results, version."""
    columns = {**column_types(kind.config), **column_types(kind.row), VERSION: (int, False)}
    return pa.schema(
        [pa.field(name, ARROW[t], optional) for name, (t, optional) in columns.items()]
    )


def compute(cell: AnyCell) -> Finished:
    """Run one cell with one BLAS thread and encode its result."""
    started = time.perf_counter()
    with one_thread():
        results = [cell.kind.run(point.config) for point in cell.points]
    outcomes = [found if isinstance(found, Outcome) else Outcome([found]) for found in results]
    weights = _encode_weights(cell, outcomes)
    return Finished(cell.key, encode(cell, outcomes), weights, time.perf_counter() - started)


def _encode_weights(cell: AnyCell, outcomes: Sequence[Outcome]) -> bytes:
    if not any(outcome.weights for outcome in outcomes):
        return b""
    if isinstance(cell, Sweep):
        raise UserError(
            f"Cells of kind {cell.kind.name!r} have weights and cannot be swept: run one per "
            "configuration."
        )
    arrays = {name: np.ascontiguousarray(a) for name, a in sorted(outcomes[0].weights.items())}
    return safetensors.numpy.save(arrays, metadata={"attnlab": cell.document})


def encode(cell: AnyCell, outcomes: Sequence[Outcome]) -> bytes:
    """The bytes of a part: one outcome per point of the cell."""
    records = []
    for point, outcome in zip(cell.points, outcomes, strict=True):
        given = {**point.values, VERSION: cell.kind.version}
        records.extend({**given, **config_values(row)} for row in outcome.rows)
    schema = schema_of(cell.kind)
    columns = [pa.array([record[item.name] for record in records], item.type) for item in schema]
    metadata = {METADATA: cell.document.encode()}
    if isinstance(cell, Sweep):
        metadata[COUNTS] = json.dumps([len(outcome.rows) for outcome in outcomes]).encode()
    buffer = pa.BufferOutputStream()
    layout = {"compression": "none", "use_dictionary": False, "store_schema": False}
    with pq.ParquetWriter(buffer, schema, **layout) as writer:
        writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        writer.add_key_value_metadata(metadata)
    return buffer.getvalue().to_pybytes()


def decode(cell: AnyCell, data: bytes) -> dict[str, list[Any]]:
    """The rows of a part by the key of the point they belong to.

    `Damaged` is raised if the bytes are no part, or one that answers something else.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        metadata = file.metadata.metadata or {}
        question = metadata[METADATA].decode()
        # Arrow's threads can outlive the interpreter and abort it at exit (apache/arrow#34314).
        table = file.read(use_threads=False)
        whole = [table.num_rows]
        counts = json.loads(metadata[COUNTS]) if isinstance(cell, Sweep) else whole
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as reason:
        raise Damaged(f"not a part of attnlab ({type(reason).__name__})") from reason
    if question != cell.document:
        raise Damaged("it answers another question")
    if table.column_names != schema_of(cell.kind).names:
        raise Damaged("its columns are not those of its kind")
    if len(counts) != len(cell.points) or sum(counts) != table.num_rows:
        raise Damaged("its rows are not those of its points")
    records = iter(table.select(list(column_types(cell.kind.row))).to_pylist())
    return {
        point.key: [cell.kind.row(**next(records)) for _ in range(count)]
        for point, count in zip(cell.points, counts, strict=True)
    }


def question_key(data: bytes) -> str | None:
    """The key of the question that a part carries; None if the bytes are no part."""
    try:
        metadata = pq.ParquetFile(pa.BufferReader(data)).metadata.metadata or {}
        return digest_of_document(metadata[METADATA].decode())
    except (pa.ArrowException, OSError, KeyError, ValueError):
        return None


def decode_weights(data: bytes) -> dict[str, np.ndarray]:
    """The arrays of a weights file."""
    return safetensors.numpy.load(data)
