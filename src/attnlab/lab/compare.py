"""Two ledgers of one study: at two scales or seeds a verdict may become decided, and never turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnlab.errors import UserError
from attnlab.lab.evidence import evidence_of, shipped_run
from attnlab.lab.ledger import NOT_COMPUTED, Entry, Ledger, ledger, of_seed
from attnlab.lab.runner import look_up
from attnlab.lab.store import Store
from attnlab.lab.study import Scale, Study


@dataclass(frozen=True)
class Pair:
    """One claim in two ledgers."""

    first: Entry
    second: Entry

    @property
    def comparable(self) -> bool:
        """Whether both ledgers had the results that the claim is judged on."""
        return NOT_COMPUTED not in (self.first.measured, self.second.measured)

    @property
    def turned(self) -> bool:
        """Whether both decide it, and not alike."""
        return self.first.decided and self.second.decided and self.reworded

    @property
    def reworded(self) -> bool:
        """Whether the verdicts differ in any way."""
        return self.first.verdict != self.second.verdict

    @property
    def moved(self) -> bool:
        """Whether what was measured, or what it was compared with, differs."""
        return (self.first.measured, self.first.reference) != (
            self.second.measured,
            self.second.reference,
        )

    def __str__(self) -> str:
        return (
            f"{self.first.id} of {self.first.study}: {self.first.verdict} at {self.first.scale}, "
            f"{self.second.verdict} at {self.second.scale}"
        )


def pairs(first: Ledger, second: Ledger) -> list[Pair]:
    """The claims that are in both ledgers."""
    others = {(entry.study, entry.id): entry for entry in second}
    found = ((entry, others.get((entry.study, entry.id))) for entry in first)
    return [Pair(entry, other) for entry, other in found if other is not None]


def flips(first: Ledger, second: Ledger) -> Sequence[Pair]:
    """The claims that both ledgers decide, and not alike."""
    return [pair for pair in pairs(first, second) if pair.turned]


@dataclass(frozen=True)
class Run:
    """The ledger of a study at one scale, and whose run it was judged on.

    `shipped` describes the run that ships with the study, where the store lacks the scale.
    """

    ledger: Ledger
    shipped: str = ""


def run_at(study: Study, scale: Scale, seed: int, root: Path) -> Run:
    """The ledger of a stored scale, or of the shipped run of a scale that the store lacks.

    A scale that is neither stored nor shipped is the user's mistake.

    Parameters
    ----------
    study
        Whose claims are judged.
    scale, seed
        Which of its plans; a shipped run may have another seed.
    root
        The folder of the store, which need not exist.
    """
    plan = study.plan(scale, seed)
    held = look_up(plan, Store(root, create=False)) if root.exists() else None
    if held and held.from_store == held.total:
        return Run(ledger(study, held.view))
    run, evidence = shipped_run(study, scale, seed), evidence_of(study)
    if run is None or evidence is None:
        cells = f"{len(plan.cells)} cells of {study.name} at the scale {scale!r}"
        lacking = (
            f"The store {root} lacks {held.total - held.from_store} of {cells}"
            if held
            else f"There is no store at {root} with the {cells}"
        )
        raise UserError(
            f"{lacking}, and no run of that scale ships; run 'attnlab reproduce {study.name} "
            f"--scale {scale}{of_seed(seed)} --store {root}' first."
        )
    cells = f"{run.cells} of {run.planned} cells"
    words = f"{study.name} at {scale}: the shipped run ({run.device}, {run.date}, {cells})"
    return Run(ledger(study, evidence.view(run)), words)
