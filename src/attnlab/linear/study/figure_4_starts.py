"""The networks of Figure 4: four layers of FULL on {1, 3} that are as good as the paper's.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6. The figure shows one network, the best of
five starts. Where the twenty starts of `linear_full_starts` are stored, the figure's network is the
best of five that are drawn from them; otherwise it is the best of the five that ship.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from attnlab.lab.study import View
from attnlab.linear.study import full_results, grids_full, results
from attnlab.linear.study.best_of_runs import BEST_OF, chances_of_best
from attnlab.linear.study.claims_table_cells import LARGEST
from attnlab.linear.study.questions_full import StructureRow
from attnlab.linear.study.table_1 import PAPER
from attnlab.stats import Estimate


@dataclass(frozen=True)
class Figure4:
    """The structure of the good starts of the network of Figure 4, and the grade of the evidence.

    Parameters
    ----------
    rows
        The matrices of all starts that come within a quarter of the paper's loss, without a heavy
        tail.
    losses
        Their losses, as far as this scale evaluates them.
    best
        The start of least loss, chosen on other sequences.
    trained
        How many starts were trained, also those that are not good.
    evidence
        The grade.
    """

    rows: Sequence[StructureRow]
    losses: dict[int, Estimate]
    best: int
    trained: int
    evidence: results.Evidence

    @property
    def tied(self) -> list[int]:
        """The starts whose loss cannot be told from that of the best one."""
        least = self.losses[self.best]
        return [start for start, loss in self.losses.items() if results.at_most(loss, least)]

    @property
    def resampled(self) -> bool:
        """Whether there are more starts than the five of which the paper shows the best."""
        return self.trained > BEST_OF

    @property
    def chances(self) -> dict[int, float]:
        """How probable it is that the best of five starts is this one, among those that are good.

        Of five starts alone, each that cannot be told from the best one is as probable.
        """
        if not self.resampled:
            return {start: 1 / len(self.tied) for start in self.tied}
        ordered = sorted(self.losses, key=lambda start: self.losses[start].value)
        found = dict(zip(ordered, chances_of_best(self.trained), strict=False))
        return {start: chance / math.fsum(found.values()) for start, chance in found.items()}


def figure_4(view: View) -> Figure4 | None:
    """The twenty starts where they are stored, and else those that ship.

    None where the best start is not as good as the paper's, or fewer than two are. Networks that
    were grown layer by layer are not among them.
    """
    law, layers = grids_full.HEAT_MAP
    held = full_results.every_start(view, law, grown=False).get(layers)
    if not held:
        return None
    shipped = full_results.best(held)
    many = full_results.many_starts(view)
    if many:
        rows: Sequence[StructureRow] = [each for each in many if full_results.as_good(each, law)]
        losses = {each.start: results.loss_of(each) for each in many}
        best = next((each.start for each in many if each.best), None)
    else:
        known = results.networks(view, "FULL", law, layers)
        losses = {n: loss for n, (loss, _) in known.items() if n < grids_full.STARTS}
        limit = (1 + LARGEST) * PAPER["FULL", layers, law]
        poor = [s for s, x in losses.items() if not results.steady(x) or x.value > limit]
        shapes = full_results.structure(view, law, layers)
        every = [row for row in shapes if row.start < grids_full.STARTS]
        rows = [each for each in every if each.steady and each.start not in poor]
        best = shipped.start
    starts = {each.start for each in rows}
    if best not in starts or len(starts) < 2:
        return None
    evidence = dict(full_results.setting([shipped]))
    loss = losses[best]
    evidence["differs"] += f", loss {loss} where the paper has {PAPER['FULL', layers, law]:g}"
    trained = len(losses)
    losses = {start: each for start, each in losses.items() if start in starts}
    return Figure4(rows, losses, best, trained, evidence)
