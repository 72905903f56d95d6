"""Files of linear transformers: safetensors, with a description of the network in the metadata.

The metadata contain the name of the format and one JSON object: version, family, depth, d, n, noise
law, training loss and whatever else the writer adds. Arrays keep their precision, float32 or
float64. A file appears under its name whole or not at all, and every defect of a file is reported
in one sentence. The header is read by `file_headers`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from attnlab import arguments
from attnlab.errors import AttnlabError, UserError
from attnlab.files import write_whole, writer_name
from attnlab.linear.models.file_headers import FORMAT, Header, contents, is_linear, read_header
from attnlab.linear.models.weights import FAMILIES, Weights, family_of, size_of
from attnlab.linear.noise import NoiseLaw

VERSION = 1
DTYPES = {"F32": np.float32, "F64": np.float64}


def save_linear(path: Path | str, weights: Weights, **about: Any) -> None:
    """Write the weights to a file, and `about` (d, n, noise, loss, ...) to its metadata.

    `about` may contain whatever JSON can represent, and a noise law as `noise`.
    """
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
        raise UserError(
            f"about must hold what JSON can represent, got {about!r}: {reason}."
        ) from reason
    write_file(
        Path(path), safetensors.numpy.save(arrays, metadata={"format": FORMAT, "about": text})
    )


def load_linear(path: Path | str, dtype: Any = None) -> tuple[Weights, dict[str, Any]]:
    """The weights of a file as NumPy arrays, and its description of them.

    The arrays have the precision of the file unless `dtype` gives another.
    """
    header = read_header(path)
    about = about_linear(path, header)
    family = FAMILIES[about["family"]]
    arrays = _arrays(path, header, family)
    try:
        weights = family(
            **{n: array if dtype is None else array.astype(dtype) for n, array in arrays.items()}
        )
    except UserError as reason:
        raise UserError(f"{path} is damaged: {reason}") from None
    _check_about(str(path), weights, about)
    return weights, about


def about_linear(path: Path | str, header: Header) -> dict[str, Any]:
    """The JSON object that describes the network of a file; one sentence if there is none."""
    if not is_linear(header):
        raise UserError(f"{path} is not a linear transformer of attnlab: {contents(header)}.")
    try:
        about = json.loads(header[1]["about"])
        version, family = about["version"], about["family"]
    except (KeyError, TypeError, ValueError) as reason:
        raise UserError(f"{path} is damaged: it does not describe the network in it.") from reason
    if version != VERSION:
        raise UserError(f"{path} has version {version!r} of the format; accepted is {VERSION}.")
    if family not in FAMILIES:
        accepted = ", ".join(map(repr, FAMILIES))
        raise UserError(f"{path} holds the family {family!r}; accepted are {accepted}.")
    return about


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole, into a folder that must exist; a failure is one sentence."""
    try:
        write_whole(path, data, path.with_name(writer_name(f".{path.name}.")))
    except FileNotFoundError as reason:
        raise UserError(f"{path.parent} does not exist; give a file in a folder that does.") from (
            reason
        )
    except OSError as reason:
        raise AttnlabError(f"{path} could not be written: {reason.strerror}.") from reason


def _arrays(path: Path | str, header: Header, kind: type[Weights]) -> dict[str, np.ndarray]:
    tensors, _ = header
    wanted = list(kind.__dataclass_fields__)
    missing = [name for name in wanted if name not in tensors]
    if missing:
        raise UserError(f"{path} lacks {', '.join(missing)}: it holds {contents(header)}.")
    for name in wanted:
        if tensors[name].dtype not in DTYPES:
            raise UserError(
                f"{name} in {path} must be float32 or float64 (F32, F64), "
                f"got {tensors[name].dtype}."
            )
    if len({tensors[name].dtype for name in wanted}) > 1:
        raise UserError(f"{path} mixes float32 and float64; accepted is one of them throughout.")
    # A block has double precision, from which float32 numbers are recovered exactly.
    found = {n: tensors[n].block().astype(DTYPES[tensors[n].dtype]) for n in wanted}
    for name, array in found.items():
        _check_array(str(path), name, array)
    return found


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
    """depth, d and n of the description must fit the weights."""
    for name, own in (("depth", weights.depth), ("d", size_of(weights))):
        given = about.get(name)
        if own is not None and given is not None and given != own:
            raise UserError(f"{path} says {name} = {given!r} but its weights have {name} = {own}.")
    for name in ("d", "n"):
        if about.get(name) is not None:
            arguments.integer(f"{name} of {path}", about[name], 1)
