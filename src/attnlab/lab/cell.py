"""A cell: one pure function applied to a frozen configuration, and the key that names the result.

A `CellKind` is the function with its configuration and row types. A `Cell` is a kind with one
configuration; a `Sweep` is a kind with many, computed and stored together because each of them
costs little. The key is a hash of kind, version and configuration, so the same question asked by
two figures is computed and stored once. Storing and running live elsewhere.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from attnlab.errors import UserError
from attnlab.lab.needs import Device, Needs
from attnlab.lab.tolerance import ROUNDING, Tolerance

if typing.TYPE_CHECKING:
    import numpy as np

Config = TypeVar("Config")
Row = TypeVar("Row")

SCALARS = (bool, int, float, str)


@dataclass(frozen=True)
class Outcome(Generic[Row]):
    """What a cell returns when it has more to keep than one row: several rows, or weights."""

    rows: Sequence[Row]
    weights: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class CellKind(Generic[Config, Row]):
    """A pure function of a configuration, with the types of what goes in and what comes out.

    `name` is also the name of the table that `attnlab query` sees. Raise `version` whenever the
    function would answer the same configuration differently: old parts are then left alone.

    `device` says where its cells belong in a run that has GPUs: "gpu" for trainings and simulations
    that are fast there, "any" where it does not matter. `needs` estimates the memory of a cell.

    `tolerance` says how closely another device agrees, and `shortened`, of a kind that trains,
    gives the same question with few steps: `attnlab verify` recomputes that one instead.
    `compiled_here` says that the machine's own compiler has a part in the last digits: equal bits
    are then promised for one machine and not for one kind of device, and `attnlab verify` compares
    within the tolerance.
    """

    name: str
    config: type[Config]
    row: type[Row]
    run: Callable[[Config], Row | Outcome[Row]]
    version: int = 1
    device: Device = "cpu"
    needs: Callable[[Config], Needs] | None = None
    tolerance: Tolerance = ROUNDING
    shortened: Callable[[Config], Config] | None = None
    compiled_here: bool = False

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise UserError(f"A cell kind's name must be an identifier, got {self.name!r}.")
        shared = set(column_types(self.config)) & set(column_types(self.row))
        if shared:
            raise UserError(
                f"Cell kind {self.name!r} uses {sorted(shared)} both as configuration and as "
                "result; column names must differ."
            )

    def __call__(self, config: Config, cost: float = 1.0) -> Cell[Config, Row]:
        return Cell(self, config, cost)

    def sweep(self, configs: Iterable[Config], cost: float = 1.0) -> Sweep[Config, Row]:
        """Many configurations as one cell, each of them once; `cost` is that of one."""
        distinct = {cell.key: cell for cell in map(self, configs)}
        return Sweep(self, tuple(distinct.values()), cost * len(distinct))


@dataclass(frozen=True)
class Cell(Generic[Config, Row]):
    """One question to the lab. `cost` is about the seconds that it takes on one core: it weighs the
    estimate of the time left, and long cells begin first.
    """

    kind: CellKind[Config, Row]
    config: Config
    cost: float = field(default=1.0, compare=False)

    @functools.cached_property
    def values(self) -> Mapping[str, Any]:
        """The configuration as plain scalars."""
        return config_values(self.config)

    @functools.cached_property
    def document(self) -> str:
        """The canonical text of the question: what is hashed and what the part carries."""
        return _canonical(self.kind, "config", self.values)

    @functools.cached_property
    def key(self) -> str:
        """The name of the question, 32 hexadecimal digits."""
        return digest_of_document(self.document)

    @property
    def points(self) -> tuple[Cell[Config, Row], ...]:
        """The questions that this cell answers: itself."""
        return (self,)

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        values = ", ".join(f"{k}={v}" for k, v in self.values.items())
        return f"{self.kind.name}({values})"


@dataclass(frozen=True)
class Sweep(Generic[Config, Row]):
    """Many questions of one kind, computed and stored as one cell.

    Figures and claims ask for its points, which are ordinary cells: they need not know that the
    answers came from a sweep. A kind whose cells have weights cannot be swept.
    """

    kind: CellKind[Config, Row]
    points: tuple[Cell[Config, Row], ...]  # each of them once; `CellKind.sweep` sees to that
    cost: float = field(default=1.0, compare=False)

    @functools.cached_property
    def document(self) -> str:
        """The canonical text of all its questions."""
        return _canonical(self.kind, "sweep", [point.values for point in self.points])

    @functools.cached_property
    def key(self) -> str:
        """The name of the sweep, 32 hexadecimal digits."""
        return digest_of_document(self.document)

    @property
    def configs(self) -> tuple[Config, ...]:
        """The configurations of its points."""
        return tuple(point.config for point in self.points)

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return f"{self.kind.name}({len(self.points)} configurations)"


AnyCell = Cell | Sweep


def _canonical(kind: CellKind, name: str, values: Any) -> str:
    question = {"kind": kind.name, "version": kind.version, name: values}
    return json.dumps(question, sort_keys=True, allow_nan=False, separators=(",", ":"))


def digest_of_document(document: str) -> str:
    """The key of a question: 32 hexadecimal digits of a hash of its canonical text."""
    return hashlib.sha256(document.encode()).hexdigest()[:32]


def seed_of(config: Any, without: Sequence[str] = ()) -> int:
    """The seed of a configuration's random draws: 56 bits of a hash of its canonical document.

    Two configurations that are the same question have the same draws, and no other two share
    them. Fields named in `without` do not count: what differs in nothing else is compared on the
    same draws.
    """
    values = config_values(config)
    for name in without:
        del values[name]
    text = json.dumps([type(config).__name__, values], sort_keys=True, allow_nan=False)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])


@functools.cache
def column_types(record: type) -> dict[str, tuple[type, bool]]:
    """Column name -> (scalar type, may be None) of a dataclass whose fields are all scalars."""
    if not dataclasses.is_dataclass(record):
        raise UserError(f"{record!r} must be a dataclass with scalar fields.")
    hints = typing.get_type_hints(record)
    columns = {}
    for item in dataclasses.fields(record):
        hint = hints[item.name]
        if typing.get_origin(hint) is typing.Annotated:
            hint = typing.get_args(hint)[0]
        members = list(typing.get_args(hint)) if _is_union(hint) else [hint]
        optional = type(None) in members
        members = [_scalar_of(member) for member in members if member is not type(None)]
        if len(set(members)) != 1 or members[0] not in SCALARS:
            raise UserError(
                f"Field {item.name!r} of {record.__name__} must be bool, int, float, str or one of "
                f"these or None, got {hint}."
            )
        columns[item.name] = (members[0], optional)
    return columns


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _scalar_of(hint: Any) -> type:
    if typing.get_origin(hint) is typing.Literal:
        return type(typing.get_args(hint)[0])
    return hint


def config_values(record: Any) -> dict[str, Any]:
    """The fields of a configuration or row as plain Python scalars of their declared types.

    `a1=1` and `a1=1.0` are the same question, and so are `np.float64(1)` and `1.0`.
    """
    return {
        name: _plain(record, name, scalar, optional)
        for name, (scalar, optional) in column_types(type(record)).items()
    }


def _plain(record: Any, name: str, scalar: type, optional: bool) -> Any:
    value: Any = getattr(record, name)
    if optional and value is None:
        return None
    plain = value.item() if hasattr(value, "item") else value  # a NumPy or JAX scalar
    if type(plain) is not scalar:
        if not (scalar is float and type(plain) is int):
            raise UserError(f"{name} must be {scalar.__name__}, got {value!r}.")
        plain = float(plain)
    if scalar is float and not math.isfinite(plain):
        raise UserError(f"{name} must be a finite number, got {value}.")
    return plain
