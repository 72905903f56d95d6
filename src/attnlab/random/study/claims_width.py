"""Claims about the width m, Figure 2(b): below m = n, at the peak, and beyond it."""

from __future__ import annotations

import statistics
from typing import Any

from attnlab.lab.study import Claim, Judgement, View
from attnlab.random.study import grids, results
from attnlab.random.study.comparisons import by_width, contrary, law_table
from attnlab.random.study.panels import PSIS

SOURCE = "Demir, Dogan, Figure 2(b)"
HIGH = 100.0


def _median(rows: list[Any]) -> float:
    return statistics.median(row.icl for row in rows)


def _peak(value: float) -> str:
    """The error at m = n in words: rounding decides its digits."""
    return f"above {HIGH:g}" if value > HIGH else f"{value:.1g}"


def _falls_with_width(view: View) -> Judgement:
    rows = by_width(view, "relu")
    law = law_table(view, "width")
    rise = {0.5: results.log_ratio(rows[0.5], rows[0.05])}
    rises, tolerance = contrary(rise)
    falls = law["relu", 0.5].value < law["relu", 0.05].value
    verdict = "fails" if rises or not falls else "holds"
    means = ", ".join(f"{results.mean(rows[psi]).value:.3f}" for psi in PSIS[:5])
    limits = ", ".join(f"{law['relu', psi].value:.3f}" for psi in PSIS[:5])
    return Judgement(
        verdict,
        f"ReLU {means} at m/n = {', '.join(f'{psi:g}' for psi in PSIS[:5])} (limit {limits})",
        "falling up to a minimum below m = n",
        tolerance,
        "Without a ridge the error rises from the narrowest width on, where it is close to that of "
        f"the constant predictor, {law['relu', 0.05].reference:.3f}.",
    )


def _moderate(view: View) -> Judgement:
    rows = by_width(view, "relu")
    law = law_table(view, "width")
    wide = {at: row.value for (model, at), row in law.items() if model == "relu" and at > 1}
    best = min(rows, key=lambda psi: statistics.median(row.icl for row in rows[psi]))
    moderate = best > 1 and min(wide, key=lambda at: wide[at]) <= 10
    narrow, triple = results.mean(rows[PSIS[0]]), results.mean(rows[3.0])
    return Judgement(
        "holds" if moderate else "fails",
        f"best m/n = {best:g} of those simulated (error {narrow.value:.3f} ± "
        f"{narrow.standard_error:.3f} at {PSIS[0]:g}, {triple.value:.3f} at 3); in the limit "
        f"{wide[3.0]:.3f} at 3, {wide[10.0]:.3f} at 10, {wide[100.0]:.3f} at 100",
        "a minimum at m/n between 1 and 10",
        "the smallest of the medians in simulation; exact in the limit",
        "Above m = n wider is always better, and the narrowest width is better than all of them.",
    )


def _double_descent(view: View) -> Judgement:
    rows = by_width(view, "relu")
    found = {psi: _median(rows[psi]) for psi in (0.5, 0.9, 1.0, 1.1, 1.5, 3.0)}
    ordered = found[0.5] < found[0.9] < found[1.0] and found[1.0] > found[1.1] > found[1.5]
    law = results.table(view, grids.law_numbers(), "width", "relu")
    limit = {row.at: row.value for row in law}
    # Without a ridge the law diverges as 1/|1 - m/n| on both sides.
    scaled = [limit[psi] * abs(1 - psi) for psi in (0.75, 0.9, 1.1)]
    diverges = max(scaled) / min(scaled) < 2
    return Judgement(
        "holds" if ordered and found[1.5] > found[3.0] and diverges else "fails",
        "medians over runs "
        + ", ".join(_peak(v) if psi == 1 else f"{v:.3g}" for psi, v in found.items())
        + f" at m/n = {', '.join(f'{psi:g}' for psi in found)}",
        "a peak at m = n and a second descent",
        "the order of the medians, whose limits differ by factors of more than 1.2; in the limit "
        "error times |1 - m/n| is constant up to a factor of 2",
        "At m = n the mean over runs has no finite variance, and the median is decided by rounding "
        "beyond its order of magnitude.",
    )


CLAIMS = (
    Claim(
        "fig-2b-falls-with-width",
        SOURCE,
        "The error falls with m while the model is under-parameterised.",
        _falls_with_width,
        ("fig-2b",),
    ),
    Claim(
        "fig-2b-moderate-overparameterisation",
        SOURCE,
        "Moderate over-parameterisation is best.",
        _moderate,
        ("fig-2b",),
    ),
    Claim(
        "double-descent",
        SOURCE,
        "Without a ridge the error has a peak at m = n and falls again beyond it.",
        _double_descent,
        ("fig-2b",),
    ),
)
