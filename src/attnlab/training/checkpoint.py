"""Checkpoints: one safetensors file that holds a tree of arrays whole, or is not there.

The file says by itself what it is: its metadata is JSON with the configuration of the run, a digest
of the arrays, and notes that are not arrays. It is written under a temporary name, flushed and
renamed; a file that does not fit the run that opens it is refused in one sentence and left alone.
"""

import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import PyTree

from attnlab.errors import AttnlabError, UserError
from attnlab.files import clear_leftovers, trouble, write_whole, writer_name

FORMAT = 1
METADATA = "attnlab-checkpoint"
# safetensors has no names in NumPy for these; their bits are kept.
AS_BITS = {np.dtype(jnp.bfloat16): np.dtype(np.uint16)}


def save(path: Path | str, tree: PyTree, configuration: Mapping[str, Any], notes: Any) -> None:
    """Write a tree of arrays; `configuration` and `notes` are JSON."""
    arrays = {name: _bits(np.asarray(leaf, order="C")) for name, leaf in _leaves(tree)}
    document = {
        "format": FORMAT,
        "configuration": dict(configuration),
        "content": _digest(arrays),
        "notes": notes,
    }
    metadata = {METADATA: json.dumps(document, sort_keys=True)}
    _write(Path(path), safetensors.numpy.save(arrays, metadata=metadata))


def load(path: Path | str, like: PyTree, configuration: Mapping[str, Any]) -> tuple[PyTree, Any]:
    """The tree and the notes of a checkpoint that has the shapes of `like` and this configuration.

    Leaves of `like` are arrays, or anything with a shape and a dtype.
    """
    path = Path(path)
    document, arrays = _read(path)
    _compare(path, document["configuration"], json.loads(json.dumps(dict(configuration))))
    leaves = []
    for name, leaf in _leaves(like):
        dtype = np.dtype(leaf.dtype)
        found = arrays.pop(name, None)
        wanted = f"{dtype}{list(leaf.shape)}"
        if found is None:
            raise UserError(f"The checkpoint {path} has no {name}, where this run has {wanted}.")
        if found.shape != tuple(leaf.shape) or found.dtype != AS_BITS.get(dtype, dtype):
            held = f"{found.dtype}{list(found.shape)}"
            raise UserError(f"The checkpoint {path} has {name} as {held}, this run as {wanted}.")
        leaves.append(found.view(dtype))
    if arrays:
        raise UserError(f"The checkpoint {path} has {min(arrays)}, which this run has not.")
    return jax.tree.unflatten(jax.tree.structure(like), leaves), document["notes"]


def fingerprint(tree: PyTree) -> str:
    """A digest of a tree: its structure, and the dtype, shape and bytes of every array in it."""
    return _digest({name: np.asarray(leaf, order="C") for name, leaf in _leaves(tree)})


def describe(part: Any) -> str:
    """What can be said of a function or an optimiser: its name, and what it was made with.

    A function's closed-over values count, so that optax's adam(0.1) and adam(0.2) differ; a change
    of its code goes unseen.
    """
    told = _told(part, 0)
    return (
        told if len(told) < 100 else f"{told[:60]}... {hashlib.sha256(told.encode()).hexdigest()}"
    )


def _told(part: Any, depth: int) -> str:
    if part is None or isinstance(part, bool | int | float | str):
        return repr(part)
    if depth > 32:
        return "..."
    if isinstance(part, np.ndarray | jax.Array):
        return fingerprint(part)
    if isinstance(part, functools.partial):
        part = (part.func, part.args, part.keywords)
    if isinstance(part, Mapping):
        part = tuple(part.items())
    if isinstance(part, tuple | list):
        return f"({', '.join(_told(item, depth + 1) for item in part)})"
    if dataclasses.is_dataclass(part):
        return repr(part)
    if not inspect.isfunction(part):
        return type(part).__qualname__
    made_with = [*inspect.getclosurevars(part).nonlocals.items(), *(part.__defaults__ or ())]
    inside = _told(made_with, depth + 1) if made_with else ""
    return f"{part.__module__}.{part.__qualname__}{inside}"


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            document = json.loads((file.metadata() or {})[METADATA])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if document["format"] != FORMAT:
            raise UserError(
                f"The checkpoint {path} has format {document['format']}; "
                f"this version of attnlab reads format {FORMAT}."
            )
        whole = document["content"] == _digest(arrays)
    except OSError as reason:
        said = reason.strerror or str(reason)
        raise UserError(f"The checkpoint {path} cannot be read ({said}).") from reason
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError) as reason:
        if isinstance(reason, UserError):
            raise
        raise UserError(
            f"{path} is no whole checkpoint of attnlab; remove it to start from step 0, "
            "or give another file."
        ) from reason
    if not whole:
        raise UserError(
            f"The checkpoint {path} is damaged: its arrays are not those it was written with; "
            "remove it to start from step 0, or give another file."
        )
    return document, arrays


def _compare(path: Path, held: dict[str, Any], given: dict[str, Any]) -> None:
    differ = [name for name in held.keys() | given.keys() if held.get(name) != given.get(name)]
    if differ:
        # A number says more to a reader than a digest does.
        name = min(differ, key=lambda name: (name.startswith("digest"), name))
        raise UserError(
            f"The checkpoint {path} belongs to another configuration: its {name} is "
            f"{held.get(name)!r}, here it is {given.get(name)!r}; give another file, or remove it."
        )


def _leaves(tree: PyTree) -> list[tuple[str, Any]]:
    named = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        named.append((name, leaf))
    return named


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(AS_BITS.get(array.dtype, array.dtype))


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        whole.update(f"{name} {array.dtype} {array.shape}\n".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()[:32]


def _write(target: Path, data: bytes) -> None:
    hidden = f".{target.name}."
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers(target.parent, hidden)
        write_whole(target, data, target.parent / writer_name(hidden))
    except OSError as reason:
        raise AttnlabError(
            f"Cannot write the checkpoint {target}: {trouble(reason)}. "
            "The one before it, if any, is whole."
        ) from reason
