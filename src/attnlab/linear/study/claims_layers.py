"""The claim that linear transformers converge in fewer than ten layers.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. It is judged on DIAG networks of up to ten
layers, one run per noise law.
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
    """What layers 8 to 10 of a run of DIAG gain together, and what the tenth gains alone.

    Shares of the loss of seven and of nine layers. `stuck` says that another run has a clearly
    smaller loss with fewer layers, so that this one did not find what its depth allows.
    """

    together: Estimate
    tenth: Estimate
    stuck: bool

    @property
    def ended(self) -> bool:
        """Whether three further layers gain next to nothing."""
        most = self.together.value + MARGIN * self.together.standard_error
        return most <= CONVERGED and not self.stuck

    @property
    def falling(self) -> bool:
        """Whether the tenth layer still gains."""
        return self.tenth.value - MARGIN * self.tenth.standard_error > CONVERGED


def _last_layers(view: View, law: str) -> _LastLayers | None:
    """None where this scale has no such run, or seven, nine or ten layers have a heavy tail."""
    cells = grids.ten_layers(law, view.scale, view.seed)
    rows = [row for cell in cells for row in view.rows(cell) if row.read == row.layers]
    losses = {row.layers: results.loss_of(row) for row in rows}
    seven, nine, last = (losses.get(depth) for depth in (DEPTHS[-1], grids.TEN - 1, grids.TEN))
    if seven is None or nine is None or last is None:
        return None
    if not all(map(results.steady, (seven, nine, last))):
        return None
    others = results.by_depth(view, "DIAG", law).values()
    stuck = any(loss.value < (1 - CONVERGED) * last.value for loss in others)
    together, tenth = (
        Estimate(gap / before.value, error / before.value)
        for before in (seven, nine)
        for gap, error in [results.difference(before, last)]
    )
    return _LastLayers(together, tenth, stuck)


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
    shown = [
        f"{name} {each.together.value:+.1%}" + (" (another run is better)" * each.stuck)
        for name, each in seen.items()
    ]
    return Judgement(
        verdict,
        f"layers 8, 9 and 10 of DIAG together gain at most {CONVERGED:.0%} on {len(ended)} of "
        f"{len(found)} noise laws: {', '.join(shown)}",
        "converged in fewer than ten layers on most of them",
        f"ten layers are below seven by at most {CONVERGED:.0%}, our line, with {MARGIN:g} "
        f"standard errors added, and no other run of up to eight layers is {CONVERGED:.0%} below "
        "ten; a tenth layer that gains more on most laws refutes",
        "Every depth is grown from the one before, in one run per law: a layer that gains nothing "
        "is one that training could not use, as in the paper, and a better one may exist."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        grade="smaller setting",
        differs=f"{results.OPTIMISER}, one run per law; DIAG alone, since no FULL network has ten "
        "layers",
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
