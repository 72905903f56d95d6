"""Claims about the ridge: what it does to the peak of Figure 2(c), and which is best."""

from __future__ import annotations

import math
import statistics
from collections import ChainMap
from itertools import pairwise, product

from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View
from attnlab.random.study import grids, results
from attnlab.random.study.claims_width import ridge_rows
from attnlab.random.study.comparisons import below_everywhere, signs
from attnlab.random.study.evidence import BY_OUR_LAW, at_dimension, decided
from attnlab.random.study.panels import PSIS, RIDGES
from attnlab.stats import Estimate

FIGURE_2C = "Demir, Dogan, Figure 2(c)"
STEPS = tuple(step for step in pairwise(RIDGES) if step[0] >= 1e-2)
WEAK_STEPS = tuple(step for step in pairwise(RIDGES) if step not in STEPS)
PEAK, BEYOND = (0.9, 1.0, 1.1), 1.5  # m/n at the peak, and where its height is measured from
STRONG = RIDGES[-1]
LAST = 0.01  # relative, how far the smallest ridge may be from the closed form of its peak


def _regularised(view: View) -> Judgement:
    """log(error near m = n / at 1.5 n), run by run, from each ridge to the next."""
    rows = ridge_rows(view)

    def heights(ridge: float, psi: float = 1.0) -> list[float]:
        pairs = zip(rows[ridge, psi], rows[ridge, BEYOND], strict=True)
        return [math.log(peak.icl / beyond.icl) for peak, beyond in pairs]

    def change(weak: float, strong: float, psi: float = 1.0) -> dict[str, Estimate]:
        steps = zip(heights(strong, psi), heights(weak, psi), strict=True)
        name = f"m/n = {psi:g}, λ = {weak:g} to {strong:g}"
        return {name: Estimate.of(one - other for one, other in steps)}

    # Each weak ridge has a spread of its own at m = n, and hardly acts next to it.
    around = [change(*step, psi) for step, psi in product(STEPS, PEAK)]
    found = signs(dict(ChainMap(*around)), *(change(*step) for step in WEAK_STEPS))
    by_law = _law_heights(view)
    limit = below_everywhere(
        by_law[strong, psi] - by_law[weak, psi]
        for (weak, strong), psi in (*product(STEPS, PEAK), *product(WEAK_STEPS, (1.0,)))
    )
    verdict, remark = decided(view, found.verdict, limit)
    shown = ", ".join(f"{statistics.median(heights(r)):+.2f} (λ = {r:g})" for r in RIDGES)
    d = grids.size(view.scale).d
    return Judgement(
        verdict,
        f"log(error at m = n / at 1.5 n), median over runs: {shown}; from each λ to the next it "
        f"changes by {found.range()}",
        "smaller for every larger λ",
        found.tolerance,
        f"The peak depends on λ/d, here with d = {d}: its height is of order √(d/λ), so that at a "
        f"fixed λ it returns as d grows (peak-rate). {remark}".strip(),
        *at_dimension(view),
        found.resolution,
    )


def _law_heights(view: View) -> dict[tuple[float, float], float]:
    """log(error at m/n / at 1.5) in the limit law, by ridge and m/n."""
    errors = _law_errors(view)
    return {
        (ridge, psi): math.log(errors[ridge, psi] / errors[ridge, BEYOND])
        for ridge, psi in product(RIDGES, PEAK)
    }


def _law_errors(view: View) -> dict[tuple[float, float], float]:
    """The limit law of the ReLU transformer in Figure 2(c), by ridge and m/n."""
    law = results.laws(view, grids.panel_laws("ridge", view.scale, view.seed), "limit")
    found = {}
    for ridge in RIDGES:
        errors = {
            place.width or 0: row.icl
            for place, row in law.items()
            if place.model == "relu" and place.ridge == ridge
        }
        by_width = zip(PSIS, (errors[width] for width in sorted(errors)), strict=True)
        found |= {(ridge, psi): error for psi, error in by_width}
    return found


def _more_stable(view: View) -> Judgement:
    """log(largest / smallest error of a curve over m), run by run, from each ridge to the next."""
    rows = ridge_rows(view)

    def ranges(ridge: float) -> list[float]:
        curves = zip(*(rows[ridge, psi] for psi in PSIS), strict=True)
        return [math.log(_range([row.icl for row in curve])) for curve in curves]

    def change(weak: float, strong: float) -> dict[str, Estimate]:
        steps = zip(ranges(strong), ranges(weak), strict=True)
        return {f"λ = {weak:g} to {strong:g}": Estimate.of(one - other for one, other in steps)}

    others = dict(ChainMap(*(change(*step) for step in STEPS)))
    found = signs(others, *(change(*step) for step in WEAK_STEPS))
    law = _law_errors(view)
    by_law = {ridge: _range([law[ridge, psi] for psi in PSIS]) for ridge in RIDGES}
    limit = below_everywhere(by_law[strong] - by_law[weak] for weak, strong in pairwise(RIDGES))
    verdict, remark = decided(view, found.verdict, limit)
    shown = ", ".join(f"{statistics.median(ranges(r)):.2f} (λ = {r:g})" for r in RIDGES)
    return Judgement(
        verdict,
        f"log(largest / smallest error over m), median over runs: {shown}; from each λ to the next "
        f"it changes by {found.range()}",
        "smaller for every larger λ",
        found.tolerance,
        remark,
        *at_dimension(view),
        found.resolution,
    )


def _range(errors: list[float]) -> float:
    return max(errors) / min(errors)


def _peak_rate(view: View) -> Judgement:
    worst, values = 0.0, []
    for model in ("relu", "tanh"):
        rows = results.table(view, grids.law_numbers(), "peak", model)
        off = [abs(row.value / row.reference - 1) for row in rows]
        values.append(f"{model} " + ", ".join(f"{row.value:.4f}" for row in rows))
        worst = max(worst, *(b / a for a, b in pairwise(off)))
        last = off[-1]
        worst = worst if last <= LAST else math.inf
    return Judgement(
        "holds" if worst <= 0.2 else "fails",
        f"error times √(λ/d) at λ/d = 1e-4, 1e-6, 1e-8: {'; '.join(values)}",
        "a constant, in closed form: "
        + ", ".join(
            f"{results.table(view, grids.law_numbers(), 'peak', m)[0].reference:.4f}"
            for m in ("relu", "tanh")
        ),
        "the deviation is of order √(λ/d): each should be a tenth of the one before and may be a "
        "fifth; the last may be 1%",
        "The error on the pool's tasks, in the limit.",
        *BY_OUR_LAW,
        Resolution(LAST, 1.0, "of the constant"),
    )


def _best_ridge(view: View) -> Judgement:
    """log(error at λ = 10 / at 0.1) at every width, and the best λ by the law."""
    rows = ridge_rows(view)
    found = signs(
        {
            f"m/n = {psi:g}": results.log_ratio(rows[STRONG, psi], rows[0.1, psi])
            for psi in PSIS
            if psi >= 0.25
        }
    )
    cell = grids.law_numbers()
    best = [row.value for row in results.table(view, cell, "best delta", "relu")]
    errors = results.table(view, cell, "best error", "relu")
    constant = results.table(view, cell, "width", "relu")[0].reference
    d = grids.size(view.scale).d
    near = max(row.value for row in errors)
    in_limit = min(best) * d > STRONG and near <= constant
    limit: Verdict = "holds" if in_limit else "fails"
    verdict, remark = decided(view, found.verdict if in_limit else "fails", limit)
    return Judgement(
        verdict,
        f"log(error at λ = 10 / at 0.1) {found.range()}; best λ/d from {min(best):.2f} to "
        f"{max(best):.2f} in the limit, with error {errors[-1].value:.3f} to {near:.3f}",
        f"below 0; the constant predictor has {constant:.3f}",
        f"{found.tolerance}; the best λ is exact in the limit",
        f"At d = {d} the best λ is {min(best) * d:.0f} or more: all λ of the figure are too small. "
        f"{remark}".strip(),
        *at_dimension(view),
        found.resolution,
    )


CLAIMS = (
    Claim(
        "double-descent-regularised",
        FIGURE_2C,
        "The larger the ridge, the lower the peak at m = n: from each λ of the figure to the next.",
        _regularised,
        ("fig-2c",),
    ),
    Claim(
        "fig-2c-more-stable",
        FIGURE_2C,
        "The larger the ridge, the more stable the curve: the less its error varies with m.",
        _more_stable,
        ("fig-2c",),
    ),
    Claim(
        "peak-rate",
        "ours",
        "By our limit law the height of the peak at m = n is of order √(d/λ).",
        _peak_rate,
        ("fig-2c",),
        ours=True,
    ),
    Claim(
        "best-lambda",
        "ours",
        "The best λ is of order d, and the error there is about that of the constant predictor.",
        _best_ridge,
        ("fig-2c", "best-ridge"),
        ours=True,
    ),
)
