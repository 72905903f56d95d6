"""The claim that linear transformers converge in fewer than ten layers.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. It is judged on DIAG networks of up to ten
layers, the best of several runs for each noise law and depth.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.claims_models import SOURCE
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.table_1 import DEPTHS, LAWS, law_name
from attnlab.stats import Estimate

CONVERGED = 0.05  # share of the loss that further layers gain where a model has converged


class _LastLayers(NamedTuple):
    """What layers 8 to 10 of DIAG gain together, and what the tenth gains alone.

    Shares of the loss of seven and of nine layers, each the best of the runs with its depth.
    """

    together: Estimate
    tenth: Estimate

    @property
    def ended(self) -> bool:
        """Whether three further layers gain next to nothing."""
        return self.together.value + MARGIN * self.together.standard_error <= CONVERGED

    @property
    def falling(self) -> bool:
        """Whether the tenth layer still gains."""
        return self.tenth.value - MARGIN * self.tenth.standard_error > CONVERGED


def _last_layers(view: View, law: str) -> _LastLayers | None:
    """None where this scale has no such run, or seven, nine or ten layers have a heavy tail."""
    found = results.by_depth(view, grids.TEN_LAYERS, law)
    losses = [found.get(depth) for depth in (DEPTHS[-1], grids.TEN - 1, grids.TEN)]
    known = [loss for loss in losses if loss is not None and results.steady(loss)]
    if len(known) < len(losses):
        return None
    *before, last = known
    return _LastLayers(*(_gain(each, last) for each in before))


def _gain(before: Estimate, after: Estimate) -> Estimate:
    gap, error = results.difference(before, after)
    return Estimate(gap / before.value, error / before.value)


def _few_layers(view: View) -> Judgement:
    found = {law_name(law): _last_layers(view, law) for law in LAWS[1:]}
    seen = {name: each for name, each in found.items() if each is not None}
    if not seen:
        return results.open_until("no network of ten layers at this scale", "standard")
    ended = [name for name, each in seen.items() if each.ended]
    falling = [name for name, each in seen.items() if each.falling]
    most = len(found) / 2
    verdict: Verdict = UNDECIDED
    if len(ended) > most:
        verdict = "holds"
    elif len(falling) > most:
        verdict = "fails"
    margins = [
        MARGIN * (seen[name].tenth if verdict == "fails" else seen[name].together).standard_error
        for name in (falling if verdict == "fails" else ended)
    ]
    shown = [f"{name} {each.together.value:+.1%}" for name, each in seen.items()]
    return Judgement(
        verdict,
        f"layers 8, 9 and 10 of DIAG together gain at most {CONVERGED:.0%} on {len(ended)} of "
        f"{len(found)} noise laws: {', '.join(shown)}",
        "converged in fewer than ten layers on most of them",
        f"ten layers are below seven by at most {CONVERGED:.0%}, our line, with {MARGIN:g} "
        "standard errors added; a tenth layer that gains more on most laws refutes",
        "Every depth is grown from the one before, and the best of the runs is taken: a layer that "
        "gains nothing is one that training could not use, as in the paper, and a better one may "
        "exist." + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        grade="smaller setting",
        differs=f"{results.DIFFERS[view.scale]}; DIAG alone, since no FULL network has ten layers",
        resolution=Resolution(max(margins, default=math.inf), CONVERGED, "of the loss"),
    )


CLAIMS = (
    Claim(
        "fewer-than-ten-layers",
        SOURCE,
        "Linear transformers typically converge in fewer than ten layers: on most noise laws the "
        "eighth, ninth and tenth layer of DIAG together gain next to nothing.",
        _few_layers,
        ("fig-1", "iterations"),
    ),
)
