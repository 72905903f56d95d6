"""The claim that linear transformers converge in fewer than ten layers.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. It is judged on DIAG networks of up to ten
layers that ship, the best of five runs for each noise law and depth, with all depths evaluated on
the same sequences.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.claims_models import SOURCE
from attnlab.linear.study.questions_layers import LayersRow
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.shipped_table import DEEP_DIGESTS
from attnlab.linear.study.table_1 import DEPTHS, law_name
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
    """None where seven, nine or ten layers have a heavy tail."""
    found = {row.layers: row for row in view.rows(grids.last_layers(law, view.scale, view.seed))}
    gains = [_gain(found[depth]) for depth in (DEPTHS[-1], grids.TEN - 1, grids.TEN)]
    known = [gain for gain in gains if gain is not None]
    return _LastLayers(*known[:-1]) if len(known) == len(gains) else None


def _gain(row: LayersRow) -> Estimate | None:
    """What ten layers gain over these, as a share of their loss; None if either has a tail."""
    if row.loss is None or row.error is None or row.above is None or row.above_error is None:
        return None
    steady = results.steady(Estimate(row.loss, row.error))
    return Estimate(row.above / row.loss, row.above_error / row.loss) if steady else None


def _few_layers(view: View) -> Judgement:
    found = {law_name(law): _last_layers(view, law) for law in DEEP_DIGESTS}
    seen = {name: each for name, each in found.items() if each is not None}
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
        "standard errors of the difference on the same sequences added; a tenth layer that gains "
        "more on most laws refutes",
        "Every depth is grown from the one before, and the best of the runs is taken: a layer that "
        "gains nothing is one that training could not use, as in the paper, and a better one may "
        "exist." + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        grade="smaller setting",
        differs=f"{results.DIFFERS['paper']}; DIAG alone, since no FULL network has ten layers",
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
