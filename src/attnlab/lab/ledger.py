"""The ledger: every claim of a study judged on what the store holds."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from attnlab.errors import UserError, did_you_mean
from attnlab.lab.fault import describe
from attnlab.lab.judgement import GRADES, UNDECIDED, VERDICTS, Grade, Judgement, Resolution, Verdict
from attnlab.lab.study import NO_SCALE, SCALES, Claim, Missing, Plan, Scale, Study, View

# In a note: the scale that decides, or "" where it says that none does.
NAMED_SCALE = re.compile(
    r"\bscale '?(quick\b|standard\b|paper\b|(?=of the study decides))", re.IGNORECASE
)
NOT_COMPUTED = "not computed"  # what was measured, where the store lacks a result


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
    grade: Grade | None = None
    differs: str = ""  # of a smaller setting: what differs from the paper's
    resolution: Resolution | None = None
    statement_id: str | None = None  # the statement of the paper that it judges or stands beside
    ours: bool = False
    broken: bool = field(default=False, repr=False)  # the check raised: a bug, not a finding
    shipped: Shipped | None = field(default=None, repr=False)  # what a shipped run found of it

    @property
    def best(self) -> Entry:
        """This line where it is decided, or else the shipped run's where that one is."""
        found = self.shipped.entry if self.shipped else self
        return found if found.decided and not self.decided else self

    @property
    def decided(self) -> bool:
        """Whether the claim has a verdict other than undecided."""
        return self.verdict != UNDECIDED

    @property
    def smaller(self) -> bool:
        """Whether it was decided, and at a smaller setting than the paper's."""
        return self.decided and self.grade == "smaller setting"

    def as_dict(self) -> dict[str, Any]:
        """The entry as `attnlab claims --json` prints it."""
        fields = finite(dataclasses.asdict(dataclasses.replace(self, shipped=None)))
        del fields["broken"]
        return {**fields, "shipped": self.shipped.as_dict() if self.shipped else None}


@dataclass(frozen=True)
class Shipped:
    """The line of the ledger of a run that ships with the study, and where that run was made.

    `cells` of the `planned` cells of its scale are shipped.
    """

    entry: Entry
    device: str
    date: str
    cells: int
    planned: int

    @property
    def run(self) -> str:
        """Scale, device and date of the run, and how much of it there is."""
        part = "" if self.cells == self.planned else f", {self.cells} of {self.planned} cells"
        return f"{self.entry.scale}, {self.device}, {self.date}{part}"

    def as_dict(self) -> dict[str, Any]:
        """The object under `shipped` of `attnlab claims --json`."""
        entry = self.entry
        return finite(
            {
                "verdict": entry.verdict,
                "scale": entry.scale,
                "device": self.device,
                "date": self.date,
                "measured": entry.measured,
                "grade": entry.grade,
                "differs": entry.differs,
                "resolution": dataclasses.asdict(seen) if (seen := entry.resolution) else None,
            }
        )


def of_seed(seed: int) -> str:
    """The option that names a seed in a command; none for the usual one."""
    return f" --seed {seed}" if seed else ""


def finite(document: dict[str, Any]) -> dict[str, Any]:
    """A document without the numbers that JSON does not have: they become None."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return finite(value)
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {name: plain(value) for name, value in document.items()}


TALL = "32em"  # of a ledger in a notebook, which scrolls inside


class Ledger(tuple[Entry, ...]):
    """The entries of one or several studies; shows itself as counts, in a notebook as a table."""

    __slots__ = ()

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many claims have each verdict."""
        counted = Counter(entry.verdict for entry in self)
        return {verdict: counted[verdict] for verdict in VERDICTS if counted[verdict]}

    def __repr__(self) -> str:
        listed = ", ".join(f"{number} {verdict}" for verdict, number in self.counts.items())
        return f"Ledger({len(self)} claims{': ' if listed else ''}{listed})"

    def _repr_html_(self) -> str:
        names = ("id", "verdict", "statement", "measured", "reference")
        left = ' style="text-align:left"'  # Jupyter would align words to the right
        head = "".join(f"<th{left}>{name}</th>" for name in names)
        rows = "".join(
            "<tr>"
            + "".join(f"<td{left}>{escape(str(getattr(e, n)))}</td>" for n in names)
            + "</tr>"
            for e in self
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f'<div style="max-height:{TALL};overflow:auto">{table}</div>'


def judge(study: Study, claim: Claim, seen: View) -> Entry:
    """One claim on what was found. A check that raises decides nothing and stops no other."""
    broken = False
    try:
        found = _naming_a_scale(_resolved(_checked(claim.check(seen))), study, seen)
    except Missing as cell:
        found = Judgement(
            UNDECIDED,
            NOT_COMPUTED,
            "",
            "",
            f"The store has no result for {cell}; run "
            f"'attnlab reproduce {study.name} --scale {seen.scale}{of_seed(seen.seed)}'.",
        )
    except Exception as reason:
        broken = True
        found = Judgement(
            UNDECIDED,
            "not judged",
            "",
            "",
            f"The check itself stopped with {describe(reason)}; this is a bug in the check and "
            "says nothing about the claim.",
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
        grade=found.grade,
        differs=found.differs,
        resolution=found.resolution,
        statement_id=study.statement_of(claim.id),
        ours=claim.ours,
        broken=broken,
    )


def _checked(found: object) -> Judgement:
    if not isinstance(found, Judgement):
        raise TypeError(f"a check must return a Judgement, got {type(found).__name__}")
    if found.verdict not in VERDICTS:
        raise ValueError(f"the verdict must be one of {', '.join(VERDICTS)}, got {found.verdict!r}")
    if found.grade is not None and found.grade not in GRADES:
        raise ValueError(f"the grade must be one of {', '.join(GRADES)}, got {found.grade!r}")
    if (found.grade == "smaller setting") != bool(found.differs):
        raise ValueError("'differs' must say what is smaller, of a smaller setting and no other")
    return found


def _resolved(found: Judgement) -> Judgement:
    """Nothing is decided by a check that could not have noticed what the statement is about.

    The resolution of a refutation is what would have been noticed where it was refuted. Only what
    is exact, or has no grade, needs none.
    """
    seen = found.resolution
    needed = found.grade not in (None, "exact")
    if found.verdict == UNDECIDED or (seen.suffices if seen else not needed):
        return found
    note = f"This run would have noticed {seen}." if seen else "The check states no resolution."
    return dataclasses.replace(found, verdict=UNDECIDED, note=f"{found.note} {note}".strip())


def _naming_a_scale(found: Judgement, study: Study, seen: View) -> Judgement:
    """An undecided claim names the next scale, unless its check has said what decides it or that
    nothing does."""
    if found.verdict != UNDECIDED or NAMED_SCALE.search(found.note):
        return found
    if seen.scale == SCALES[-1]:
        note = NO_SCALE
    else:
        larger = SCALES[SCALES.index(seen.scale) + 1]
        note = f"'attnlab reproduce {study.name} --scale {larger}' decides."
    return dataclasses.replace(found, note=f"{found.note} {note}".strip())


def ledger(study: Study, seen: View) -> Ledger:
    """Every claim of a study, judged on what was found."""
    return Ledger(judge(study, claim, seen) for claim in study.claims)


@dataclass(frozen=True, repr=False)
class Judged:
    """A study's results at one scale and seed, with its ledger: what a report shows."""

    plan: Plan
    view: View
    ledger: Ledger

    @classmethod
    def of(cls, plan: Plan, seen: View) -> Judged:
        """Judge every claim of a plan's study."""
        return cls(plan, seen, ledger(plan.study, seen))

    def __repr__(self) -> str:
        return f"Judged({self.plan.study.name}, {self.plan.scale}, {self.ledger!r})"


def select(studies: Sequence[Study], wanted: Sequence[str]) -> list[tuple[Study, Claim]]:
    """The claims with these ids, or whose ids begin so; all of them where none is named.

    What is the id of a claim means that claim alone. Two studies may have claims of the same id:
    the name of a study before a slash, as in "rank/equation-10", means the claim of that study.
    What fits no claim is the user's mistake.
    """
    every = [(study, claim) for study in studies for claim in study.claims]
    picked = [] if wanted else every
    for name in wanted:
        ids = [full_id(*pair) if "/" in name else pair[1].id for pair in every]
        begins = name not in ids
        found = [
            pair
            for pair, id in zip(every, ids, strict=True)
            if id == name or (begins and id.startswith(name))
        ]
        if not found or not name:
            known = {claim.id for _, claim in every}
            of, slash, _ = name.partition("/")
            if slash and of not in (names := {study.name for study in studies}):
                raise UserError(
                    f"Unknown study {of!r} in {name!r}; {did_you_mean(of, names, 1)}there are "
                    f"{', '.join(sorted(names))}."
                )
            raise UserError(
                f"Unknown claim {name!r}; {did_you_mean(name, known, 3)}'attnlab claims' lists "
                f"the {len(known)} ids of {', '.join(study.name for study in studies)}."
            )
        picked = [*picked, *found]
    names = {full_id(*pair) for pair in picked}
    return [pair for pair in every if full_id(*pair) in names]


def full_id(study: Study, claim: Claim) -> str:
    """The id of a claim with the name of its study, which no other claim has."""
    return f"{study.name}/{claim.id}"
