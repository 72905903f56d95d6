"""Claims that the paper reads off Figure 2(b): the error against the width m."""

from __future__ import annotations

import math
import statistics
from typing import Any

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Verdict, View, openness
from attnlab.random.study import grids, results
from attnlab.random.study.comparisons import (
    Signs,
    below_everywhere,
    is_near,
    law_table,
    samples_rows,
    signs,
    width_rows,
)
from attnlab.random.study.evidence import at_dimension, decided
from attnlab.random.study.panels import ACTIVATIONS, PSIS, RIDGES, TAU
from attnlab.stats import Estimate

SOURCE = "Demir, Dogan, Figure 2(b)"
HIGH = 100.0
NARROW, UNDER, WIDE = PSIS[0], (0.1, 0.25, 0.5, 0.75), (1.5, 2.0, 3.0)
CHOSEN = tuple(psi for psi in PSIS if not is_near(psi))  # widths that are not close to m = n


def _peak(value: float) -> str:
    """The error at m = n in words: rounding decides its digits."""
    return f"above {HIGH:g}" if value > HIGH else f"{value:.1g}"


def _named(model: str, psi: float) -> str:
    return f"{model}, m/n = {psi:g}"


def _over(view: View, widths: tuple[float, ...]) -> tuple[Signs, list[float]]:
    """log(error at the narrowest width / at others) and the same in the limit."""
    points, limits = {}, []
    law = law_table(view, "width")
    for model in ACTIVATIONS:
        rows = width_rows(view, model)
        for psi in widths:
            points[_named(model, psi)] = results.log_ratio(rows[NARROW], rows[psi])
            limits.append(math.log(law[model, NARROW].value / law[model, psi].value))
    return signs(points), limits


def _falls_with_width(view: View) -> Judgement:
    """Refuted if below m = n no wider model is better than the narrowest, and the wide are worse.

    Between the narrowest ones the error hardly changes.
    """
    found, limits = _over(view, UNDER)
    widest = [_named(m, psi) for m in ACTIVATIONS for psi in UNDER[2:]]
    rises = set(widest) <= set(found.below)
    simulated: Verdict = "holds" if found.above else "fails" if rises else UNDECIDED
    seen = found.clearest(found.above) if found.above else found.weakest(widest)
    limit: Verdict = "fails" if max(limits) < 0 else "holds"
    verdict, remark = decided(view, simulated, limit)
    rows, law = width_rows(view, "relu"), law_table(view, "width")
    means = ", ".join(f"{results.mean(rows[psi]).value:.3f}" for psi in PSIS[:5])
    values = ", ".join(f"{law['relu', psi].value:.3f}" for psi in PSIS[:5])
    return Judgement(
        verdict,
        f"ReLU {means} at m/n = {', '.join(f'{psi:g}' for psi in PSIS[:5])} (limit {values}); "
        f"log(error at m/n = {NARROW:g} / at wider) {found.range()} for ReLU and tanh",
        "falling up to a minimum below m = n",
        found.tolerance,
        "Without a ridge the error rises from the narrowest width on, where it is close to that of "
        f"the constant predictor, {law['relu', NARROW].reference:.3f}. {remark}".strip(),
        *at_dimension(view),
        seen,
    )


def _moderate(view: View) -> Judgement:
    """Refuted if the narrowest model is better than every over-parameterised one."""
    found, limits = _over(view, WIDE)
    better = len(found.above) == len(found.points)
    every = [[_named(model, psi) for psi in WIDE] for model in ACTIVATIONS]
    worse = [names for names in every if set(names) <= set(found.below)]
    seen = min((found.weakest(names) for names in worse or [found.points]), key=openness)
    simulated: Verdict = "fails" if worse else "holds" if better else UNDECIDED
    limit: Verdict = "fails" if max(limits) < 0 else "holds"
    verdict, remark = decided(view, simulated, limit)
    rows, law = width_rows(view, "relu"), law_table(view, "width")
    best = min(rows, key=lambda psi: statistics.median(row.icl for row in rows[psi]))
    return Judgement(
        verdict,
        f"ReLU is best at m/n = {best:g} of those simulated; log(error at m/n = {NARROW:g} / at "
        f"1.5, 2 and 3) {found.range()} for ReLU and tanh; in the limit ReLU has "
        f"{law['relu', NARROW].value:.3f} at {NARROW:g}, {law['relu', 3.0].value:.3f} at 3, "
        f"{law['relu', 10.0].value:.3f} at 10, {law['relu', 100.0].value:.3f} at 100",
        "a smaller error at some m/n above 1 than at any below",
        found.tolerance,
        "Above m = n wider is always better, and the narrowest width is better than all of them. "
        f"{remark}".strip(),
        *at_dimension(view),
        seen,
    )


def _double_descent(view: View) -> Judgement:
    """Log ratios that are below 0 if the error rises towards m = n and falls beyond it.

    The error at m = n itself must be the largest; its height is decided by rounding.
    """
    points: dict[str, Estimate] = {}
    limits, peaked = [], True
    law = law_table(view, "width")
    for model in ACTIVATIONS:
        rows = width_rows(view, model)
        middle = {psi: statistics.median(row.icl for row in rows[psi]) for psi in PSIS}
        peaked = peaked and max(middle, key=lambda psi: middle[psi]) == 1
        for low, high in ((0.5, 0.9), (3.0, 1.1)):
            points[f"{model}, {low:g} and {high:g}"] = results.log_ratio(rows[low], rows[high])
            limits.append(law[model, low].value - law[model, high].value)
    found = signs(points)
    # Without a ridge the law diverges as 1/|1 - m/n| on both sides.
    scaled = [law["relu", psi].value * abs(1 - psi) for psi in (0.75, 0.9, 1.1)]
    limit = below_everywhere(limits) if max(scaled) / min(scaled) < 2 else "fails"
    simulated = found.verdict if peaked or found.verdict == "fails" else UNDECIDED
    verdict, remark = decided(view, simulated, limit)
    relu = width_rows(view, "relu")
    shown = {psi: statistics.median(r.icl for r in relu[psi]) for psi in (0.5, 0.9, 1.0, 1.1, 3.0)}
    return Judgement(
        verdict,
        "medians of ReLU over runs "
        + ", ".join(_peak(v) if psi == 1 else f"{v:.3g}" for psi, v in shown.items())
        + f" at m/n = {', '.join(f'{psi:g}' for psi in shown)}",
        "a peak at m = n, and lower errors on both sides of it",
        f"{found.tolerance}; in the limit error times |1 - m/n| is constant up to a factor of 2",
        "At m = n the mean over runs has no finite variance, and the error is decided by rounding "
        f"beyond its order of magnitude. {remark}".strip(),
        *at_dimension(view),
        found.resolution,
    )


def ridge_rows(view: View) -> dict[tuple[float, float], list[Any]]:
    """The ReLU transformer's runs of Figure 2(c) by ridge and m/n."""
    found = results.by_place(view, grids.panel_runs("ridge", view.scale, view.seed))
    places = [place for place in found if place.model == "relu"]
    widths = sorted({place.width for place in places if place.width is not None})
    ratio = dict(zip(widths, PSIS, strict=True))
    return {(p.ridge, ratio[p.width]): found[p] for p in places if p.width is not None}


def _width_or_ridge(view: View) -> Judgement:
    """Log ratios to linear attention that are below 0 away from m = n, and at m = n with a ridge.

    That an MLP helps nowhere else is no part of the sentence.
    """
    linear = samples_rows(view, "relu", "linear")[TAU]
    reference = _logs(linear)
    rows, ridged = width_rows(view, "relu"), ridge_rows(view)
    points: dict[str, Estimate] = {}
    for name, several in (
        *((f"m/n = {psi:g}", rows[psi]) for psi in CHOSEN),
        *((f"m = n, λ = {ridge:g}", ridged[ridge, 1.0]) for ridge in RIDGES if ridge >= 1),
    ):
        own = _logs(several)
        error = math.hypot(own.standard_error, reference.standard_error)
        points[name] = Estimate(own.value - reference.value, error, own.samples)
    found = signs(points)
    law, line = law_table(view, "width"), law_table(view, "relu target")["linear", TAU].value
    limits = [law["relu", psi].value - line for psi in CHOSEN]
    verdict, remark = decided(view, found.verdict, below_everywhere(limits))
    shown = ", ".join(f"{point.value:+.2f} ({at})" for at, point in points.items())
    without = "above" if _logs(rows[1.0]).value > reference.value else "below"
    return Judgement(
        verdict,
        f"log(ReLU / linear attention): {shown}; at m = n without a ridge it is {without} 0",
        "below 0 away from m = n, and at m = n with a ridge of 1 or 10",
        found.tolerance,
        f"Linear attention has λ = 1e-8 throughout. {remark}".strip(),
        *at_dimension(view),
        found.resolution,
    )


def _logs(rows: list[Any]) -> Estimate:
    return Estimate.of(math.log(row.icl) for row in rows)


CLAIMS = (
    Claim(
        "width-or-ridge-suffices",
        "Demir, Dogan, Section 1, condition (iii)",
        "The ReLU MLP improves on linear attention where its width is not close to m = n or it is "
        "regularised (ReLU target, n = 1.5 d²).",
        _width_or_ridge,
        ("fig-2b", "fig-2c"),
    ),
    Claim(
        "fig-2b-falls-with-width",
        SOURCE,
        "The error falls with m while the model is under-parameterised.",
        _falls_with_width,
        ("fig-2b",),
    ),
    Claim(
        "double-descent",
        SOURCE,
        "Without a ridge the error has a peak at m = n and falls again beyond it.",
        _double_descent,
        ("fig-2b",),
    ),
    Claim(
        "fig-2b-moderate-overparameterisation",
        SOURCE,
        "Moderate over-parameterisation is best.",
        _moderate,
        ("fig-2b",),
    ),
)
