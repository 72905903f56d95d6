"""The claim about the caption of Figure 5: the loss falls with every layer that is read.

Source: Vladymyrov et al. (arXiv 2402.14180), Appendix B, on U(0,5). It is judged on networks
of four layers that the paper's recipe trained, from five seeds each.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import grids_full, results
from attnlab.linear.study.results import MARGIN, clearly_below
from attnlab.stats import Estimate

RECIPES = {"GD++": "printed-gd++", "DIAG": "printed-diag", "FULL": "printed"}
VISIBLE = 0.1  # of the loss, our threshold for what a picture shows


def _reads(view: View, recipe: str) -> list[dict[int, Estimate]]:
    """The loss by the number of layers read, for every start of a recipe."""
    found: dict[int, dict[int, Estimate]] = {}
    for cell in grids_full.by_recipe(recipe, view.scale, view.seed):
        for row in view.rows(cell):
            if row.sigma is None:
                found.setdefault(row.start, {})[row.read] = results.loss_of(row)
    return list(found.values())


def _mean(losses: list[float]) -> str:
    """The mean of those that are finite."""
    finite = [loss for loss in losses if math.isfinite(loss)]
    return f"{fmean(finite):.2g}" if finite else "diverged"


def _each_layer(view: View) -> Judgement:
    shown, margins, unclear = [], [], []
    rises: list[tuple[float, float]] = []  # what would be noticed, and how much a layer adds
    means: list[str] = []
    often = False
    found = {model: _reads(view, recipe) for model, recipe in RECIPES.items()}
    if missing := [model for model, networks in found.items() if not networks]:
        return results.open_until(f"no {missing[0]} network of the paper's recipe", "paper")
    for model, networks in found.items():
        risen = 0
        for losses in networks:
            steps = [(losses[a], losses[b]) for a, b in pairwise(sorted(losses))]
            if not all(results.steady(loss) for loss in losses.values()):
                unclear.append(model)
                continue
            margins += [results.margin(after, before) for before, after in steps]
            up = [pair for pair in steps if clearly_below(*pair)]
            risen += bool(up)
            rises += [(results.margin(b, a), b.value / a.value - 1) for a, b in up]
        often |= risen > len(networks) / 2
        shown.append(f"{model} {risen} of {len(networks)}")
        reads = [[losses[k].value for losses in networks] for k in sorted(networks[0])]
        means.append(f"{model} {', '.join(map(_mean, reads))}")
    verdict: Verdict = "fails" if often else UNDECIDED if rises or unclear else "holds"
    clearest = max(rises, key=lambda pair: pair[1] - pair[0], default=None)
    return Judgement(
        verdict,
        f"networks of four layers whose loss rises after some layer: {', '.join(shown)}",
        "none: every layer reduces the loss of the prediction read after it",
        f"a rise by more than {MARGIN:g} standard errors; 'consistent' fails where most networks "
        "of a family have one, our line",
        f"Largest rise: {max((rise for _, rise in rises), default=0):.0%} of the loss. Means over "
        f"the seeds that did not diverge, after 0 to 4 layers: {'; '.join(means)}. The least loss "
        "is at the end all the same (claim figure-5-at-the-end)."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        grade="smaller setting",
        differs=f"networks of {grids_full.RECIPE_DEPTH} layers alone, where the figure has one to "
        "seven",
        resolution=Resolution(
            clearest[0] if often and clearest else max(margins, default=1.0),
            VISIBLE,
            "of the loss of the layer before",
        ),
    )


CLAIMS = (
    Claim(
        "figure-5",
        "Vladymyrov et al., Appendix B, Figure 5",
        "The loss of the prediction read after K layers falls with every K.",
        _each_layer,
        ("fig-5",),
    ),
)
