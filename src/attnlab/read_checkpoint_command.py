"""`attnlab read` on a checkpoint: its heads as tables, as JSON, or as a page with figures."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from rich.console import Console

from attnlab.checkpoints import tables
from attnlab.checkpoints.names import parse_mapping
from attnlab.checkpoints.reading import CheckpointReading, Progress, read_checkpoint, rows
from attnlab.read_command import LINEAR_OPTIONS, refuse_others, say

if TYPE_CHECKING:
    from attnlab import cli
    from attnlab.lab.progress import Meter


def read_checkpoint_file(command: cli.Read, console: Console) -> int:
    from attnlab.report.figures import plain
    from attnlab.report.folder import refuse_foreign

    refuse_others(command, LINEAR_OPTIONS, "a checkpoint and no linear transformer of attnlab")
    if command.figures is not None:
        refuse_foreign(command.figures)
    reading = _read(command)
    if command.json:
        print(json.dumps(plain(document(reading)), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        tables.print_checkpoint(reading, console)
    if command.figures is not None:
        say(command, console, f"Figures: {_write_page(command, reading)}")
    return 0


def document(reading: CheckpointReading) -> dict[str, Any]:
    """The whole reading in terms of JSON: names and layout, the sentences, and a row a head."""
    return {
        "file": reading.path,
        "naming": dataclasses.asdict(reading.naming),
        "summary": tables.summary(reading),
        "heads": rows(reading),
    }


def _read(command: cli.Read) -> CheckpointReading:
    with _bar() as progress:
        return read_checkpoint(
            command.file,
            heads=command.heads,
            key_value_heads=command.kv_heads,
            mapping=parse_mapping(command.map) or None,
            layers=command.layers or None,
            stack=command.stack,
            progress=progress,
        )


@contextlib.contextmanager
def _bar() -> Generator[Progress | None]:
    """A bar on a terminal's standard error; the answer stays alone on standard output."""
    if not sys.stderr.isatty():
        yield None
        return
    from attnlab.lab.progress import meter

    with contextlib.ExitStack() as stack:
        opened: list[Meter] = []

        def progress(done: int, total: int) -> None:
            if not opened:
                errors = Console(stderr=True)
                opened.append(stack.enter_context(meter(errors, "layers", total, total)))
            if done:
                opened[0].advance(f"{done} read")

        yield progress


def _write_page(command: cli.Read, reading: CheckpointReading) -> Any:
    from attnlab.checkpoints.figures import pictures
    from attnlab.report.reading import write_reading

    assert command.figures is not None
    shown = (
        tables.sentences(reading),
        tables.tables(reading),
        pictures(reading),
    )
    return write_reading(command.figures, command.file.resolve().name, *shown)
