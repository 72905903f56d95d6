"""The ledger: every claim of a study judged on what the store holds."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnlab.errors import UserError
from attnlab.lab.fault import told
from attnlab.lab.store import Store
from attnlab.lab.study import VERDICTS, Claim, Judgement, Missing, Scale, Study, Verdict, View


@dataclass(frozen=True)
class Entry:
    """One line of the ledger; all fields but `broken` are those of `attnlab claims --json`."""

    id: str
    study: str
    source: str
    statement: str
    verdict: Verdict
    measured: str | float
    reference: str | float
    tolerance: str
    scale: Scale
    note: str
    broken: bool = field(default=False, repr=False)  # the check raised: a bug, not a finding

    def as_dict(self) -> dict[str, Any]:
        fields = dataclasses.asdict(self)
        del fields["broken"]
        return fields


def view(store: Store, study: Study, scale: Scale, seed: int) -> View:
    """Everything the store holds of a study at one scale and seed."""
    found = {}
    for cell in study.cells(scale, seed):
        if cell.key not in found:
            rows = store.rows(cell)
            if rows is not None:
                found[cell.key] = rows
    return View(scale, seed, found)


def judge(study: Study, claim: Claim, seen: View) -> Entry:
    """One claim on what was found. A check that raises decides nothing and stops no other."""
    broken = False
    try:
        found = claim.check(seen)
    except Missing as cell:
        found = Judgement(
            "undecided at this scale",
            "not computed",
            "",
            "",
            f"The store has no result for {cell}; run "
            f"'attnlab reproduce {study.name} --scale {seen.scale}'.",
        )
    except Exception as reason:
        broken = True
        found = Judgement(
            "undecided at this scale",
            "not judged",
            "",
            "",
            f"The check itself stopped with {told(reason)}; this is a bug in the check and says "
            "nothing about the claim.",
        )
    return Entry(
        id=claim.id,
        study=study.name,
        source=claim.source,
        statement=claim.statement,
        verdict=found.verdict,
        measured=found.measured,
        reference=found.reference,
        tolerance=found.tolerance,
        scale=seen.scale,
        note=found.note,
        broken=broken,
    )


def ledger(study: Study, seen: View) -> list[Entry]:
    return [judge(study, claim, seen) for claim in study.claims]


def select(studies: Sequence[Study], wanted: Sequence[str]) -> list[tuple[Study, Claim]]:
    """The claims with these ids, or all of them; an unknown id is the user's mistake."""
    every = [(study, claim) for study in studies for claim in study.claims]
    known = {claim.id for _, claim in every}
    for name in wanted:
        if name not in known:
            raise UserError(
                f"Unknown claim {name!r}; 'attnlab claims' lists the {len(known)} ids of "
                f"{', '.join(study.name for study in studies)}."
            )
    return [(study, claim) for study, claim in every if not wanted or claim.id in wanted]


def count_verdicts(entries: Iterable[Entry]) -> dict[Verdict, int]:
    counted = Counter(entry.verdict for entry in entries)
    return {verdict: counted[verdict] for verdict in VERDICTS if counted[verdict]}
