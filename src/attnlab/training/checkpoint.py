"""Checkpoints: a training run between two chunks, saved so that it can continue bit for bit.

A `Snapshot` holds the configuration of the run, all of its arrays, and notes in JSON; as bytes it
is one safetensors file that says by itself what it is. Where snapshots are kept is the caller's
choice: `CheckpointFile` keeps one file, and any other object with `due`, `load` and `save` will
do. A snapshot of another configuration is refused in one sentence and left alone.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import PyTree

from attnlab import arguments
from attnlab.errors import AttnlabError, UserError
from attnlab.files import clear_leftovers, trouble, write_whole, writer_name

FORMAT = 1
METADATA = "attnlab-checkpoint"
# safetensors has no names in NumPy for these; their bits are kept.
AS_BITS = {np.dtype(jnp.bfloat16): np.dtype(np.uint16)}


@dataclass(frozen=True, repr=False)
class Snapshot:
    """A run between two chunks.

    Parameters
    ----------
    configuration
        What was to be computed, as JSON: sizes, descriptions of functions, digests of arrays.
    arrays
        Every array of the run, by its path in the tree.
    notes
        JSON that belongs to the run and is no array.
    """

    configuration: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    notes: Any = None

    @classmethod
    def of(cls, tree: PyTree, configuration: Mapping[str, Any], notes: Any = None) -> Snapshot:
        """The snapshot of a tree of arrays."""
        arrays = {name: np.asarray(leaf, order="C") for name, leaf in named_leaves(tree)}
        return cls(json.loads(json.dumps(dict(configuration))), arrays, notes)

    @property
    def fingerprint(self) -> str:
        """A digest of the configuration: snapshots with the same one belong to the same run."""
        text = json.dumps(dict(self.configuration), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def tree(self, like: PyTree, configuration: Mapping[str, Any], name: str = "") -> PyTree:
        """The arrays as a tree like `like`, if the snapshot has this configuration.

        Parameters
        ----------
        like
            A tree whose leaves are arrays, or anything with a shape and a dtype.
        configuration
            That of the run that continues.
        name
            What the snapshot is called in an error.
        """
        _compare(name, self.configuration, json.loads(json.dumps(dict(configuration))))
        arrays, leaves = dict(self.arrays), []
        for path, leaf in named_leaves(like):
            found, wanted = arrays.pop(path, None), f"{np.dtype(leaf.dtype)}{list(leaf.shape)}"
            if found is None:
                raise UserError(
                    f"The checkpoint {name} has no {path}, where this run has {wanted}."
                )
            held = found.view(_viewed(found.dtype, np.dtype(leaf.dtype)))
            if held.shape != tuple(leaf.shape) or held.dtype != np.dtype(leaf.dtype):
                raise UserError(
                    f"The checkpoint {name} has {path} as {found.dtype}{list(found.shape)}, "
                    f"this run as {wanted}."
                )
            leaves.append(held)
        if arrays:
            raise UserError(f"The checkpoint {name} has {min(arrays)}, which this run has not.")
        return jax.tree.unflatten(jax.tree.structure(like), leaves)

    def to_bytes(self) -> bytes:
        """The snapshot as a safetensors file whose metadata is JSON."""
        arrays = {
            name: array.view(AS_BITS.get(array.dtype, array.dtype))
            for name, array in self.arrays.items()
        }
        document = {
            "format": FORMAT,
            "configuration": dict(self.configuration),
            "content": digest(arrays),
            "notes": self.notes,
        }
        metadata = {METADATA: json.dumps(document, sort_keys=True)}
        return safetensors.numpy.save(arrays, metadata=metadata)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "") -> Snapshot:
        """The snapshot of such a file, or a sentence that says why it is none."""
        try:
            size = int.from_bytes(data[:8], "little")
            header = json.loads(data[8 : 8 + size])
            document = json.loads(header["__metadata__"][METADATA])
            if document["format"] != FORMAT:
                raise UserError(
                    f"The checkpoint {name} has format {document['format']}; "
                    f"this version of attnlab reads format {FORMAT}."
                )
            arrays = safetensors.numpy.load(data)
            whole = document["content"] == digest(arrays)
        except UserError:
            raise
        except (safetensors.SafetensorError, KeyError, TypeError, ValueError) as reason:
            raise UserError(
                f"{name} is no whole checkpoint of attnlab; remove it to start from step 0, "
                "or give another file."
            ) from reason
        if not whole:
            raise UserError(
                f"The checkpoint {name} is damaged: its arrays are not those it was written with; "
                "remove it to start from step 0, or give another file."
            )
        return cls(document["configuration"], arrays, document["notes"])

    def __repr__(self) -> str:
        size = sum(array.nbytes for array in self.arrays.values())
        return f"Snapshot({self.fingerprint}, {len(self.arrays)} arrays, {size:,} bytes)"


@runtime_checkable
class Checkpoint(Protocol):
    """Where a run keeps its snapshots; `str` of it is what errors call it."""

    def due(self, chunks: int) -> bool:
        """Whether a snapshot is wanted after so many chunks; the last one is always saved."""
        ...

    def load(self) -> Snapshot | None:
        """The last snapshot, or None where there is none."""
        ...

    def save(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in the place of the one before; whole, or the one before stays."""
        ...


@dataclass
class CheckpointFile:
    """One file that holds the last snapshot whole: written under another name and renamed.

    Parameters
    ----------
    path
        The file.
    every
        Chunks between two snapshots.
    seconds
        Seconds between two snapshots, at least.
    """

    path: Path | str
    every: int = 1
    seconds: float = 0.0

    def __post_init__(self) -> None:
        arguments.integer("every", self.every, 1)
        self._saved = time.monotonic()

    def due(self, chunks: int) -> bool:
        """Whether the next snapshot is due."""
        return chunks % self.every == 0 and time.monotonic() - self._saved >= self.seconds

    def __str__(self) -> str:
        return str(self.path)

    def load(self) -> Snapshot | None:
        """The snapshot of the file, or None where there is no file."""
        try:
            data = Path(self.path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as reason:
            said = reason.strerror or str(reason)
            raise UserError(f"The checkpoint {self} cannot be read ({said}).") from reason
        return Snapshot.from_bytes(data, str(self))

    def save(self, snapshot: Snapshot) -> None:
        """Replace the file."""
        target = Path(self.path)
        hidden = f".{target.name}."
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            clear_leftovers(target.parent, hidden)
            write_whole(target, snapshot.to_bytes(), target.parent / writer_name(hidden))
            self._saved = time.monotonic()
        except OSError as reason:
            raise AttnlabError(
                f"Cannot write the checkpoint {self}: {trouble(reason)}. "
                "The one before it, if any, is whole."
            ) from reason


def as_checkpoint(given: Checkpoint | Path | str | None) -> Checkpoint | None:
    """A path as the file of that name; anything else as it is."""
    return CheckpointFile(given) if isinstance(given, Path | str) else given


def named_leaves(tree: PyTree) -> list[tuple[str, Any]]:
    """The arrays of a tree with their paths; random keys as their data."""
    named = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        named.append((name, leaf))
    return named


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    """A digest of the names, dtypes, shapes and bytes of arrays."""
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        whole.update(f"{name} {array.dtype} {array.shape}\n".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()[:32]


def _viewed(held: np.dtype, wanted: np.dtype) -> np.dtype:
    return wanted if AS_BITS.get(wanted) == held else held


def _compare(name: str, held: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    differ = [field for field in held.keys() | given.keys() if held.get(field) != given.get(field)]
    if differ:
        # A number says more to a reader than a digest does.
        field = min(differ, key=lambda field: (field.startswith("digest"), field))
        raise UserError(
            f"The checkpoint {name} belongs to another configuration: its {field} is "
            f"{held.get(field)!r}, here it is {given.get(field)!r}; give another file, "
            "or remove it."
        )
