"""`attnlab report`: write the report of what the store holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from attnlab.cli.options import OfScale
from attnlab.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Report(OfScale):
    """Write the report: a static site that opens from the disk.

    Each figure comes as SVG with its data as CSV; --formats adds PNG and PDF.

    For example:
      attnlab report
      attnlab report separation --scale paper --out paper-report
      attnlab report --formats png pdf
    """

    study: Annotated[Positional[tuple[str, ...]], arg(metavar="[STUDY ...]")] = ()
    """Studies to report; all that the store has results of if none is named."""
    out: Annotated[Path, arg(metavar="DIR")] = Path("attnlab-report")
    """Where to write the report."""
    formats: Annotated[
        tuple[Literal["png", "pdf"], ...], arg(help_behavior_hint="(default: SVG only)")
    ] = ()
    """Pictures to write beside the SVG of each figure."""

    def run(self, console: Console) -> int:
        """Look up, judge and write."""
        from attnlab.cli.reproduce import name_report, write_and_name
        from attnlab.lab.evidence import JudgedLater
        from attnlab.lab.runner import look_up
        from attnlab.report.folder import check_folder
        from attnlab.report.state import state_of, up_to_date

        store = self.open(create=False)
        plans = self.plans(self.load(self.study))
        held = [plan for plan in plans if store.names(plan.cells.values())]
        if not held:
            seed = f" --seed {self.seed}" if self.seed else ""
            named = "".join(f" {name}" for name in self.study)
            raise UserError(
                f"The store {self.store} has no results of scale {self.scale} to report; run "
                f"'attnlab reproduce{named} --scale {self.scale}{seed}' first."
            )
        chosen = plans if self.study else held
        target = self.out.expanduser().resolve()
        if up_to_date(target, state_of(store, chosen, formats=self.formats)):
            # Names of parts prove their bytes: nothing need be read to see that nothing changed.
            check_folder(self.out)
            name_report(self.out / "index.html", console)
            return 0
        judged = [JudgedLater(plan, look_up(plan, store).view) for plan in chosen]
        write_and_name(store, judged, self.out, console, self.formats)
        return 0
