"""A file with a collection of networks: its tensors, and what its metadata say about them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from attnlab.errors import AttnlabError, UserError
from attnlab.linear.models.files import write_file
from attnlab.tensor_files import Tensor, read_header


def read_collection(
    path: Path, what: str, form: str
) -> tuple[Mapping[str, Tensor], dict[str, Any]]:
    """The tensors of a file and its facts, which must be of the given form.

    Parameters
    ----------
    path
        The file.
    what
        What errors call its networks, such as "FULL networks".
    form
        The format that its metadata must name.
    """
    try:
        tensors, metadata = read_header(path)
    except (OSError, UserError) as reason:
        raise AttnlabError(f"The {what} {path} cannot be read: {reason}") from reason
    if metadata.get("format") != form:
        raise AttnlabError(f"The {what} {path} are not of the format {form!r}.")
    return tensors, json.loads(metadata["about"])


def write_collection(
    path: Path, tensors: dict[str, np.ndarray], form: str, about: Mapping[str, Any]
) -> None:
    """Write a file that `read_collection` reads, whole or not at all.

    Parameters
    ----------
    path
        The file; its folder must exist.
    tensors
        The networks.
    form
        The format that the metadata name.
    about
        What is known about the networks; JSON.
    """
    text = json.dumps(about, sort_keys=True, allow_nan=False)
    # safetensors writes the memory of an array as it lies, whatever its order.
    ordered = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    write_file(path, safetensors.numpy.save(ordered, {"format": form, "about": text}))
