"""The reader of transformer checkpoints for `attnlab read`: options in, a reading out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from attnlab.lab.reader import Progress, Reading


@dataclass(frozen=True)
class Options:
    """What can be said about reading a checkpoint."""

    heads: Annotated[int | None, arg(metavar="N")] = None
    """Heads per layer, where neither the file nor a config.json beside it says."""
    kv_heads: Annotated[int | None, arg(metavar="N")] = None
    """Key and value heads per layer, where groups of heads share them; follows from --heads."""
    layers: Annotated[
        tuple[int, ...], arg(metavar="N ...", help_behavior_hint="(default: all)")
    ] = ()
    """Only these layers, counted as in the names of the file."""
    stack: Annotated[str | None, arg(metavar="PART")] = None
    """Which stack of layers, by a part of its name, where the file has several."""
    map: Annotated[
        tuple[str, ...], arg(metavar="ROLE=NAME ...", help_behavior_hint="(default: known names)")
    ] = ()
    """Names of q, k, v, o (or qkv, o), {layer} for the number; layout=, fused=."""


class CheckpointReader:
    """Reads the ranks of the forms Q K^T and V O of every head."""

    kind = "a checkpoint and not a linear transformer of attnlab"
    options = Options

    def recognise(self, path: Path) -> Path | None:
        """Every safetensors file, shard or folder: this reader says what is wrong with others."""
        return path

    def read(self, path: Path, options: Options, progress: Progress | None = None) -> Reading:
        """Read the heads of all layers, or of those that the options name."""
        from attnlab.checkpoints import tables
        from attnlab.checkpoints.figures import pictures
        from attnlab.checkpoints.names import parse_mapping
        from attnlab.checkpoints.reading import read_checkpoint, rows

        found = read_checkpoint(
            path,
            heads=options.heads,
            key_value_heads=options.kv_heads,
            mapping=parse_mapping(options.map) or None,
            layers=options.layers or None,
            stack=options.stack,
            progress=progress,
        )
        document = {
            "file": found.path,
            "naming": dataclasses.asdict(found.naming),
            "summary": tables.summary(found),
            "heads": rows(found),
        }
        return Reading(
            title=path.resolve().name,
            sentences=tables.sentences(found),
            tables=lambda wide: tables.tables(found, wide),
            pictures=lambda: pictures(found),
            document=document,
        )


reader = CheckpointReader()
