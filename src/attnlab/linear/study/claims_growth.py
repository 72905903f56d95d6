"""A claim about how FULL is trained: layer by layer, or all layers at once from random weights.

The paper (Vladymyrov et al., arXiv 2402.14180) does not say from which weights it starts. Of every
law and depth five networks of each kind ship (`training.full_networks` and `full_growth`).
"""

from __future__ import annotations

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, results
from attnlab.linear.study.table_1 import DEPTHS, LAWS, law_name
from attnlab.stats import LEVEL, normal_threshold

COMPARED = [(law, depth) for law in LAWS[1:] for depth in DEPTHS if depth > 1]
HALF = 0.5  # of the loss: what a network in another minimum differs by


def _grown(view: View) -> Judgement:
    """A best network without a heavy tail counts as below one with such a tail."""
    if view.scale == "quick":
        return results.open_until("only the best network of every depth at this scale", "standard")
    z = normal_threshold(len(COMPARED))
    below, above, errors, rows = [], [], [], []
    kinds = {
        law: [full_results.every_start(view, law, grown=grown) for grown in (False, True)]
        for law in dict(COMPARED)
    }
    for law, depth in COMPARED:
        if not all(depth in starts for starts in kinds[law]):
            continue
        pair = [full_results.best(starts[depth]) for starts in kinds[law]]
        scratch, grown = map(results.loss_of, pair)
        rows += pair
        name = f"{law_name(law)} L = {depth}: {grown.value:.3g} ({scratch.value:.3g})"
        if results.steady(scratch) != results.steady(grown):
            (below if results.steady(grown) else above).append(f"{name}, with a heavy tail")
        elif results.steady(grown):
            gap, error = results.difference(grown, scratch)
            errors.append(z * error / scratch.value)
            if abs(gap) > z * error:
                (below if gap < 0 else above).append(name)
    if not errors:
        return full_results.no_full_network()
    half = len(COMPARED) / 2
    verdict: Verdict = UNDECIDED
    if len(below) > half:
        verdict = "holds"
    elif len(COMPARED) - len(above) <= half:
        verdict = "fails"
    steps = sorted({row.steps_trained for row in rows if results.is_grown(row)})
    note = (
        f"Grown networks (from random weights of all layers): above in {results.listed(above)}. "
        f"They have {steps[0]:,} to {steps[-1]:,} steps in all."
    )
    return Judgement(
        verdict,
        f"below in {len(below)} of {len(COMPARED)} cells, above in {len(above)}",
        "below in more than half of the cells",
        f"{z:.1f} standard errors (familywise level {LEVEL:g}); the best of five each, chosen on "
        "other sequences; a network without a heavy tail counts as below one with such a tail",
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=Resolution(max(errors), HALF, "of the loss from random weights"),
    )


CLAIMS = (
    Claim(
        "full-grown",
        "Ours, beside Table 1",
        "With noise and from two layers on, the best of five FULL networks that are grown layer by "
        "layer has a smaller loss than the best of five from random weights of all layers in more "
        "than half of the cells of Table 1.",
        _grown,
        ("full-starts",),
        ours=True,
    ),
)
