"""Claims that the paper reads off Figure 2(a): the error against the context length l."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from itertools import combinations, pairwise

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Verdict, View, openness
from attnlab.random.study import grids, results
from attnlab.random.study.claims_samples import SLIGHT
from attnlab.random.study.comparisons import (
    LOG_RATIO,
    Signs,
    below_everywhere,
    law_ratios,
    law_table,
    length_rows,
    signs,
)
from attnlab.random.study.evidence import BY_OUR_LAW, at_dimension, by_law, decided
from attnlab.random.study.panels import ACTIVATIONS, LENGTHS
from attnlab.stats import Estimate, student_threshold

SOURCE = "Demir, Dogan, Figure 2(a)"
SHORT, LONG = (0.25, 0.5), (2.0, 4.0, 8.0)  # clearly below and above l = d
MODELS = ("linear", *ACTIVATIONS)


def _pair(short: float, long: float) -> str:
    return f"{short:g} to {long:g} d"


def _by_length(view: View, model: str) -> Signs:
    """log(error at a longer context / at a shorter one) of one model for every pair of lengths.

    All lengths share one standard error, and every pair of every model is one of the tests.
    """
    logs = {
        alpha: Estimate.of(math.log(row.icl) for row in length_rows(view, alpha)[model])
        for alpha in LENGTHS
    }
    pairs = list(combinations(LENGTHS, 2))
    error = math.sqrt(statistics.fmean(each.standard_error**2 for each in logs.values()))
    tests = len(pairs) * len(MODELS)
    threshold = student_threshold(results.freedom(list(logs.values())), tests)
    points = {
        _pair(short, long): Estimate(logs[long].value - logs[short].value, math.sqrt(2) * error)
        for short, long in pairs
    }
    return Signs(points, dict.fromkeys(points, threshold * math.sqrt(2) * error), tests)


def _falls_with_length(view: View) -> Judgement:
    law = law_table(view, "length")
    found = {model: _by_length(view, model) for model in MODELS}
    rising = {model: each.above for model, each in found.items() if each.above}
    falling = all(
        _pair(short, long) in each.below
        for each in found.values()
        for short, long in pairwise(LENGTHS)
    )
    simulated: Verdict = "fails" if rising else "holds" if falling else UNDECIDED
    limit = below_everywhere(
        law[model, long].value - law[model, short].value
        for model in MODELS
        for short, long in pairwise(LENGTHS)
    )
    verdict, remark = decided(view, simulated, limit)
    values = ", ".join(f"{law['linear', alpha].value:.3f}" for alpha in LENGTHS if alpha >= 1)
    means = {
        model: [results.mean(length_rows(view, alpha)[model]).value for alpha in LENGTHS]
        for model in MODELS
    }
    shown = "; ".join(
        f"{model} {', '.join(f'{value:.2f}' for value in several)}"
        for model, several in means.items()
    )
    rises = "; ".join(f"{model} from {', '.join(at)}" for model, at in rising.items())
    steps = [_pair(*step) for step in pairwise(LENGTHS)]
    seen = [
        found[model].clearest(rising[model]) if rising else found[model].weakest(steps)
        for model in rising or MODELS
    ]
    decides = min(seen, key=openness) if rising else max(seen, key=openness)
    return Judgement(
        verdict,
        f"{shown} at l/d = {', '.join(f'{alpha:g}' for alpha in LENGTHS)}; rising beyond chance: "
        f"{rises or 'none'}; limit of linear {values} at l = d, 2 d, 4 d, 8 d",
        "falling for all models",
        "; ".join(f"{model}: {each.tolerance}" for model, each in found.items()),
        "Without a ridge, longer contexts make the covariance of the training tasks nearly "
        f"singular. {remark}".strip(),
        *at_dimension(view),
        decides,
    )


def _against_linear(view: View, lengths: tuple[float, ...]) -> Signs:
    """log(MLP / linear) at some lengths, both activations; all lengths share a standard error."""
    points, asked = {}, []
    for alpha in LENGTHS:
        rows = length_rows(view, alpha)
        for model in ACTIVATIONS:
            name = f"{model}, l = {alpha:g} d"
            points[name] = results.log_ratio(rows[model], rows["linear"])
            asked += [name] if alpha in lengths else []
    found = signs(points)
    allowed = {at: found.allowed[at] for at in asked}
    return Signs({at: points[at] for at in asked}, allowed, tests=len(points))


def _needs_length(view: View) -> Judgement:
    """log(MLP / linear) + SLIGHT at l of d/2 or less: refuted where an MLP is significantly better
    there, since beyond l of about d the text says significantly."""
    plain = _against_linear(view, SHORT)
    found = _beyond_slight(plain)
    laws = {m: law_ratios(view, "length", m, "linear") for m in ACTIVATIONS}
    early = min(laws[m][alpha] for m in ACTIVATIONS for alpha in SHORT)
    none_gains = len(found.above) == len(found.points)
    simulated: Verdict = "fails" if found.below else "holds" if none_gains else UNDECIDED
    verdict, remark = decided(view, simulated, "fails" if early < -SLIGHT else "holds")
    relu = ", ".join(f"{laws['relu'][alpha]:+.3f}" for alpha in LENGTHS)
    return Judgement(
        verdict,
        f"log(MLP / linear) at l = d/4 and d/2: {plain.range()}; significantly better already "
        f"there: {'; '.join(found.below) or 'none beyond chance'} (ReLU in the limit {relu} at "
        f"l/d = {', '.join(f'{alpha:g}' for alpha in LENGTHS)})",
        f"above -{SLIGHT:g} below l of about d: a gain up to that is slight",
        f"{found.tolerance} (of the log ratio + {SLIGHT:g})",
        "ReLU gains at every l, because the mean of its features acts as an intercept. "
        f"{remark}".strip(),
        *at_dimension(view),
        found.clearest(found.below) if found.below else found.weakest(found.points),
    )


def _gains_beyond(view: View) -> Judgement:
    """log(MLP / linear) + SLIGHT must be below 0: the text says significantly better."""
    plain = _against_linear(view, LONG)
    found = _beyond_slight(plain)
    limits = [law_ratios(view, "length", m, "linear")[a] for m in ACTIVATIONS for a in LONG]
    limit = below_everywhere(value + SLIGHT for value in limits)
    verdict, remark = decided(view, found.verdict, limit)
    if limit == "fails":
        remark = f"In the limit the smallest of these gains is slight. {remark}".strip()
    return Judgement(
        verdict,
        f"log(MLP / linear) {plain.range()} at l = 2 d, 4 d and 8 d for ReLU and tanh (limit "
        f"{min(limits):+.3f} to {max(limits):+.3f})",
        f"below -{SLIGHT:g}: a gain up to that is slight",
        f"{found.tolerance} (of the log ratio + {SLIGHT:g})",
        remark,
        *at_dimension(view),
        found.resolution,
    )


def _beyond_slight(plain: Signs) -> Signs:
    """The log ratios + SLIGHT: below 0 where a gain is more than slight."""
    points = {
        at: Estimate(point.value + SLIGHT, point.standard_error, point.samples)
        for at, point in plain.points.items()
    }
    return replace(plain, points=points)


def _context(view: View) -> Judgement:
    cell = grids.law_numbers()
    best = {
        model: min(results.table(view, cell, "length", model), key=lambda row: row.value)
        for model in ("relu", "tanh", "linear")
    }
    right = best["relu"].at == 8 and best["tanh"].at in (1, 2) and best["linear"].at == 1
    return Judgement(
        "holds" if right else "fails",
        "; ".join(f"{model} {row.value:.3f} at l = {row.at:g} d" for model, row in best.items()),
        "ReLU 8 d, tanh and linear d to 2 d",
        "the law evaluated to rounding, on a grid of lengths that differ by factors of 2",
        "",
        *BY_OUR_LAW,
        by_law(min(_margin(view, model, row.value) for model, row in best.items()), LOG_RATIO),
    )


def _margin(view: View, model: str, best: float) -> float:
    """How far the second best length is from the best, as a log ratio."""
    rows = results.table(view, grids.law_numbers(), "length", model)
    return min(math.log(row.value / best) for row in rows if row.value > best)


CLAIMS = (
    Claim(
        "fig-2a-falls-with-length",
        SOURCE,
        "The error falls with the context length for all models.",
        _falls_with_length,
        ("fig-2a",),
    ),
    Claim(
        "context-length-minimum",
        "ours",
        "By our limit law the best context length without a ridge is finite: 8 d for ReLU, d to "
        "2 d for tanh and linear attention.",
        _context,
        ("fig-2a",),
        ours=True,
    ),
    Claim(
        "fig-2a-mlp-gains-beyond",
        SOURCE,
        "Beyond l of about d both MLPs are significantly better than linear attention: by more "
        "than a slight gain.",
        _gains_beyond,
        ("fig-2a",),
    ),
    Claim(
        "fig-2a-mlp-needs-length",
        SOURCE,
        "Below l of about d no MLP is significantly better than linear attention: by more than a "
        "slight gain.",
        _needs_length,
        ("fig-2a",),
    ),
)
