"""The runner: asks the store first, sends the rest to an engine, keeps each result as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console

from attnlab.errors import AttnlabError, UserError
from attnlab.lab.cell import Cell
from attnlab.lab.engine import Engine
from attnlab.lab.part import Finished
from attnlab.lab.progress import meter
from attnlab.lab.provenance import RunLog
from attnlab.lab.store import Store


@dataclass
class Summary:
    """What became of a list of cells."""

    total: int
    from_store: int
    computed: int = 0
    failed: list[tuple[Cell, AttnlabError]] = field(default_factory=list)


def failure(finished: Finished) -> AttnlabError:
    """Why a cell gave no result: the user's mistake, or its own."""
    return (UserError if finished.mistake else AttnlabError)(finished.error)


def run_cells(
    cells: Sequence[Cell], study: str, store: Store, engine: Engine, console: Console
) -> Summary:
    """Bring every cell into the store. Interrupting keeps what is done."""
    wanted = {cell.key: cell for cell in cells}
    held = store.holding(wanted.values())
    missing = [cell for key, cell in wanted.items() if key not in held]
    summary = Summary(total=len(wanted), from_store=len(held))
    if not missing:
        return summary
    log = RunLog(store.root / "runs", engine.name)
    cost = sum(cell.cost for cell in missing)
    try:
        with meter(console, study, len(missing), cost, len(held)) as progress:
            for finished in engine.run(missing, study):
                cell = wanted[finished.key]
                if finished.error:
                    summary.failed.append((cell, failure(finished)))
                else:
                    store.add(cell, finished)
                    log.finished(cell.key, cell.kind.name, finished.seconds)
                    summary.computed += 1
                progress.advance(cell.kind.name, cell.cost)
    finally:
        log.close()
    return summary
