"""Claims about Conjecture 8: a network of rank 1 that serves all N, and what trained ones do.

Held-out errors of a trained member that diverged are worse than any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from attnlab.lab.study import (
    NO_SCALE,
    UNDECIDED,
    Claim,
    Judgement,
    Resolution,
    Verdict,
    View,
    openness,
)
from attnlab.rank.study import grids, grids_theory
from attnlab.rank.study.claims_figure_1 import ACCURATE
from attnlab.rank.study.claims_length import FIGURE_4, figure_4_cells
from attnlab.rank.study.questions_covering import LENGTHS, CoveringBoundRow
from attnlab.rank.study.results import HeldOut, at_paper, beyond_scale, held_out, longer, setting
from attnlab.stats import LEVEL, normal_threshold

PAPER = "Amsel, Yehudai, Bruna"
UNIT = "of squared error"


def largest_bound(rows: Sequence[CoveringBoundRow]) -> float:
    """The least bound that holds for all N: every N up to one of them, and one for all beyond."""
    return min(max(row.largest, row.beyond) for row in rows if row.largest is not None)


def _conjecture(view: View) -> Judgement:
    """A counterexample refutes it as printed; that there is none would take a proof."""
    cells = grids_theory.covering_samples(view.seed)
    scale = cells[0].config.scale
    bounds = {cell.config: view.rows(cell) for cell in grids_theory.covering_bounds()}
    sampled = [
        (cell.config.d, row)
        for cell in cells
        for row in view.rows(cell)
        if row.form in ("hardmax", "softmax")
    ]
    threshold = normal_threshold(len(sampled))
    seen = [
        Resolution(threshold * row.standard_error, ACCURATE - row.error, UNIT) for _, row in sampled
    ]
    small = all(one.suffices for one in seen)
    own = {
        (cell.config.d, row.N): row.bound
        for cell in cells
        for config, rows in bounds.items()
        if (config.d, config.directions) == (cell.config.d, cell.config.directions)
        for row in rows
    }
    below = all(
        row.error - threshold * row.standard_error <= own[d, row.N]
        for d, row in sampled
        if row.form == "hardmax"
    )
    proved = {config: largest_bound(rows) for config, rows in bounds.items()}
    verdict: Verdict = "fails" if small and below and min(proved.values()) < ACCURATE else UNDECIDED
    worst = {
        (d, form): max(
            (row for e, row in sampled if (e, row.form) == (d, form)), key=lambda row: row.error
        )
        for d, form in sorted({(d, row.form) for d, row in sampled})
    }
    return Judgement(
        verdict,
        f"largest error over N = {LENGTHS[0]} to {LENGTHS[-1]}: "
        + ", ".join(
            f"{row.error:.3f} ± {row.standard_error:.3f} (d = {d}, {form})"
            for (d, form), row in worst.items()
        )
        + "; bound of the hardmax form for all N: "
        + ", ".join(
            f"{value:.4f} (d = {config.d}, {config.directions * config.d} heads)"
            for config, value in proved.items()
        ),
        f"a counterexample has a rank below d and an error of at most {ACCURATE:g} at every N",
        f"the bound is proved for every N and falls to 0 with the covering angle of the net, so "
        f"that the line of {ACCURATE:g}, our choice, decides nothing; it is computed for the "
        "hardmax, and that one finite c serves all N with the softmax of Definition 6 is proved "
        f"without a number; sampled errors of both, at c = {scale:g}, and {threshold:.2f} "
        f"standard errors (familywise level {LEVEL:g}) are at most {ACCURATE:g}, and no hardmax "
        "error is above its bound",
        "The counterexample has heads of rank 1 for the directions of a net, and an MLP on their "
        "concatenated outputs as in Theorem 34 that takes the head whose direction is nearest to "
        "y; three layers of Definition 6 do it without an MLP (docs/rank.md). Size and weights do "
        "not depend on N, but the size is exponential in d, which the conjecture as printed does "
        "not exclude; with a size polynomial in d it is open. conjecture-8-trained has what "
        "trained networks show.",
        grade="exact",
        resolution=max(seen, key=openness) if small else None,
    )


CAP_DIMENSIONS, CAP_ANGLE = (2, 3, 4, 8, 16, 32, 64), 0.1


def log_net_size(d: int, angle: float) -> float:
    """The logarithm of 1 / (share of the sphere within the angle): no net has fewer directions."""
    from scipy import special

    return -math.log(special.betainc((d - 1) / 2, 0.5, math.sin(angle) ** 2) / 2)


def _consequence(view: View) -> Judgement:
    exists = _conjecture(view).verdict == "fails"
    logs = {d: log_net_size(d, CAP_ANGLE) for d in CAP_DIMENSIONS}
    exponential = all(b - a >= d_b - d_a for (d_a, a), (d_b, b) in pairwise(sorted(logs.items())))
    verdict: Verdict = "holds as corrected" if exists and exponential else UNDECIDED
    return Judgement(
        verdict,
        "the counterexample of conjecture-8 has at least exp("
        + ", ".join(f"{value:.0f}" for value in logs.values())
        + ") directions, and d heads for each, at d = "
        + ", ".join(map(str, logs))
        + f" and a covering angle of {CAP_ANGLE:g}; one head of full rank serves all N",
        "a counterexample makes up for low rank",
        "exact: a net needs at least one direction for each share of the sphere that one covers; "
        "every further dimension multiplies it by e or more",
        "The sentence is an implication about counterexamples. Corrected: one whose size is "
        "polynomial in d would mean that depth makes up for low rank. Ours has a size exponential "
        "in d, with which a single layer of rank 1 serves two points as well (appendix-b.8), so "
        "that it does not mean it. Whether a polynomial size is enough is open."
        + ("" if verdict != UNDECIDED else f" {NO_SCALE}"),
        grade="exact",
    )


def _linear(view: View) -> Judgement:
    cell = grids_theory.codes_cell(view.seed)
    rows, votes = view.rows(cell), cell.config.votes
    told = all(row.coherence < 1 / votes for row in rows)
    last = rows[-1]
    grows = [b.dimension - a.dimension for a, b in pairwise(rows)]
    verdict: Verdict = "fails" if told and last.dimension < last.terms else UNDECIDED
    return Judgement(
        verdict,
        f"the strict majority of {votes} votes among N terms is told by the sum of labels of "
        + ", ".join(f"{row.dimension} (N = {row.terms})" for row in rows)
        + " dimensions",
        "a dependence on N that is at least linear",
        f"exact: for labels c_i of signs whose products are below 1/{votes} of their dimension "
        f"({', '.join(f'{row.coherence:.3f}' for row in rows)} were found) the product of c_i with "
        "the sum is largest for the majority, whatever the votes; by the union bound such labels "
        "exist in 4 H² log N + 1 dimensions for H votes",
        f"At fixed H the size grows with log N: by at most {max(grows)} dimensions where N is "
        "multiplied by 4. Whether a vote of low rank finds the neighbour among many points with a "
        "fixed H is another question." + ("" if verdict == "fails" else f" {NO_SCALE}"),
        grade="exact",
    )


def _trained(view: View) -> Judgement:
    if found := beyond_scale(view, ("paper", "standard"), FIGURE_4):
        return found
    d, lengths = grids.PANELS[view.scale].base.d, grids.PANELS[view.scale].lengths
    cells = figure_4_cells(view)
    every: dict[int, list[HeldOut]] = {}
    for cell in cells:
        every.setdefault(cell.config.rank, []).append(held_out(view, cell))
    errors = {rank: found for rank, found in every.items() if rank < d}
    learned = all(one.best <= ACCURATE for one in every[d])
    # Of every rank the N with the largest error: even its best seed is not accurate there.
    hardest = [max(found, key=lambda one: one.best) for found in errors.values()]
    verdict: Verdict = UNDECIDED
    if any(all(one.worst + one.allowed <= ACCURATE for one in found) for found in errors.values()):
        verdict = "fails"
    elif learned and all(one.best > ACCURATE for one in hardest):
        verdict = "holds"
    return Judgement(
        at_paper(view, verdict),
        f"largest error over N = {lengths[0]} to {lengths[-1]}: "
        + ", ".join(
            f"{max(one.worst for one in found):.3f} (r = {rank})" for rank, found in every.items()
        ),
        f"more than {ACCURATE:g} at some N, at every rank below d, and at most that of rank d",
        f"the best seed, beyond {normal_threshold(1):.2f} standard errors, our choice",
        "Trained networks of one size, which say nothing about all of them, and nothing at all "
        f"where full rank was not learned either. {longer(view)}",
        resolution=max(
            (Resolution(one.allowed, abs(one.best - ACCURATE), UNIT) for one in hardest),
            key=openness,
        ),
        **setting(view, cells),
    )


CLAIMS = (
    Claim(
        "conjecture-8",
        f"{PAPER}, Conjecture 8",
        "No transformer of fixed size and weights with rank r < d approximates the nearest "
        "neighbour for all N.",
        _conjecture,
        ("conjecture-8",),
    ),
    Claim(
        "conjecture-8-consequence",
        f"{PAPER}, Section 6, after Conjecture 8",
        "A counterexample to Conjecture 8 would mean that depth makes up for the weakness of low "
        "rank.",
        _consequence,
    ),
    Claim(
        "majority-linear-in-n",
        f"{PAPER}, Section 6",
        "The majority among N terms cannot be computed without an at least linear dependence on N.",
        _linear,
    ),
    Claim(
        "conjecture-8-trained",
        "ours, about Conjecture 8",
        "No network of rank below d that was trained for Figure 4 is accurate at all of its N.",
        _trained,
        ("fig-4",),
        ours=True,
    ),
)
