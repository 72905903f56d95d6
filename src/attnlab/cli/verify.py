"""`attnlab verify`: compute some of the shipped cells again and compare."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from attnlab.cli.options import Common
from attnlab.errors import UserError
from attnlab.report.text import counted

if TYPE_CHECKING:
    from rich.console import Console

    from attnlab.lab.evidence import Evidence
    from attnlab.lab.study import Study
    from attnlab.lab.verify import Verified

SHOWN = 5  # differences of a cell that are printed


@dataclass(frozen=True)
class Verify:
    """Compute some of the shipped cells again on this machine and compare.

    Cells are drawn at random, at least one of every kind that is cheap enough here. Rows are equal
    bit for bit on the same kind of device with the same versions of the libraries, and agree within
    the tolerance of their kind elsewhere. Of cells that train, short runs of a few steps are
    compared. Nothing is stored. The exit code is 1 if something disagrees.

    For example:
      attnlab verify
      attnlab verify separation --cells 20
    """

    study: Annotated[Positional[tuple[str, ...]], arg(metavar="[STUDY ...]")] = ()
    """Studies to verify; all that ship evidence if none is named."""
    cells: Annotated[int, arg(metavar="N")] = 5
    """Cells of each study, more where it has more kinds of cells."""
    longest: Annotated[float, arg(metavar="SECONDS")] = 60.0
    """Leave out cells that should take longer than this here."""
    draw: Annotated[int | None, arg(metavar="SEED")] = None
    """Draw the same cells as another call did, which printed this number."""
    studies_dir: Annotated[Path | None, arg(metavar="DIR")] = field(
        default_factory=lambda: Common().studies_dir
    )
    """A folder with studies of your own (or set ATTNLAB_STUDIES)."""

    def run(self, console: Console) -> int:
        """Draw, compute, compare."""
        from attnlab.lab.catalog import load_studies
        from attnlab.lab.evidence import evidence_of

        if self.cells < 1:
            raise UserError(f"--cells must be an integer of at least 1, got {self.cells}.")
        if not self.longest > 0:
            raise UserError(f"--longest must be above 0 seconds, got {self.longest:g}.")
        studies = load_studies(self.study, self.studies_dir)
        shipped = [(study, evidence_of(study)) for study in studies]
        lacking = [study.name for study, evidence in shipped if evidence is None]
        if lacking and (self.study or len(lacking) == len(studies)):
            raise UserError(f"No evidence ships with {', '.join(lacking)}: nothing to verify.")
        for _, evidence in shipped:
            if evidence is not None:
                evidence.prove()
        seed = random.SystemRandom().randrange(10**6) if self.draw is None else self.draw
        console.print(f"Cells drawn with --draw {seed}", highlight=False)
        wrong = [
            self._verify(study, evidence, random.Random(seed), console)
            for study, evidence in shipped
            if evidence is not None
        ]
        return 1 if any(wrong) else 0

    def _verify(
        self, study: Study, evidence: Evidence, chance: random.Random, console: Console
    ) -> int:
        """How many cells of a study disagree."""
        from attnlab.lab.evidence import outdated
        from attnlab.lab.verify import candidates, draw, verify
        from attnlab.report.terminal import shown

        for run in evidence.runs:
            old = outdated(study, run)
            stale = f", {counted(old, 'cell')} of an older version and not used" if old else ""
            console.print(
                shown(
                    f"{study.name} at {run.scale}: {run.cells} of {counted(run.planned, 'cell')}, "
                    f"{run.device}, {run.date}{stale}",
                    "bold",
                ),
                soft_wrap=True,
            )
        groups = candidates(study, evidence)
        picked = draw(groups, self.cells, self.longest, chance)
        wrong = 0
        for each in picked:
            found = verify(evidence, each)
            wrong += bool(found.differences)
            self._print(found, console)
        kinds = {each.cell.kind.name for each in picked}
        for name in sorted({Path(file).stem for file in evidence.files} - kinds):
            why = (
                f"its cells should take longer than {self.longest:g} s here (--longest)"
                if groups.get(name)
                else "no cell of its present version, or no short run of it, ships"
            )
            console.print(shown(f"- {name}: not verified, {why}"), soft_wrap=True)
        console.print(
            f"{study.name}: {counted(len(picked), 'cell')} of {counted(len(kinds), 'kind')} "
            f"computed again, {wrong or 'none'} disagreed.",
            soft_wrap=True,
            highlight=False,
        )
        return wrong

    def _print(self, found: Verified, console: Console) -> None:
        from attnlab.report.terminal import shown

        cell, exact = found.drawn.cell, found.exact
        how = "equal bits" if exact else f"within {cell.kind.tolerance}"
        sign, style = ("✗", "bold red") if found.differences else ("✓", "green")
        what = "disagrees, not " if found.differences else ""
        line = f"{sign} {cell}: {counted(found.rows, 'row')}, {what}{how}, {found.seconds:.2g} s"
        console.print(shown(line, style), soft_wrap=True)
        for each in found.differences[:SHOWN]:
            console.print(shown(f"    {each}"), soft_wrap=True)
        more = len(found.differences) - SHOWN
        if more > 0:
            console.print(shown(f"    and {counted(more, 'more difference')}"), soft_wrap=True)
