"""A task: a cell to compute and the names by which a worker finds it, and how it is computed."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attnlab.errors import Stopped, UserError
from attnlab.lab.catalog import load_study
from attnlab.lab.cell import AnyCell, Sweep, config_values
from attnlab.lab.fault import describe
from attnlab.lab.part import Finished, compute
from attnlab.lab.programs import keep_programs
from attnlab.lab.room import device_name, require_room
from attnlab.lab.sitting import Report, Watch
from attnlab.lab.watch import watching
from attnlab.memory import out_of_memory, ran_out

NOT_BEGUN = Finished("", error="the time was up before it began", stopped=True)


@dataclass(frozen=True)
class Task:
    """A cell to compute, and the study that defines its kind."""

    study: str
    cell: AnyCell

    def request(
        self, extra: Path | None, watch: Watch | None = None, begin_by: float | None = None
    ) -> str:
        """What a worker needs to know, as JSON: it finds the cell by name (see `answer`).

        A cell whose turn comes after `begin_by` (`time.time()`) is not begun.
        """
        watch = watch or Watch()
        folder = watch.checkpoints
        return json.dumps(
            {
                "study": self.study,
                "extra": str(extra.resolve()) if extra else None,
                "kind": self.cell.kind.name,
                "configs": [config_values(point.config) for point in self.cell.points],
                "sweep": isinstance(self.cell, Sweep),
                "checkpoints": str(folder.resolve()) if folder else None,
                "until": watch.until,
                "save_every": watch.save_every,
                "begin_by": begin_by,
            }
        )


def attempt(cell: AnyCell, watch: Watch | None = None) -> Finished:
    """Compute a cell; whatever it raises becomes a sentence, and the other cells go on."""
    if watch is not None and isinstance(cell, Sweep):
        watch = replace(watch, checkpoints=None)  # its points would share one checkpoint
    keep_programs()
    try:
        require_room(cell)
        with watching(watch) as sitting:
            found = compute(cell)
        seconds = found.seconds + sitting.earlier
        return replace(found, seconds=seconds, device=device_name())
    except Stopped as reason:
        begins = "and begins again: it keeps no checkpoints" if reason.checkpoint is None else ""
        where = f"stopped at {reason.unit} {reason.step} of {reason.steps}"
        said = f"{where}, {begins or 'from which it continues'}"
        return Finished(cell.key, error=said, stopped=True)
    except (Exception, SystemExit) as reason:
        if ran_out(reason):
            said = out_of_memory(cell.kind.name, device_name())
            return Finished(cell.key, error=said, mistake=True)
        return Finished(cell.key, error=describe(reason), mistake=isinstance(reason, UserError))


def answer(request: str, report: Report | None = None) -> Finished:
    """What a worker does with a request: find the cell by its names and attempt it."""
    wanted: dict[str, Any] = json.loads(request)
    if wanted["begin_by"] is not None and time.time() >= wanted["begin_by"]:
        return NOT_BEGUN
    extra = Path(wanted["extra"]) if wanted["extra"] else None
    kind = load_study(wanted["study"], extra).kind(wanted["kind"])
    configs = [kind.config(**values) for values in wanted["configs"]]
    folder = Path(wanted["checkpoints"]) if wanted["checkpoints"] else None
    watch = Watch(folder, wanted["until"], report, wanted["save_every"])
    return attempt(kind.sweep(configs) if wanted["sweep"] else kind(configs[0]), watch)
