"""Claims about the weights of deep FULL networks, with those about Figures 4 and 7.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. They are judged on networks that were
trained by Adam from random weights, so that nothing made them diagonal. `claims_figure_4` and
`claims_figure_7` have the claims about these figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import claims_figure_4, claims_figure_7, full_results
from attnlab.linear.study.claims_full import HALF
from attnlab.linear.study.questions_full import FullLossRow
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.table_1 import LAWS, UNIFORM

DEEP = 5  # layers from which "the later layers" are several
ALIKE = 0.9  # of the squared entries: with more on the diagonal a network would count as DIAG
NOTHING = 1 / 11  # the share of the diagonal in a matrix without structure


def _shares(view: View, laws: Sequence[str]) -> tuple[list[float], list[float], list[FullLossRow]]:
    """Shares of the diagonal in P of later and of early layers, one of each per good deep network.

    The last layer is left out, since its rows of x change nothing.
    """
    later, early, rows = [], [], []
    for law in laws:
        for depth, row in full_results.best_rows(view, law).items():
            if depth < DEEP or not full_results.as_good(row, law):
                continue
            rows.append(row)
            own = {
                each.layer: each.diagonal
                for each in full_results.structure(view, law, depth)
                if each.start == row.start and each.matrix == "P"
            }
            later.append(float(np.mean([own[k] for k in own if depth / 2 < k < depth])))
            early.append(float(np.mean([own[k] for k in own if k <= depth / 2])))
    return later, early, rows


def _not_identical(view: View) -> Judgement:
    later, _, rows = _shares(view, UNIFORM[1:])
    if len(later) < 2:
        return full_results.no_full_network()
    value, error = float(np.mean(later)), float(np.std(later, ddof=1)) / math.sqrt(len(later))
    verdict: Verdict = UNDECIDED
    if abs(value - ALIKE) > MARGIN * error:
        verdict = "holds" if value < ALIKE else "fails"
    return Judgement(
        verdict,
        f"mean share of the diagonal in P of the later layers of {len(later)} networks: "
        f"{value:.2f} ± {error:.2f}, from {min(later):.2f} to {max(later):.2f}",
        f"less than {ALIKE:g}; DIAG has 1",
        f"by {MARGIN:g} standard errors over the networks",
        "Only FULL networks of five layers or more that come within a quarter of the paper's loss. "
        f"{full_results.DECIDES if verdict == UNDECIDED else ''}".strip(),
        **full_results.setting(rows),
        resolution=Resolution(MARGIN * error, ALIKE - NOTHING, "of the squared entries"),
    )


def _later_layers(view: View) -> Judgement:
    later, early, rows = _shares(view, LAWS[1:])
    if len(later) < 2:
        return full_results.no_full_network()
    value, error = float(np.mean(later)), float(np.std(later, ddof=1)) / math.sqrt(len(later))
    verdict: Verdict = UNDECIDED
    if abs(value - HALF) > MARGIN * error:
        verdict = "holds" if value < HALF else "fails"
    note = f"In the first half of the layers the share is {np.mean(early):.2f}."
    return Judgement(
        verdict,
        f"mean share of the diagonal in P of the later layers of {len(later)} networks: "
        f"{value:.2f} ± {error:.2f}, from {min(later):.2f} to {max(later):.2f}",
        "less than half",
        f"by {MARGIN:g} standard errors over the networks",
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=Resolution(MARGIN * error, HALF - NOTHING, "of the squared entries"),
    )


CLAIMS = (
    *claims_figure_4.CLAIMS,
    Claim(
        "full-is-not-diag",
        "Vladymyrov et al., Section 6",
        "On uniform noise trained FULL networks are not DIAG networks although their losses are "
        "alike.",
        _not_identical,
        ("full-structure",),
    ),
    Claim(
        "later-layers-not-diagonal",
        "Ours, beside Figure 4",
        "In networks of five layers or more that come within a quarter of the paper's loss, P of "
        "the later layers has less than half of its squared entries on the diagonal.",
        _later_layers,
        ("full-structure",),
        ours=True,
    ),
    *claims_figure_7.CLAIMS,
)
