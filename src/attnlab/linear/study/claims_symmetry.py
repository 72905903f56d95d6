"""The claim that networks which treat some inputs differently are better than DIAG.

Source of the model: Vladymyrov et al. (arXiv 2402.14180), Section 5. Equation (8) has equal
entries for all inputs because their law does not change when they are permuted. The loss is then
the same for permuted weights, which does not make its best weights invariant: AXIS networks
(`attnlab.linear.models.axis`) single out one or two directions of the inputs.
"""

from __future__ import annotations

import math

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.results import MARGIN, clearly_below
from attnlab.linear.study.table_1 import LAWS, law_name
from attnlab.stats import Estimate

DEEP = 5  # layers from which on AXIS is compared with DIAG
MATTERS = 0.25  # of the loss of DIAG


def _pairs(view: View) -> dict[tuple[str, int], tuple[Estimate, Estimate]]:
    """DIAG and AXIS by law and depth, where neither has a heavy tail."""
    pairs = {}
    for law in LAWS[1:]:
        diag, axis = (results.held(view, model, law) for model in ("DIAG", "AXIS"))
        for depth in range(DEEP, grids.DEEPEST + 1):
            both = [held[depth] for held in (diag, axis) if depth in held]
            if len(both) == 2 and all(map(results.steady, both)):
                pairs[law, depth] = both[0], both[1]
    return pairs


def _broken(view: View) -> Judgement:
    deep = _pairs(view)
    lower = [key for key, (diag, axis) in deep.items() if clearly_below(axis, diag)]
    higher = [key for key, (diag, axis) in deep.items() if clearly_below(diag, axis)]
    wanted = (len(LAWS) - 1) * (grids.DEEPEST - DEEP + 1)
    verdict: Verdict = "holds" if 2 * len(lower) > wanted and not higher else "fails"
    if view.scale == "quick" or (verdict == "fails" and not higher and len(deep) < wanted):
        verdict = UNDECIDED  # DIAG is trained with little effort, or missing
    gains = [1 - axis.value / diag.value for diag, axis in deep.values()]
    return Judgement(
        verdict,
        f"AXIS is below DIAG in {len(lower)} of {len(deep)} cells with {DEEP} layers or more, by "
        f"{min(gains, default=0):.0%} to {max(gains, default=0):.0%}",
        "below in most cells of nine noise laws, above in none",
        f"by more than {MARGIN:g} standard errors",
        f"Above: {results.listed([f'{law_name(law)} L = {depth}' for law, depth in higher])}."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view),
        resolution=Resolution(
            max((results.margin(axis, diag) for diag, axis in deep.values()), default=math.inf),
            MATTERS,
            "of the loss of DIAG",
        ),
    )


CLAIMS = (
    Claim(
        "symmetry-broken",
        "Ours, beside Section 5",
        "Although the inputs are permutation-invariant, weights that treat one or two of them "
        f"differently (AXIS, not diagonal) have a smaller loss than DIAG from {DEEP} layers on.",
        _broken,
        ("fig-1", "fig-3-layers"),
        ours=True,
    ),
)
