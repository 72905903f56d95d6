"""Claims about Conjecture 8: a network of rank 1 that serves all N, and what trained ones do.

Held-out errors of a trained member that diverged are worse than any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View, openness
from attnlab.rank.study import grids, grids_theory
from attnlab.rank.study.claims_figure_1 import ACCURATE
from attnlab.rank.study.claims_length import FIGURE_4, figure_4_cells
from attnlab.rank.study.questions_covering import LENGTHS, CoveringBoundRow
from attnlab.rank.study.results import HeldOut, beyond_scale, held_out, longer, refuted, setting
from attnlab.stats import LEVEL, normal_threshold

PAPER = "Amsel, Yehudai, Bruna"
UNIT = "of squared error"


def largest_bound(rows: Sequence[CoveringBoundRow]) -> float:
    """The least bound that holds for all N: every N up to one of them, and one for all beyond."""
    return min(max(row.largest, row.beyond) for row in rows if row.largest is not None)


def _conjecture(view: View) -> Judgement:
    """A counterexample refutes it as printed; that there is none would take a proof."""
    cells = grids_theory.covering_samples(view.seed)
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
        f"the bound is proved for every N and falls to 0 with the covering angle of the net; "
        f"sampled errors and {threshold:.2f} standard errors (familywise level {LEVEL:g}) are at "
        f"most {ACCURATE:g}, our choice, and no hardmax error is above its bound",
        "The counterexample has heads of rank 1 for the directions of a net, and an MLP on their "
        "concatenated outputs as in Theorem 34 that takes the head whose direction is nearest to "
        "y; three layers of Definition 6 do it without an MLP (docs/rank.md). Size and weights do "
        "not depend on N, but the size is exponential in d, which the conjecture as printed does "
        "not exclude; with a size polynomial in d it is open. conjecture-8-trained has what "
        "trained networks show.",
        grade="exact",
        resolution=max(seen, key=openness) if small else None,
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
        verdict = refuted(view)
    elif learned and all(one.best > ACCURATE for one in hardest):
        verdict = "holds"
    return Judgement(
        verdict,
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
        "conjecture-8-trained",
        "ours, about Conjecture 8",
        "No network of rank below d that was trained for Figure 4 is accurate at all of its N.",
        _trained,
        ("fig-4",),
        ours=True,
    ),
)
