"""Numbers from stored cells that several claims and figures need: errors over seeds, texts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from attnlab.lab.cell import Cell
from attnlab.lab.study import UNDECIDED, Judgement, Resolution, Scale, Verdict, View, openness
from attnlab.rank.study import grids
from attnlab.stats import Estimate, agree, normal_threshold

FACTOR = 2.0
OF_ERROR = "of the error"
OF_LOG = "of the logarithm of the ratio of errors"
HALF = 0.5  # of a law: a network whose error is off by so much is another one
WIDE = 1.1  # of the best seed: worse seeds are shown
LINE = (
    f"holds where the best seed of the worse side has more than {FACTOR:g} times the error of the "
    "worst seed of the better side, fails where the worse side is not worse, undecided between "
    "(our choice)"
)
PAPER_SETTING: dict[str, Any] = {"grade": "paper's setting"}
PAPER_SIZES = "Sizes and steps are the paper's."
AT_PAPER = "'attnlab reproduce rank --scale paper'"


@dataclass(frozen=True)
class HeldOut:
    """The held-out errors of one configuration over its seeds, with their standard errors.

    A member that diverged has neither; `diverged` counts them. They are worse than any other
    member and never the best.
    """

    errors: tuple[float, ...]
    standard_errors: tuple[float, ...]
    diverged: int

    @property
    def mean(self) -> float:
        """Over the seeds that did not diverge."""
        return statistics.fmean(self.errors) if self.errors else math.inf

    @property
    def deviation(self) -> float:
        """The standard deviation over seeds."""
        return statistics.stdev(self.errors) if len(self.errors) > 1 else 0.0

    @property
    def best(self) -> float:
        """The least error."""
        return min(self.errors, default=math.inf)

    @property
    def worst(self) -> float:
        """The largest error; infinite where a member diverged."""
        return math.inf if self.diverged else max(self.errors, default=math.inf)

    @property
    def shown(self) -> str:
        """The mean over seeds, or their range where it is wider than a tenth."""
        if not self.diverged and self.worst > WIDE * self.best:
            return f"{self.best:.3f} to {self.worst:.3f}"
        return f"{self.mean:.3f}"

    @property
    def allowed(self) -> float:
        """How many units a single error may be off: the level's standard errors of the largest."""
        return normal_threshold(1) * max(self.standard_errors, default=math.inf)

    @property
    def sampling(self) -> float:
        """What held-out samples leave open, in units of the error's logarithm.

        A member that diverged leaves nothing open.
        """
        return self.allowed / self.best if self.errors else 0.0

    @property
    def spread(self) -> float:
        """What seeds and held-out samples leave open, in units of the error's logarithm."""
        if self.diverged or not self.errors or self.best <= 0:
            return math.inf
        return math.log(self.worst / self.best) + self.sampling


def held_out(view: View, cell: Cell) -> HeldOut:
    """The held-out errors of a cell with training."""
    rows = view.rows(cell)
    kept = [row for row in rows if row.test is not None]
    return HeldOut(
        tuple(row.test for row in kept),
        tuple(row.test_error for row in kept),
        len(rows) - len(kept),
    )


def larger(above: HeldOut, below: HeldOut, factor: float = 1.0) -> tuple[Verdict, Resolution]:
    """Whether every seed of one side has more than `factor` times the error of the other's seeds.

    It holds where all pairs of seeds say so, and fails where no seed of the first side is worse
    than any of the second. The seeds are in the verdict; what held-out samples leave open is
    compared with the distance from the line that was found. Where all members of both sides
    diverged, or the seeds overlap, nothing is decided.
    """
    hidden = math.hypot(above.sampling, below.sampling)
    if above.errors and above.best > factor * below.worst:
        found = math.log(above.best) - math.log(factor * below.worst)
        return "holds", Resolution(hidden, found, OF_LOG)
    if above.errors and not above.diverged and above.worst <= below.best:
        found = math.log(factor * below.best) - math.log(above.worst)
        return "fails", Resolution(hidden, found, OF_LOG)
    return UNDECIDED, Resolution(math.inf, math.log(FACTOR), OF_LOG)


@dataclass(frozen=True)
class Contrast:
    """Whether one group of configurations has clearly larger errors than another."""

    worse: HeldOut  # the best configuration of the group that should be worse
    better: HeldOut  # the worst configuration of the other

    @property
    def judged(self) -> tuple[Verdict, Resolution]:
        """As `LINE` says, and what the held-out samples resolve."""
        return larger(self.worse, self.better, FACTOR)

    @property
    def verdict(self) -> Verdict:
        """The first of `judged`."""
        return self.judged[0]

    @property
    def resolution(self) -> Resolution:
        """The second of `judged`."""
        return self.judged[1]


def contrast(worse: Sequence[HeldOut], better: Sequence[HeldOut]) -> Contrast:
    """The best of one group against the worst of the other."""
    return Contrast(min(worse, key=lambda one: one.best), max(better, key=lambda one: one.worst))


def error_times_norm(view: View) -> float:
    """The error of a softmax head −c I times its norm c √d, to leading order in 1 / c (Fact 1).

    The others among N points are N − 1.
    """
    from attnlab.rank.theory.full_rank import softmax_limit

    base = grids.PANELS[view.scale].base
    return softmax_limit(base.d, [0.0] * (base.N - 1)) * math.sqrt(base.d)


def setting(view: View, cells: Sequence[Cell], lacks: str = "") -> dict[str, Any]:
    """Grade of evidence from these encoders, and all that differs from the paper's.

    `lacks` says what the statement is about and these cells do not have.
    """
    if view.scale == "paper":
        return {"grade": "smaller setting", "differs": lacks} if lacks else PAPER_SETTING
    sizes = _sizes([cell.config for cell in cells])
    return {"grade": "smaller setting", "differs": f"{sizes}; {lacks}" if lacks else sizes}


def _sizes(configs: Sequence[Any]) -> str:
    """The sizes of encoders that are not those of the paper, each with all of its values."""

    def values(name: str) -> str:
        return ", ".join(f"{value:g}" for value in sorted({getattr(c, name) for c in configs}))

    parts = [f"d = {values('d')}", f"N = {values('N')}", f"L = {values('layers')}"]
    if any(config.mlp for config in configs):
        parts.append(f"a perceptron of {values('mlp')}")
    parts += [f"{values('steps')} steps of {values('batch')} sequences"]
    if any(config.rate != grids.PANELS["paper"].base.rate for config in configs):
        parts.append(f"rate {values('rate')}")
    return ", ".join([*parts, f"{values('seeds')} seeds"])


def longer(view: View, lacks: str = "") -> str:
    """Which further run has more evidence; none where all of it comes from the scale `paper`.

    `lacks` is what `setting` gets: what the statement is about and the stored cells do not have.
    """
    if view.scale != "paper":
        return f"The paper's sizes and steps are those of {AT_PAPER}."
    return f"What is missing is computed by {AT_PAPER}." if lacks else PAPER_SIZES


def at_paper(view: View, verdict: Verdict) -> Verdict:
    """A verdict that only the paper's sizes give: smaller encoders neither confirm nor refute.

    What depth, encodings and accuracy are depends on the dimension and on the length of the
    training, so that smaller encoders may say the contrary of the paper's.
    """
    return verdict if view.scale == "paper" else UNDECIDED


def against_law(
    view: View, cells: Sequence[Cell], law: str = "law"
) -> tuple[bool, str, str, Resolution]:
    """Sampled networks against their laws: whether all agree, the errors, the laws, what is seen.

    Parameters
    ----------
    view, cells
        Results, and cells of one row with d, heads, error and standard error.
    law
        The row's field with its law.
    """
    rows = [(cell.config, view.row(cell)) for cell in cells]
    laws = [getattr(row, law) for _, row in rows]
    compared = [
        agree(Estimate(row.error, row.standard_error, config.samples), value, len(rows))
        for (config, row), value in zip(rows, laws, strict=True)
    ]
    found = list(zip(compared, laws, strict=True))
    seen = Resolution(max(one.allowed / value for one, value in found), HALF, OF_ERROR)
    # Of a refutation: what its samples leave open, and the departure that was found.
    wrong = [
        Resolution(one.allowed / value, abs(one.difference) / value, OF_ERROR)
        for one, value in found
        if not one.agrees
    ]
    return (
        not wrong,
        "; ".join(
            f"d = {config.d}, H = {config.heads}: {row.error:.3f} ± {row.standard_error:.3f}"
            for config, row in rows
        ),
        ", ".join(f"{value:.4f}" for value in laws),
        min(wrong, key=openness) if wrong else seen,
    )


def beyond_scale(view: View, needs: Sequence[Scale], why: str) -> Judgement | None:
    """The judgement where the scale cannot decide, or None where it can."""
    if view.scale in needs:
        return None
    view.rows(grids.fresh(view.scale, view.seed))  # where nothing was run, that comes first
    return Judgement(
        UNDECIDED,
        f"not judged at {view.scale}",
        "",
        "",
        f"{why}; run 'attnlab reproduce rank --scale {needs[0]}'.",
    )


def rounded_down(value: float, digits: int) -> str:
    """A lower bound in so many decimals: never above the value itself."""
    return _rounded(math.floor, value, digits)


def rounded_up(value: float, digits: int) -> str:
    """An upper bound in so many decimals: never below the value itself."""
    return _rounded(math.ceil, value, digits)


def _rounded(towards: Callable[[float], int], value: float, digits: int) -> str:
    if not math.isfinite(value):
        return str(value)
    return f"{towards(value * 10**digits) / 10**digits:.{digits}f}"


def listed(values: Iterable[float], digits: int = 3) -> str:
    """Numbers with so many decimals, separated by commas."""
    return ", ".join(f"{value:.{digits}f}" for value in values)
