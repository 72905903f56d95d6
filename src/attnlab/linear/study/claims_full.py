"""Claims about FULL, the paper's family with all entries of P and Q free.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6 and Table 1. They are judged on networks
that were trained by Adam from random weights, so that training was free to find something else.
Networks with a heavy tail count for nothing (`full_results`). Weights and single layers are the
subject of `claims_full_weights`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from attnlab.lab.study import NO_SCALE, UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids, results
from attnlab.linear.study.claims_table_cells import (
    CELLS,
    TableCell,
    allowance,
    blind_note,
    high_words,
    in_state,
    judged_cells,
    mostly_high,
    named,
    subfamily_reaches,
    table_cell,
    tolerance,
)
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.table_1 import (
    DEPTHS,
    LAWS,
    PAPER,
    UNIFORM,
    law_name,
    rounding,
    trained_range,
)
from attnlab.stats import LEVEL, Estimate, normal_threshold

SOURCE = "Vladymyrov et al., Section 6"
HALF = 0.5  # our line for "diagonal-heavy": more than half of the squared entries
NEAR = 0.1  # "beat": the paper's own gaps to ADARR are of this share of its loss
FEW = 0.1  # of all cells may be left out of a statement about all of them


@cache
def comparable() -> float:
    """The largest ratio of two losses that the paper calls comparable.

    The largest one in its own table of FULL and DIAG on uniform noise that its printed digits
    prove: half a digit is taken from the larger loss and added to the smaller one.
    """
    pairs = [
        sorted(PAPER[model, depth, law] for model in ("FULL", "DIAG"))
        for law in UNIFORM[1:]
        for depth in DEPTHS
    ]
    return max((high - rounding(high)) / (low + rounding(low)) for low, high in pairs)


def no_full_network() -> Judgement:
    """A verdict that waits for networks."""
    return results.open_until("no FULL network at this scale", "paper")


def _refuted(view: View, cell: TableCell) -> bool:
    """Whether the paper's own recipe misses a cell, and no smaller family reaches it."""
    rows = full_results.starts(view, "paper").get(cell.depth) if cell.law == grids.U5 else None
    if not rows or not full_results.enough(rows) or subfamily_reaches(view, cell):
        return False
    loss = results.loss_of(full_results.best(rows))
    return table_cell(view, "FULL", cell.law, cell.depth, loss).state == "above"


def _table(view: View) -> Judgement:
    cells = judged_cells(view, "FULL")
    if not cells:
        return no_full_network()
    rows = {law: full_results.best_rows(view, law) for law in LAWS}
    own = [rows[cell.law][cell.depth] for cell in cells]
    missed, unclear, blind, reached = (
        in_state(cells, state) for state in ("above", "open", "blind", "reached")
    )
    diverged = [cell for cell in missed if not math.isfinite(cell.ours.value)]
    above = [cell for cell in missed if cell not in diverged]
    refuting = [cell for cell in missed if _refuted(view, cell)]
    verdict: Verdict = UNDECIDED
    if refuting:
        verdict = "fails"
    elif len(reached) + len(blind) == CELLS and not mostly_high(cells):
        verdict = "holds"
    lost = sum(row.trained_starts - row.steady_starts for row in own)
    smaller = [cell for cell in (*missed, *unclear) if subfamily_reaches(view, cell)]
    note = (
        f"Above: {named(above)}. Open: {named(unclear)}. All starts diverged: {named(diverged)}. "
        f"In {len(smaller)} of these a network of a smaller family, DIAG or AXIS, has the paper's "
        f"loss. Of {sum(row.trained_starts for row in own)} networks {lost} have a heavy tail. "
        f"Only networks of the paper's recipe refute.{blind_note(cells)}"
    )
    return Judgement(
        verdict,
        f"{len(reached)} of {len(cells) - len(blind)} cells are reached, {high_words(cells)}; "
        f"{len(above)} are above, {len(unclear)} are open, {len(diverged)} diverged, {len(blind)} "
        "are left out",
        f"{CELLS} cells at most max(paper's value, law of one layer)",
        tolerance(),
        f"{note} {_left_open(view)}" if verdict == UNDECIDED else note,
        **full_results.setting(own),
        resolution=allowance(cells, refuting),
    )


def _left_open(view: View) -> str:
    """What decides a cell that the clipped recipe misses."""
    if view.scale == "paper":
        return f"{NO_SCALE} That takes networks of the paper's recipe on every law and depth."
    return full_results.DECIDES


@dataclass(frozen=True)
class Pair:
    """Losses of FULL and DIAG that are compared, and whether FULL had the paper's steps."""

    full: Estimate
    diag: Estimate
    enough: bool

    @property
    def ratio(self) -> float:
        """FULL over DIAG."""
        return self.full.value / self.diag.value

    @property
    def error(self) -> float:
        """The error of the log ratio, MARGIN standard errors."""
        return MARGIN * results.log_ratio(self.full, self.diag).standard_error

    @property
    def beyond(self) -> float:
        """How far the log ratio is beyond the line, in either direction."""
        return abs(math.log(self.ratio)) - math.log(comparable())


def _full_diag_depths(view: View) -> Judgement:
    pairs, left_out = {}, []
    for law in results.laws_with(view, "DIAG", UNIFORM[1:]):
        full, diag = full_results.trusted(view, law), results.by_depth(view, "DIAG", law)
        rows = full_results.best_rows(view, law)
        for depth in sorted(d for d in diag if d <= grids.DEEPEST):
            name = f"{law_name(law)} L = {depth}"
            if depth in full and math.isfinite(diag[depth].value):
                pairs[name] = Pair(full[depth], diag[depth], full_results.enough([rows[depth]]))
            else:
                left_out.append(name)
    return _full_diag(view, pairs, left_out, list(UNIFORM[1:]))


def _full_diag_levels(view: View) -> Judgement:
    pairs, left_out = {}, []
    for law in results.laws_with(view, "DIAG", UNIFORM[1:]):
        full = full_results.trusted(view, law)
        depth = min(grids.DEEPEST, max(results.by_depth(view, "DIAG", law)))
        both = [results.profile(view, model, law, depth) for model in ("FULL", "DIAG")]
        low, high = trained_range(law)
        levels = [sigma for sigma in both[1] if sigma in both[0] and low <= sigma <= high]
        if depth in full and levels:
            enough = full_results.enough([full_results.best_rows(view, law)[depth]])
            for sigma in levels:
                name = f"{law_name(law)} σ = {sigma:g}"
                pairs[name] = Pair(both[0][sigma], both[1][sigma], enough)
        else:
            left_out.append(f"{law_name(law)} L = {depth}")
    finite = {
        name: pair
        for name, pair in pairs.items()
        if all(loss.value > 0 and results.steady(loss) for loss in (pair.full, pair.diag))
    }
    left_out += [name for name in pairs if name not in finite]
    return _full_diag(view, finite, left_out, list(UNIFORM[1:]))


def _full_diag(
    view: View, pairs: dict[str, Pair], left_out: Sequence[str], laws: Sequence[str]
) -> Judgement:
    if not pairs:
        return no_full_network()
    apart = {name: pair for name, pair in pairs.items() if pair.beyond > pair.error}
    near = all(pair.beyond < -pair.error for pair in pairs.values())
    rows = [row for law in laws for row in full_results.best_rows(view, law).values()]
    whole = view.scale != "quick" and len(left_out) <= FEW * (len(pairs) + len(left_out))
    refuting = [pair for pair in apart.values() if pair.enough]
    verdict: Verdict = UNDECIDED
    if refuting and view.scale != "quick":
        verdict = "fails"
    elif near and whole:
        verdict = "holds"
    shown = [f"{name} {p.full.value:.3g}, {p.diag.value:.3g}" for name, p in apart.items()]
    note = (
        f"Further apart: {results.listed(shown)}. Not compared (heavy tail, diverged or not "
        f"trained): {results.listed(left_out)}."
    )
    ratios = [pair.ratio for pair in pairs.values()]
    telling = refuting if verdict == "fails" else pairs.values()
    return Judgement(
        verdict,
        f"FULL / DIAG from {min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} comparisons",
        "comparable",
        f"neither has more than {comparable():.2g} times the loss of the other, the largest ratio "
        f"in the paper's own table, by {MARGIN:g} standard errors",
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=Resolution(
            max(math.expm1(pair.error) for pair in telling),
            comparable() - 1,
            "of the smaller loss",
        ),
    )


def _four_layers(view: View) -> Judgement:
    found, left_out, rows = {}, [], []
    for law in UNIFORM[4:]:
        loss = full_results.trusted(view, law).get(4)
        if loss is None:
            left_out.append(law_name(law))
            continue
        rows.append(full_results.best_rows(view, law)[4])
        found[law_name(law)] = loss, results.ridge(view, "ADARR", law)
    if not found:
        return no_full_network()
    gaps = {}
    for name, (ours, ada) in found.items():
        gap, error = results.difference(ours, ada)
        gaps[name] = -gap / ada.value, MARGIN * error / ada.value
    above = [name for name, (gap, error) in gaps.items() if gap < -error]
    below = [name for name, (gap, error) in gaps.items() if gap > error]
    verdict: Verdict = "holds" if len(below) == len(UNIFORM[4:]) else UNDECIDED
    if above and full_results.enough(rows):
        verdict = "fails"
    note = f"Above: {results.listed(above)}; heavy tail or diverged: {results.listed(left_out)}."
    return Judgement(
        verdict,
        results.listed(
            [f"{name} {a.value:.4f} (ADARR {b.value:.4f})" for name, (a, b) in found.items()]
        ),
        "below ADARR for s_max = 4, 5, 6 and 7",
        f"by more than {MARGIN:g} standard errors on each law",
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=Resolution(
            max(error for _, error in gaps.values()), NEAR, "of the loss of ADARR"
        ),
    )


def _axis(view: View) -> Judgement:
    better, worse, total, errors, rows = [], [], 0, [], []
    against_paper = 0
    for law in LAWS:
        shipped = full_results.best_rows(view, law)
        rows += shipped.values()
        full = {depth: results.loss_of(row) for depth, row in shipped.items()}
        full = {depth: loss for depth, loss in full.items() if results.steady(loss)}
        for depth, loss in results.by_depth(view, "AXIS", law).items():
            if ("FULL", depth, law) in PAPER and results.steady(loss):
                against_paper += loss.value < PAPER["FULL", depth, law]
            if depth not in full or not results.steady(loss):
                continue
            total += 1
            gap, error = results.difference(loss, full[depth])
            name = f"{law_name(law)} L = {depth}: {loss.value:.3g} (FULL {full[depth].value:.3g})"
            allowed = normal_threshold(CELLS) * error
            errors.append(allowed / full[depth].value)
            if gap > allowed:
                worse.append(name)
            elif gap < -allowed:
                better.append(name)
    if not total:
        return no_full_network()
    verdict: Verdict = "fails" if worse else "holds" if total >= 35 else UNDECIDED
    note = (
        f"AXIS is above FULL in: {results.listed(worse)}. It is below the paper's FULL in "
        f"{against_paper} of {CELLS} cells."
    )
    return Judgement(
        verdict,
        f"below FULL in {len(better)} of {total} cells, above in {len(worse)}",
        "nowhere above our FULL, with 10 or 20 numbers per layer instead of 242",
        f"{normal_threshold(CELLS):.1f} standard errors (familywise level {LEVEL:g}); "
        "cells with a heavy tail are left out",
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=Resolution(max(errors), HALF, "of the loss of FULL"),
    )


CLAIMS = (
    Claim(
        "table-1-full",
        "Vladymyrov et al., Table 1",
        "FULL, all entries free, trained by Adam from random weights: the best of five reaches "
        "every cell of the paper's table.",
        _table,
        ("full-table", "fig-1"),
    ),
    Claim(
        "full-diag-uniform",
        SOURCE,
        "On uniform noise FULL and DIAG are comparable at every depth and every s_max.",
        _full_diag_depths,
        ("fig-1", "full-table"),
    ),
    Claim(
        "full-diag-sigma",
        f"{SOURCE}, Figure 2",
        "On uniform noise seven layers of FULL and of DIAG are comparable at every noise level.",
        _full_diag_levels,
        ("fig-2-deepest",),
    ),
    Claim(
        "four-layers-beat-adarr-full",
        SOURCE,
        "Four layers of FULL have a smaller loss than ADARR for s_max = 4 and larger.",
        _four_layers,
        ("fig-1",),
    ),
    Claim(
        "axis-beats-full",
        "Ours, beside Table 1",
        "AXIS, with at most a twelfth of the numbers, has in no cell a larger loss than the best "
        "of the five shipped FULL networks, which Adam found from random weights.",
        _axis,
        ("full-table",),
        ours=True,
    ),
)
