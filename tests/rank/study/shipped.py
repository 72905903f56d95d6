"""The shipped evidence of `rank`, with closed forms computed where their cells are newer.

A change of a kind of cells that is a closed form or a count shows its verdict here before the
evidence is computed and packed again. Trained and sampled cells are never replaced.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from attnlab.lab.evidence import evidence_of
from attnlab.lab.ledger import NOT_COMPUTED, Entry, judge
from attnlab.lab.study import Missing, View
from attnlab.rank.study import study
from tests.rank.study.evidence import COMPUTED, rows_of


@dataclass(frozen=True, repr=False)
class Completed(View):
    """A shipped run and the closed forms that it does not have."""

    shipped: View

    def rows(self, cell: Any) -> list[Any]:
        try:
            return self.shipped.rows(cell)
        except Missing:
            if cell.kind.name not in COMPUTED:
                raise
            return rows_of(cell)


@functools.cache
def views() -> list[Completed]:
    """Every shipped run, the largest scale first."""
    evidence = evidence_of(study)
    assert evidence is not None
    return [Completed(run.scale, run.seed, {}, shipped=evidence.view(run)) for run in evidence.runs]


@functools.cache
def shipped_entries() -> list[Entry]:
    """Each claim on the largest scale that decides it, or else on the largest with its results."""
    found = []
    for claim in study.claims:
        entries = [judge(study, claim, seen) for seen in views()]
        known = [one for one in entries if one.measured != NOT_COMPUTED]
        found.append(next((one for one in known if one.decided), (known or entries)[0]))
    return found
