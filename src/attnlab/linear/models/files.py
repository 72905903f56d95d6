"""Files of linear transformers: safetensors, with what is known of the network beside its weights.

The metadata hold the format's name and one JSON object: version, family, depth, d, n, noise law,
training loss and whatever else the writer knows. Arrays keep their float32 or float64, nothing is
pickled, and a file appears under its name whole or not at all; every way in which a file can be
wrong is one sentence.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from attnlab import arguments
from attnlab.errors import AttnlabError, UserError
from attnlab.files import write_whole, writer_name
from attnlab.linear.models.weights import DiagWeights, FullWeights, GDPlusPlus, Omegas, Weights
from attnlab.linear.noise import NoiseLaw

FORMAT = "attnlab linear transformer"
VERSION = 1
FAMILIES: dict[str, type[Weights]] = {
    "FULL": FullWeights,
    "DIAG": DiagWeights,
    "DIAG, free omegas": Omegas,
    "GD++": GDPlusPlus,
}
DTYPES = {"F32": np.float32, "F64": np.float64}
LONGEST_HEADER = 100_000_000  # bytes, the limit of the format itself
NAMED = 4  # tensors named in a sentence


class Header(NamedTuple):
    """What a safetensors file says of itself before its numbers."""

    metadata: dict[str, str]
    tensors: dict[str, dict[str, Any]]


def family_of(weights: Weights) -> str:
    """FULL, DIAG, DIAG with free omegas, or GD++."""
    for name, kind in FAMILIES.items():
        if isinstance(weights, kind):
            return name
    accepted = ", ".join(kind.__name__ for kind in FAMILIES.values())
    raise UserError(f"weights must be one of {accepted}, got {type(weights).__name__}.")


def save_linear(path: Path | str, weights: Weights, **about: Any) -> None:
    """Write the weights, with `about` (d, n, noise, loss, ... in terms of JSON) beside them."""
    family = family_of(weights)
    arrays = {name: np.ascontiguousarray(part) for name, part in vars(weights).items()}
    for name, array in arrays.items():
        _check_array(str(path), name, array)
    known = {"version": VERSION, "family": family, "depth": weights.depth}
    for name in sorted(known.keys() & about.keys()):
        if about[name] != known[name]:
            raise UserError(f"{name} must be the weights' own, {known[name]!r}: {about[name]!r}.")
    if isinstance(about.get("noise"), NoiseLaw):
        about["noise"] = about["noise"].name
    about = {**about, **known}
    _check_about(str(path), weights, about)
    try:
        text = json.dumps(about, allow_nan=False)
    except (TypeError, ValueError) as reason:
        raise UserError(f"about must hold what JSON can say, got {about!r}: {reason}.") from reason
    write_file(
        Path(path), safetensors.numpy.save(arrays, metadata={"format": FORMAT, "about": text})
    )


def load_linear(path: Path | str, dtype: Any = None) -> tuple[Weights, dict[str, Any]]:
    """The weights of a file and what it says about them; `dtype` converts, None keeps."""
    header = read_header(path)
    about = about_linear(path, header)
    arrays = _arrays(path, header, FAMILIES[about["family"]])
    kept = next(iter(arrays.values())).dtype if dtype is None else np.dtype(dtype)
    if kept == np.float64 and jnp.result_type(float) != kept:
        raise UserError(
            f"{path} holds float64 weights and JAX is set to float32; use jax.enable_x64(True) or "
            "load it with dtype=float32."
        )
    parts = {name: jnp.asarray(array, kept) for name, array in arrays.items()}
    try:
        weights = FAMILIES[about["family"]](**parts)
    except UserError as reason:
        raise UserError(f"{path} is damaged: {reason}") from None
    _check_about(str(path), weights, about)
    return weights, about


def read_header(path: Path | str) -> Header:
    """The metadata and the tensors' shapes of any safetensors file, checked against its length."""
    path = Path(path)
    refused = f"{path} is not a safetensors file"
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 9 or length > LONGEST_HEADER or file.peek(1)[:1] != b"{":
                raise UserError(f"{refused}; give one that is.")
            text = file.read(length)
    except OSError as reason:
        what = "There is no file" if isinstance(reason, FileNotFoundError) else reason.strerror
        raise UserError(f"{what}: {path}; give a safetensors file.") from reason
    if len(text) < length:
        raise UserError(f"{path} is truncated: it ends within its header, after {size} bytes.")
    try:
        tensors = json.loads(text)
        metadata = tensors.pop("__metadata__", {})
        end = max((tensor["data_offsets"][1] for tensor in tensors.values()), default=0)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as reason:
        raise UserError(f"{refused}: its header is not one.") from reason
    if size < 8 + length + end:
        raise UserError(f"{path} is truncated: it has {size} of its {8 + length + end} bytes.")
    return Header(metadata, tensors)


def is_linear(header: Header) -> bool:
    """Whether a file says that it is a linear transformer of ours."""
    return header.metadata.get("format") == FORMAT


def contents(header: Header) -> str:
    """What a file holds, in a few words, for a sentence that refuses it."""
    names = sorted(header.tensors)
    listed = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    told = header.metadata.get("format")
    named = f" of the format {told!r}" if told else ""
    return f"{len(names)} tensors{named} ({listed})" if names else f"no tensors{named}"


def about_linear(path: Path | str, header: Header) -> dict[str, Any]:
    """The JSON object of a file of ours; a sentence where it is none."""
    if not is_linear(header):
        raise UserError(f"{path} is not a linear transformer of attnlab: {contents(header)}.")
    try:
        about = json.loads(header.metadata["about"])
        version, family = about["version"], about["family"]
    except (KeyError, TypeError, ValueError) as reason:
        raise UserError(f"{path} is damaged: it does not say what network it holds.") from reason
    if version != VERSION:
        raise UserError(f"{path} has version {version!r} of the format; accepted is {VERSION}.")
    if family not in FAMILIES:
        accepted = ", ".join(map(repr, FAMILIES))
        raise UserError(f"{path} holds the family {family!r}; accepted are {accepted}.")
    return about


def size_of(weights: Weights) -> int | None:
    """The d that the weights fix: FULL matrices have d + 1 rows, the others run at any d."""
    return weights.P.shape[-1] - 1 if isinstance(weights, FullWeights) else None


def convert(weights: Weights, dtype: Any) -> Weights:
    """The same weights in another precision."""
    leaves, structure = jax.tree.flatten(eqx.filter(weights, eqx.is_array))
    return jax.tree.unflatten(structure, [jnp.asarray(leaf, dtype) for leaf in leaves])


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole, in a folder that must be there; a failure is one sentence."""
    try:
        write_whole(path, data, path.with_name(writer_name(f".{path.name}.")))
    except FileNotFoundError as reason:
        raise UserError(f"{path.parent} does not exist; give a file in a folder that does.") from (
            reason
        )
    except OSError as reason:
        raise AttnlabError(f"{path} could not be written: {reason.strerror}.") from reason


def _arrays(path: Path | str, header: Header, kind: type[Weights]) -> dict[str, np.ndarray]:
    wanted = list(kind.__dataclass_fields__)
    missing = [name for name in wanted if name not in header.tensors]
    if missing:
        raise UserError(f"{path} lacks {', '.join(missing)}: it holds {contents(header)}.")
    for name in wanted:
        if header.tensors[name].get("dtype") not in DTYPES:
            raise UserError(
                f"{name} in {path} must be float32 or float64 (F32, F64), "
                f"got {header.tensors[name].get('dtype')}."
            )
    try:
        found = safetensors.numpy.load(Path(path).read_bytes())
    except (safetensors.SafetensorError, OSError) as reason:
        raise UserError(f"{path} is damaged: {reason}.") from reason
    for name in wanted:
        _check_array(str(path), name, found[name])
    if len({found[name].dtype for name in wanted}) > 1:
        raise UserError(f"{path} mixes float32 and float64; accepted is one of them throughout.")
    return {name: found[name] for name in wanted}


def _check_array(path: str, name: str, array: np.ndarray) -> None:
    if array.dtype not in (np.float32, np.float64):
        raise UserError(f"{name} must be float32 or float64 in {path}, got {array.dtype}.")
    if array.size == 0:
        raise UserError(f"{name} in {path} must not be empty, got the shape {array.shape}.")
    bad = int(array.size - np.isfinite(array).sum())
    if bad:
        raise UserError(
            f"{name} in {path} must hold finite numbers only, got NaN or infinity in {bad} of "
            f"{array.size} entries."
        )


def _check_about(path: str, weights: Weights, about: dict[str, Any]) -> None:
    """depth, d and n as the file tells them must fit the weights."""
    for name, own in (("depth", weights.depth), ("d", size_of(weights))):
        told = about.get(name)
        if own is not None and told is not None and told != own:
            raise UserError(f"{path} says {name} = {told!r} but its weights have {name} = {own}.")
    for name in ("d", "n"):
        if about.get(name) is not None:
            arguments.integer(f"{name} of {path}", about[name], 1)
