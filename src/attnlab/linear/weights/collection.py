"""A file with a collection of networks: its tensors, and what its metadata say about them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnlab.errors import AttnlabError, UserError
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
