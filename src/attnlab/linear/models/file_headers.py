"""Whether a file is a linear transformer of attnlab: its header says so, and no JAX is needed."""

from collections.abc import Mapping
from pathlib import Path

from attnlab import tensor_files
from attnlab.errors import UserError
from attnlab.tensor_files import Tensor

FORMAT = "attnlab linear transformer"
NAMED = 4  # tensors that a sentence lists

Header = tuple[Mapping[str, Tensor], Mapping[str, str]]  # the tensors and the metadata of a file


def read_header(path: Path | str) -> Header:
    """The tensors and the metadata of a safetensors file; one sentence if there is no such file."""
    try:
        return tensor_files.read_header(Path(path))
    except OSError as reason:
        what = "There is no file" if isinstance(reason, FileNotFoundError) else reason.strerror
        raise UserError(f"{what}: {path}; give a safetensors file.") from reason


def is_linear(header: Header) -> bool:
    """Whether a file declares that it is a linear transformer written by attnlab."""
    return header[1].get("format") == FORMAT


def contents(header: Header) -> str:
    """The contents of a file in a few words, for a sentence that refuses it."""
    tensors, metadata = header
    names = sorted(tensors)
    listed = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    declared = metadata.get("format")
    named = f" of the format {declared!r}" if declared else ""
    return f"{len(names)} tensors{named} ({listed})" if names else f"no tensors{named}"
