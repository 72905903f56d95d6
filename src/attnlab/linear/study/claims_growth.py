"""A claim about how FULL is trained: layer by layer, or all layers at once from random weights.

The paper (Vladymyrov et al., arXiv 2402.14180) does not say from which weights it starts. Of every
law and depth five networks of each kind ship (`training.full_networks` and `full_growth`).
"""

from __future__ import annotations

import math

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, results
from attnlab.linear.study.table_1 import DEPTHS, LAWS, law_name
from attnlab.stats import LEVEL, normal_threshold

COMPARED = [(law, depth) for law in LAWS[1:] for depth in DEPTHS if depth > 1]
HALF = 0.5  # of the loss: what a network in another minimum differs by


def _grown(view: View) -> Judgement:
    """Cells in which one of the two best networks has a heavy tail are counted and not compared."""
    if view.scale == "quick":
        return results.open_until("only the best network of every depth at this scale", "standard")
    z = normal_threshold(len(COMPARED))
    below, above, tails, margins, rows = [], [], [], [], []
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
        name = f"{law_name(law)} L = {depth}"
        if not (results.steady(scratch) and results.steady(grown)):
            tails.append(name)
            continue
        gap, error = results.difference(grown, scratch)
        margins.append(z * error / scratch.value)
        if abs(gap) > z * error:
            shown = f"{name} {grown.value:.3g} ({scratch.value:.3g})"
            (below if gap < 0 else above).append(shown)
    if not rows:
        return full_results.no_full_network()
    verdict: Verdict = UNDECIDED
    if below and above:
        verdict = "holds"
    elif max(len(below), len(above)) > len(COMPARED) / 2:
        verdict = "fails"
    note = (
        "The loss of the grown network, and of the one from random weights of all layers. Below: "
        f"{results.listed(below)}. Above: {results.listed(above)}. Not compared, because one of "
        f"them has a heavy tail: {results.listed(tails)}."
    )
    return Judgement(
        verdict,
        f"grown networks are below in {len(below)} of {len(COMPARED)} cells and above in "
        f"{len(above)}; in {len(tails)} one of the two has a heavy tail",
        "some cells of each kind",
        f"{z:.1f} standard errors (familywise level {LEVEL:g}); the best of five each, chosen on "
        "other sequences",
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=Resolution(
            max(margins, default=math.inf), HALF, "of the loss from random weights"
        ),
    )


CLAIMS = (
    Claim(
        "full-grown",
        "Ours, beside Table 1",
        "With noise and from two layers on, neither FULL that is grown layer by layer nor FULL "
        "from random weights of all layers is always better: the best of five of each has a "
        "clearly smaller loss than the other in some cells of Table 1.",
        _grown,
        ("full-starts",),
        ours=True,
    ),
)
