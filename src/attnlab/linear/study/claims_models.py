"""Claims that compare trained models with each other and with ridges, over a noise law.

Source: Vladymyrov et al. (arXiv 2402.14180), Sections 5 and 6. Words such as "close" and "match"
have no definition in the paper: the tolerance names the threshold that we chose. `quick` trains
with little effort, so that a loss which its networks miss leaves a claim undecided.
"""

from __future__ import annotations

import math

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Missing, Resolution, Verdict, View
from attnlab.linear.study import (
    claims_baselines,
    claims_each_layer,
    full_results,
    grids,
    results,
)
from attnlab.linear.study.claims_baselines import left_open
from attnlab.linear.study.results import MARGIN, clearly_below
from attnlab.linear.study.table_1 import LAWS, UNIFORM, law_name
from attnlab.stats import LEVEL, Estimate, normal_threshold

SOURCE = "Vladymyrov et al., Section 6"
CLOSE = 0.02  # our threshold for "close to"
HEADS_LAWS = (grids.U5, grids.TWO)  # on which DIAG with free omegas is trained


def shown(loss: Estimate) -> str:
    """A loss as text."""
    return f"{loss.value:.4f}" if math.isfinite(loss.value) else "overflow"


def trained_in_full(view: View, model: str, law: str, depth: int) -> bool:
    """Whether the networks of a model had the effort of their family, so that they can refute."""
    if model == "FULL":
        row = full_results.best_rows(view, law).get(depth)
        return row is not None and full_results.enough([row])
    return view.scale != "quick"


def _gd_constant(view: View) -> Judgement:
    found = {
        law: (max(depths), depths[max(depths)], results.ridge(view, "GD++ floor", law))
        for law in results.laws_with(view, "GD++", LAWS[1:])
        for depths in [results.by_depth(view, "GD++", law)]
    }
    z = normal_threshold(len(found))
    off = [
        law
        for law, (_, ours, floor) in found.items()
        if abs(ours.value - floor.value) > z * ours.standard_error + CLOSE * floor.value
    ]
    seen = max(z * ours.standard_error / floor.value for _, ours, floor in found.values())
    losses = [
        f"{law_name(law)} {shown(ours)} (L = {depth}; CONSTRR {floor.value:.4f})"
        for law, (depth, ours, floor) in found.items()
    ]
    verdict = results.after_training(view, "fails" if off else "holds")
    unclear = verdict == UNDECIDED or seen + CLOSE > 0.25
    return Judgement(
        verdict,
        results.listed(losses, most=10),
        "CONSTRR, the exact loss of ridge with the constant E σ²",
        f"{z:.1f} standard errors (familywise level {LEVEL:g}) plus {CLOSE:.0%}, our threshold",
        results.decides("standard") if unclear else "",
        **results.trained_evidence(view),
        resolution=Resolution(seen + CLOSE, 0.25, "of the loss of CONSTRR"),
    )


def _gd_higher(view: View) -> Judgement:
    """Whether the deepest GD++ is above DIAG and FULL of seven layers, law by law."""
    higher, lower, unclear, margins = [], [], [], []
    refuted = False
    for law in LAWS[1:]:
        gd = results.held(view, "GD++", law)
        for model in ("DIAG", "FULL"):
            name, other = f"{model} {law_name(law)}", results.held(view, model, law)
            if not gd or grids.DEEPEST not in other or not results.steady(other[grids.DEEPEST]):
                unclear.append(name)
                continue
            ours, loss = gd[max(gd)], other[grids.DEEPEST]
            margins.append(results.margin(loss, ours))
            if clearly_below(loss, ours):
                higher.append(f"{name} {ours.value / loss.value:.1f}")
            else:
                lower.append(name)
                refuted |= trained_in_full(view, model, law, grids.DEEPEST)
    verdict: Verdict = UNDECIDED if lower or unclear else "holds"
    if refuted:
        verdict = "fails"
    return Judgement(
        verdict,
        f"the loss of GD++ over that of others with {grids.DEEPEST} layers: "
        f"{results.listed(higher, most=18)}",
        "above DIAG and above FULL on every noise law",
        f"by more than {MARGIN:g} standard errors",
        f"Not above: {results.listed(lower)}; not at this scale, or with a heavy tail: "
        f"{results.listed(unclear)}."
        + (f" {left_open(view, unclear + lower)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, *results.laws_with(view, "FULL", LAWS[1:])),
        resolution=Resolution(max(margins, default=math.inf), 0.25, "of the loss of GD++"),
    )


def _gd_stalls(view: View) -> Judgement:
    losses = results.by_depth(view, "GD++", grids.U5)
    best, other = losses[max(losses)], results.by_depth(view, "DIAG", grids.U5)
    deep = {depth: loss for depth, loss in losses.items() if depth >= 3}
    gains = {depth: 1 - best.value / loss.value for depth, loss in deep.items()}
    stalled = all(gain <= CLOSE for gain in gains.values())
    last = other[max(other)]
    return Judgement(
        results.after_training(view, "holds" if stalled and clearly_below(last, best) else "fails"),
        f"GD++ {', '.join(f'{shown(loss)} at {d}' for d, loss in losses.items())} layers; DIAG "
        f"{shown(last)} at {max(other)}",
        "no gain from three layers on, and above DIAG",
        f"at most {CLOSE:.0%} less at the deepest network than at three layers, on the same "
        f"sequences; above DIAG by more than {MARGIN:g} standard errors",
        results.decides("standard") if view.scale == "quick" and not stalled else "",
        **results.trained_evidence(view),
        resolution=Resolution(results.margin(last, best), 0.5, "of the loss of GD++"),
    )


def beating_adarr(view: View, model: str, evidence: results.Evidence, trained: bool) -> Judgement:
    """Whether four layers of a model are below ADARR on every U(0, s_max) with s_max >= 4."""
    losses, above, unclear, missing, margins = [], [], [], [], []
    for law in UNIFORM[4:]:
        ada = results.ridge(view, "ADARR", law)
        ours = results.by_depth(view, model, law).get(4)
        if ours is None:
            missing.append(law_name(law))
            continue
        losses.append(f"{law_name(law)} {shown(ours)} (ADARR {ada.value:.4f})")
        margins.append(results.margin(ours, ada))
        if clearly_below(ada, ours):
            above.append(law_name(law))
        elif not clearly_below(ours, ada):
            unclear.append(law_name(law))
    verdict: Verdict = "fails" if above else UNDECIDED if unclear or missing else "holds"
    if trained:
        verdict = results.after_training(view, verdict)
    return Judgement(
        verdict,
        results.listed(losses, none=f"no four layers of {model} for s_max ≥ 4"),
        "below ADARR for s_max = 4, 5, 6 and 7",
        f"below by more than {MARGIN:g} standard errors on each law",
        f"Above ADARR: {results.listed(above)}; neither above nor below: "
        f"{results.listed(unclear)}; not part of this scale: {results.listed(missing)}."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **evidence,
        resolution=Resolution(max(margins, default=math.inf), 0.25, "of the loss of ADARR"),
    )


def _every_run(view: View, law: str) -> dict[int, Estimate]:
    """The best DIAG network by depth, of all stored runs: also those of up to ten layers."""
    chosen: dict[int, tuple[float, Estimate]] = {}
    runs = grids.trained("DIAG", law, view.scale, view.seed)
    for cell in (*runs, *grids.ten_layers(law, view.scale, view.seed)):
        try:
            rows = view.rows(cell)
        except Missing:
            continue
        for row in rows:
            worth = math.inf if row.selection is None else row.selection
            whole = row.sigma is None and row.read == row.layers
            if whole and (row.layers not in chosen or worth < chosen[row.layers][0]):
                chosen[row.layers] = worth, results.loss_of(row)
    return {depth: chosen[depth][1] for depth in sorted(chosen)}


def _heads(view: View) -> Judgement:
    gains, much, margins, refuting = [], [], [], []
    lacking = {(law, depth) for law in HEADS_LAWS for depth in range(2, grids.DEEPEST)}
    for law in results.laws_with(view, "DIAG, free omegas"):
        one, many = _every_run(view, law), results.by_depth(view, "DIAG, free omegas", law)
        for depth in sorted(one.keys() & many.keys() & {d - 1 for d in one}):
            if not 2 <= depth < grids.DEEPEST:
                continue  # one layer of any kind has the loss of the law
            # A deeper network contains every shallower one: what is worse was trained badly.
            up_to = min((one[d] for d in one if d <= depth), key=lambda loss: loss.value)
            deeper = min(up_to, one[depth + 1], key=lambda loss: loss.value)
            gain, layer = (1 - other.value / up_to.value for other in (many[depth], deeper))
            name = f"{law_name(law)} L = {depth}"
            gains.append(f"{name} {gain:+.1%} (a layer {layer:+.1%})")
            if deeper is up_to:
                continue  # no network of one more layer to compare with
            lacking.discard((law, depth))
            margins.append(results.margin(many[depth], deeper))
            if clearly_below(many[depth], deeper):
                much.append(name)
                refuting.append(margins[-1])
    verdict: Verdict = results.after_training(view, "fails" if much else "holds")
    if lacking and not much:
        verdict = UNDECIDED
    missing = [f"{law_name(law)} L = {depth}" for law, depth in sorted(lacking)]
    return Judgement(
        verdict,
        f"reduction of the loss by free omegas: {results.listed(gains, most=12)}",
        "at every depth less than one more layer gives",
        "more heads are not below the best network of up to one more layer by more than "
        f"{MARGIN:g} standard errors; where our training of one more layer gained nothing, nothing "
        "is compared",
        f"More than a layer: {results.listed(much)}; not at this scale, or one more layer gained "
        f"nothing: {results.listed(missing)}. "
        "Two heads have all four omegas; a third adds nothing (claim more-heads-same)."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view),
        resolution=Resolution(max(refuting or margins, default=math.inf), 0.25, "of the loss"),
    )


CLAIMS = (
    Claim(
        "gd-is-constrr",
        SOURCE,
        "GD++ converges to a loss close to that of ridge with one constant.",
        _gd_constant,
        ("fig-1", "fig-2-deepest"),
    ),
    Claim(
        "gd-higher",
        f"{SOURCE}, Figure 1",
        "GD++ converges to a higher loss than DIAG and FULL.",
        _gd_higher,
        ("fig-1", "fig-3-layers"),
    ),
    Claim(
        "gd-stalls",
        f"{SOURCE}, Figure 2",
        "GD++ converges after a few layers to a solution that is not optimal.",
        _gd_stalls,
        ("fig-1", "fig-2-depths"),
    ),
    Claim(
        "four-layers-beat-adarr-diag",
        SOURCE,
        "Four layers of DIAG have a smaller loss than ADARR on U(0, s_max) for s_max = 4 to 7.",
        lambda view: beating_adarr(view, "DIAG", results.trained_evidence(view), True),
        ("fig-1",),
    ),
    Claim(
        "more-heads",
        "Vladymyrov et al., Section 5",
        "More heads than one add little to DIAG.",
        _heads,
        ("heads",),
    ),
    *claims_baselines.CLAIMS,
    *claims_each_layer.CLAIMS,
)
