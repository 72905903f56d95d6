"""The reader of transformer checkpoints for `attnlab read`: options in, a reading out."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import FlagCreatePairsOff, arg

from attnlab.errors import UserError
from attnlab.lab.reader import Progress, Reading

if TYPE_CHECKING:
    from attnlab.checkpoints.reading import CheckpointReading


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
    composition: Annotated[bool, FlagCreatePairsOff] = False
    """Also score which heads read what heads of earlier layers write (slow for large models)."""


class CheckpointReader:
    """Reads the ranks of the forms Q K^T and V O of every head."""

    kind = "a checkpoint and not a linear transformer of attnlab"
    options = Options

    def recognise(self, path: Path) -> Path | None:
        """Every safetensors file, shard or folder: this reader says what is wrong with others."""
        return path

    def read(self, path: Path, options: Options, progress: Progress | None = None) -> Reading:
        """Read the heads of all layers, or of those that the options name."""
        from attnlab.checkpoints import links, tables
        from attnlab.checkpoints.composition import composition
        from attnlab.checkpoints.figures import pictures
        from attnlab.checkpoints.reading import read_checkpoint, rows

        found = read_checkpoint(path, **_arguments(options), progress=progress)
        pairs = composition(path, **_arguments(options)) if options.composition else []
        document = {
            "file": found.path,
            "naming": dataclasses.asdict(found.naming),
            "summary": tables.summary(found),
            "heads": rows(found),
            **({"composition": links.document(pairs)} if pairs else {}),
        }
        return Reading(
            title=path.resolve().name,
            sentences=tables.sentences(found),
            tables=lambda wide: [*tables.tables(found, wide), *links.tables(pairs)],
            pictures=lambda: [*pictures(found), *links.pictures(pairs)],
            document=document,
        )

    def read_series(
        self, paths: Sequence[Path], options: Options, progress: Progress | None = None
    ) -> Reading:
        """Read several checkpoints of one model: ranks and angles over its training."""
        from attnlab.checkpoints import series
        from attnlab.checkpoints.reading import read_checkpoint

        if options.composition:
            raise UserError("--composition is of one checkpoint; give one file or folder.")
        done = itertools.count(1)

        def read(path: Path) -> CheckpointReading:
            found = read_checkpoint(path, **_arguments(options))
            if progress is not None:
                progress(next(done), len(paths))
            return found

        found = series.series(paths, read)
        return Reading(
            title=f"{len(paths)} checkpoints",
            sentences=series.sentences(found),
            tables=lambda wide: [series.table(found)],
            pictures=lambda: series.pictures(found),
            document={
                "files": [reading.path for reading in found.readings],
                "steps": list(found.steps),
                "naming": dataclasses.asdict(found.readings[0].naming),
                "layers": series.rows(found),
            },
        )


def _arguments(options: Options) -> dict[str, Any]:
    from attnlab.checkpoints.names import parse_mapping

    return {
        "heads": options.heads,
        "key_value_heads": options.kv_heads,
        "mapping": parse_mapping(options.map) or None,
        "layers": options.layers or None,
        "stack": options.stack,
    }


reader = CheckpointReader()
