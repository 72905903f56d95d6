"""Claims about FULL, the paper's family with all entries of P and Q free.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6 and Table 1. They are judged on networks
that were trained by Adam from random weights, so that training was free to find something else:
of every law and depth the best of five from random weights of all layers and five that were grown.
Networks with a heavy tail count for nothing (`full_results`). FULL against DIAG is the subject of
`claims_full_diag`, weights and single layers that of `claims_full_weights`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from attnlab.lab.study import NO_SCALE, UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import claims_full_diag, full_results, results
from attnlab.linear.study.claims_full_diag import SOURCE
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
from attnlab.linear.study.questions_full import FullLossRow
from attnlab.linear.study.results import MARGIN
from attnlab.linear.study.table_1 import (
    DEPTHS,
    LAWS,
    PAPER,
    UNIFORM,
    law_name,
)
from attnlab.stats import LEVEL, normal_threshold

HALF = 0.5  # our line for "diagonal-heavy": more than half of the squared entries
NEAR = 0.1  # "beat": the paper's own gaps to ADARR are of this share of its loss


def _refuted(view: View, cell: TableCell) -> bool:
    """Whether the paper's own recipe misses a cell, and no smaller family reaches it."""
    rows = full_results.starts(view, "printed", cell.law).get(cell.depth)
    if not rows or not full_results.enough(rows) or subfamily_reaches(view, cell):
        return False
    loss = results.loss_of(full_results.best(rows))
    return table_cell(view, "FULL", cell.law, cell.depth, loss).state == "above"


def _table(view: View) -> Judgement:
    cells = judged_cells(view, "FULL")
    if not cells:
        return full_results.no_full_network()
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
        f"{_by_the_recipe(view, cells, rows)}Only networks of the paper's recipe refute."
        f"{blind_note(cells)}"
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


def _by_the_recipe(
    view: View, cells: Sequence[TableCell], rows: Mapping[str, Mapping[int, FullLossRow]]
) -> str:
    """The sentence that names the cells whose network is of the paper's recipe; or nothing."""
    printed = [
        f"{law_name(cell.law)} L = {cell.depth}"
        for cell in cells
        if full_results.is_printed(view, cell.law, rows[cell.law][cell.depth])
    ]
    return f"Trained as printed, with nothing clipped: {results.listed(printed)}. " * bool(printed)


def _left_open(view: View) -> str:
    """What decides a cell that the clipped recipe misses."""
    if view.scale == "paper":
        return f"{NO_SCALE} That takes networks of the paper's recipe on every law and depth."
    return full_results.DECIDES


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
        return full_results.no_full_network()
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
    printed = below_paper = 0
    every = len(LAWS) * len(DEPTHS)
    for law in LAWS:
        shipped = full_results.best_rows(view, law)
        rows += shipped.values()
        full = {depth: results.loss_of(row) for depth, row in shipped.items()}
        full = {depth: loss for depth, loss in full.items() if results.steady(loss)}
        for depth, loss in results.by_depth(view, "AXIS", law).items():
            if ("FULL", depth, law) in PAPER and results.steady(loss):
                printed += 1
                below_paper += loss.value < PAPER["FULL", depth, law]
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
        return full_results.no_full_network()
    # Where half of the cells or more have a heavy tail, too few are left for "in no cell".
    verdict: Verdict = "fails" if worse else "holds" if total > every / 2 else UNDECIDED
    note = (
        f"AXIS is above FULL in: {results.listed(worse)}. It is below the paper's FULL in "
        f"{below_paper} of the {printed} cells in which it has no heavy tail."
    )
    return Judgement(
        verdict,
        f"below FULL in {len(better)} of {total} cells, above in {len(worse)}; {every - total} of "
        f"{every} have a heavy tail",
        "nowhere above our FULL, with 10 or 20 numbers per layer instead of 242",
        f"{normal_threshold(CELLS):.1f} standard errors (familywise level {LEVEL:g}); "
        "cells with a heavy tail are left out, and more than half of all must remain",
        f"{note} {full_results.DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=Resolution(max(errors), HALF, "of the loss of FULL"),
    )


CLAIMS = (
    Claim(
        "table-1-full",
        "Vladymyrov et al., Table 1",
        "FULL, all entries free, trained by Adam from random weights, reaches every cell of the "
        "paper's table.",
        _table,
        ("full-table", "fig-1"),
    ),
    *claims_full_diag.CLAIMS,
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
        "of the ten shipped FULL networks, which Adam found from random weights.",
        _axis,
        ("full-table",),
        ours=True,
    ),
)
