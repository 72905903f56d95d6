"""What a check finds: the verdict, the evidence behind it, and how closely it looked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Verdict = Literal["holds", "holds as corrected", "fails", "undecided at this scale"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
UNDECIDED: Verdict = "undecided at this scale"

Grade = Literal["exact", "paper's setting", "smaller setting"]
GRADES: tuple[Grade, ...] = get_args(Grade)


@dataclass(frozen=True)
class Resolution:
    """The smallest departure from its statement that a check would have noticed.

    It is computed from the rows and the law that the verdict is computed from. A check that could
    not have seen a departure of size `limit` decides nothing.

    Parameters
    ----------
    value
        The smallest departure that this run would have noticed.
    limit
        The departure that the statement is about: as large as this, and it would be false.
    unit
        What is measured, with its article: "of the ratio to the law", "standard deviations".
    """

    value: float
    limit: float
    unit: str

    @property
    def suffices(self) -> bool:
        """Whether a departure that matters would have been noticed."""
        return math.isfinite(self.value) and self.value <= self.limit

    def __str__(self) -> str:
        return f"{self.value:.2g} {self.unit}; the statement is about {self.limit:.2g}"


def openness(seen: Resolution) -> float:
    """What could be hidden over what the statement is about: above 1 where nothing is decided."""
    return seen.value / seen.limit if seen.limit else math.inf


def all_of(parts: Sequence[tuple[Verdict, Resolution]]) -> tuple[Verdict, Resolution]:
    """The verdict on a statement of several parts, and what decides it.

    One part that fails refutes it, and then the clearest of these decides. It holds where all parts
    do, and then the weakest of them decides.
    """
    refuting = [seen for verdict, seen in parts if verdict == "fails"]
    if refuting:
        return "fails", min(refuting, key=openness)
    weakest = max((seen for _, seen in parts), key=openness)
    return ("holds" if all(verdict == "holds" for verdict, _ in parts) else UNDECIDED), weakest


@dataclass(frozen=True)
class Judgement:
    """What a check found: the verdict, the numbers behind it, and the law behind the tolerance.

    Parameters
    ----------
    verdict
        One of the four verdicts.
    measured, reference
        What the stored results give, and what that was compared with.
    tolerance
        The law that says how far apart the two may be.
    note
        What a reader should know.
    grade
        The kind of evidence: "exact" (algebra to rounding, a law, a count over all cases),
        "paper's setting", or "smaller setting".
    differs
        Of a smaller setting: what differs from the paper's, such as "d = 16, one layer".
    resolution
        The smallest departure that this run would have noticed; None where nothing is sampled and
        nothing is fitted.
    """

    verdict: Verdict
    measured: str | float
    reference: str | float
    tolerance: str
    note: str = ""
    grade: Grade | None = None
    differs: str = ""
    resolution: Resolution | None = None
