"""Claims that the paper reads off Figure 1, point by point: the error against the prompts n.

The figure carries no readable numbers, so its statements are checked by simulation at its
dimension, with the limit law beside it. "At every n" is checked at every n of the grid; sentences
about the curves as a whole are in `claims_activation`.
"""

from __future__ import annotations

import statistics

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Verdict, View
from attnlab.random.study import results
from attnlab.random.study.comparisons import (
    Signs,
    against_samples,
    below_everywhere,
    law_ratios,
    law_table,
    law_typical,
    samples_rows,
    signs,
    typical,
)
from attnlab.random.study.evidence import at_dimension, decided
from attnlab.random.study.panels import TargetName
from attnlab.stats import Estimate

SLIGHT = 0.05  # a gain, as a log ratio, up to which it is called slight
TARGETS: tuple[TargetName, ...] = ("relu", "tanh")
MODELS = ("linear", "relu", "tanh")


def judged(
    view: View, found: Signs, limit: Verdict, measured: str, reference: str, note: str
) -> Judgement:
    """A statement about signs at the dimension of the figures."""
    verdict, remark = decided(view, found.verdict, limit)
    return Judgement(
        verdict,
        measured,
        reference,
        found.tolerance,
        f"{note} {remark}".strip(),
        *at_dimension(view),
        found.resolution,
    )


def _not_monotone(view: View) -> Judgement:
    """Log ratios that are below 0 if the error first rises with n and then falls."""
    points: dict[str, Estimate] = {}
    limits = []
    for target in TARGETS:
        law = law_table(view, f"{target} target")
        for model in MODELS:
            rows = samples_rows(view, target, model)
            for low, high in ((0.1, 0.9), (3.0, 1.1)):
                name = f"{model}, {target} target, {low:g} and {high:g} d²"
                points[name] = results.log_ratio(rows[low], rows[high])
                limits.append(law[model, low].value - law[model, high].value)
    found = signs(points)
    return judged(
        view,
        found,
        below_everywhere(limits),
        "log(error at 0.1 d² / at 0.9 d²) and log(at 3 d² / at 1.1 d²) of linear attention, ReLU "
        f"and tanh for both targets: {found.range()}",
        "below 0: the error first rises with n and then falls",
        "",
    )


def _relu_beats_linear(view: View) -> Judgement:
    found = against_samples(view, "relu", "relu", "linear")
    law = law_ratios(view, "relu target", "relu", "linear")
    undecided = [at for at in found.points if at not in found.below]
    return judged(
        view,
        found,
        below_everywhere(law.values()),
        f"log(ReLU / linear) {found.range()} at all {len(found.points)} n"
        + (f", not below 0 at {', '.join(undecided)}" if undecided else "")
        + f" (limit {min(law.values()):+.3f} to {max(law.values()):+.3f})",
        "below 0 at every n",
        "The mean of the ReLU features acts as an intercept: see intercept-control.",
    )


def _nonlinear_benefit(view: View) -> Judgement:
    """log(ReLU / linear attention with an intercept): below 0 if the gain is more than a mean's."""
    found = against_samples(view, "relu", "relu", "linear+intercept")
    law = law_ratios(view, "relu target", "relu", "linear+intercept")
    return judged(
        view,
        found,
        below_everywhere(law.values()),
        f"log(ReLU / linear with intercept) {found.range()}: worse at {places(found.above)}, "
        f"better at {places(found.below)} (limit {min(law.values()):+.3f} to "
        f"{max(law.values()):+.3f})",
        "below 0 at every n: a gain that an intercept does not give",
        "Linear attention with an intercept processes no feature non-linearly. At n = d² without a "
        "ridge linear attention is at its own peak, with and without an intercept.",
    )


def _tanh_hardly(view: View) -> Judgement:
    """The gain of tanh at every n, less SLIGHT: it must be below 0.

    The sentence is set against the one on ReLU, which is about all n.
    """
    every = against_samples(view, "relu", "tanh", "linear")
    found = Signs({at: _beyond_slight(point) for at, point in every.points.items()}, every.allowed)
    tanh, relu = (typical(view, "relu", model, "linear") for model in ("tanh", "relu"))
    limits = [law_typical(view, "relu", model, "linear") for model in ("tanh", "relu")]
    law = law_ratios(view, "relu target", "tanh", "linear")
    gains = {at: p.value for at, p in every.points.items() if p.value < -SLIGHT}
    shown = ", ".join(f"{gains[at]:+.3f} at {at}" for at in sorted(gains, key=_number))
    return judged(
        view,
        found,
        UNDECIDED,  # in the limit without a ridge both errors diverge at n = d²
        f"log(tanh / linear) is below -{SLIGHT:g} at {len(gains)} of {len(every.points)} n"
        + (f" ({shown})" if shown else "")
        + f", beyond chance at {places(found.above)}; tanh is worse than linear at "
        f"{places(every.above)}; median over n {statistics.fmean(tanh):+.3f}, of ReLU "
        f"{statistics.fmean(relu):+.3f} (limit {limits[0]:+.3f} and {limits[1]:+.3f}; of tanh "
        f"{min(law.values()):+.3f} or more at every n but d²)",
        f"above -{SLIGHT:g} at every n: a gain up to that is slight",
        "The peak of linear attention is at n = d (d + 1), and tanh has its own; where n is a "
        "little larger, tanh gains at finite d what it does not gain in the limit.",
    )


def _beyond_slight(point: Estimate) -> Estimate:
    """How much a gain, as minus a log ratio, is more than slight."""
    return Estimate(-point.value - SLIGHT, point.standard_error, point.samples)


def _number(name: str) -> float:
    return float(name.split()[0])


def places(names: list[str]) -> str:
    """The n of some points in words, in their order."""
    ordered = sorted(names, key=_number)
    return f"n = {', '.join(ordered)}" if names else "no n beyond chance"


def source_of(name: str) -> str:
    return f"Demir, Dogan, Figure {name}"


CLAIMS = (
    Claim(
        "fig-1-not-monotone",
        source_of("1"),
        "The error is not monotone in n: it rises up to n of about d² and then falls.",
        _not_monotone,
        ("fig-1a", "fig-1b"),
    ),
    Claim(
        "fig-1a-relu-beats-linear",
        source_of("1(a)"),
        "For a ReLU target the ReLU MLP has a smaller error than linear attention at every n.",
        _relu_beats_linear,
        ("fig-1a",),
    ),
    Claim(
        "fig-1a-nonlinear-benefit",
        source_of("1(a)"),
        "The gain of the ReLU MLP over linear attention is one of processing features "
        "non-linearly: it is a gain at every n over linear attention with an intercept as well.",
        _nonlinear_benefit,
        ("fig-1a",),
    ),
    Claim(
        "fig-1a-tanh-hardly",
        source_of("1(a)"),
        "For a ReLU target a tanh MLP improves little or not on linear attention at every n.",
        _tanh_hardly,
        ("fig-1a",),
    ),
)
