"""Claims about Table 1: our loss in every cell against the paper's, with both standard errors.

`claims_table_cells` says when a cell is reached, above, open or left out. Without noise, three
layers and more have no mean that a sample can show; `claims_noiseless` has these cells.
"""

from __future__ import annotations

import math

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import results
from attnlab.linear.study.claims_table_cells import (
    CELLS,
    LARGEST,
    allowance,
    blind_note,
    high_words,
    in_state,
    judged_cells,
    mostly_high,
    named,
    subfamily_reaches,
    tolerance,
)
from attnlab.linear.study.table_1 import LAWS, PAPER, RIDGES, law_name, rounding
from attnlab.stats import LEVEL, normal_threshold

SOURCE = "Vladymyrov et al., Table 1"
KNOWN = "a printed value that sampling leaves known to a quarter"  # LARGEST


def reaching(
    view: View, model: str, evidence: results.Evidence, trained: bool, decides: str = ""
) -> Judgement:
    """Whether a model reaches every cell of the paper's table.

    Parameters
    ----------
    view
        The results.
    model
        GD++, DIAG, FULL or AXIS.
    evidence
        The grade of the evidence.
    trained
        Whether this scale trained the networks, so that `quick` refutes nothing.
    decides
        What decides the claim where it is undecided, if that is not a larger scale.
    """
    cells = judged_cells(view, model)
    reached, above, unclear, blind = (
        in_state(cells, state) for state in ("reached", "above", "open", "blind")
    )
    # A network of a smaller family is one of this family, so that the cell can be reached.
    refuting = [
        cell for cell in above if cell.share <= LARGEST and not subfamily_reaches(view, cell)
    ]
    verdict: Verdict = UNDECIDED if above or unclear or not reached else "holds"
    if refuting:
        verdict = "fails"
    elif mostly_high(cells):
        verdict = UNDECIDED
    if trained:
        verdict = results.after_training(view, verdict)
    below = [cell for cell in reached if cell.ours.value < cell.paper - cell.margin]
    impossible = [cell for cell in cells if cell.paper < cell.lawful - 0.0005]
    whole = f"This scale has {len(cells)} of {CELLS} cells. " if len(cells) < CELLS else ""
    note = f"{whole}Not reached: {named(above)}. Open: {named(unclear)}.{blind_note(cells)}"
    if impossible:
        values = [
            f"{law_name(c.law)} L = {c.depth}: {c.paper:g} < {c.lawful:.4f}" for c in impossible
        ]
        note += f" Values of the paper below the laws: {results.listed(values)}."
    if verdict == UNDECIDED:
        note += f" {decides or results.left_open(view)}"
    return Judgement(
        verdict,
        f"{len(reached)} of {len(cells) - len(blind)} cells are reached, {len(below)} of them "
        f"below the paper's value by more than the margin and {high_words(cells)}; {len(blind)} "
        "are left out",
        "every cell is at most max(paper's value, laws)",
        tolerance(),
        note,
        **evidence,
        resolution=allowance(cells, refuting if verdict == "fails" else ()),
    )


def _reproduced(view: View) -> Judgement:
    cells = judged_cells(view, "GD++")
    known = [cell for cell in cells if results.steady(cell.ours)]
    below = [cell for cell in known if cell.ours.value < cell.paper - cell.margin]
    above = [cell for cell in known if cell.ours.value > cell.paper + cell.margin]
    verdict: Verdict = "fails" if below else "holds"
    if above and not below:
        verdict = results.after_training(view, "fails")
    impossible = [c for c in cells if c.depth > 1 and c.paper < c.lawful - 0.0005]
    note = (
        f"Ours is lower: {results.listed([cell.name for cell in below])}; higher: "
        f"{results.listed([cell.name for cell in above])}. Values of the paper below the floor of "
        f"GD++: {results.listed([cell.name for cell in impossible])}."
    )
    if verdict == UNDECIDED:
        note += f" {results.decides('standard')}"
    return Judgement(
        verdict,
        f"{len(known) - len(below) - len(above)} of {len(known)} cells agree with the paper",
        "the paper's values; the optimum of GD++ does not depend on who finds it",
        f"two-sided, {normal_threshold(CELLS):.1f} √(SE_paper² + SE_ours²) (familywise level "
        f"{LEVEL:g}) plus half a printed digit",
        note,
        **results.trained_evidence(view),
        resolution=Resolution(
            max((cell.margin / cell.target for cell in known), default=math.inf),
            LARGEST,
            "of the paper's value",
        ),
    )


def _one_layer_printed(view: View) -> Judgement:
    z = normal_threshold(3 * len(LAWS))
    off, margins, ratios = [], [], []
    for law in LAWS:
        exact = results.ridge(view, "one layer", law).value
        ours = results.by_depth(view, "AXIS", law)[1]
        for model in ("GD++", "DIAG", "FULL"):
            paper = PAPER[model, 1, law]
            margin = z * results.error_of_paper(view, law, ours) + rounding(paper)
            margins.append(margin / exact)
            ratios.append(paper / exact)
            if abs(paper - exact) > margin:
                off.append(f"{model} {law_name(law)}: {paper:g} (law {exact:.4f})")
    return Judgement(
        "fails" if off else "holds",
        f"{len(ratios) - len(off)} of {len(ratios)} printed values agree with the law; ratios "
        f"{min(ratios):.3f} to {max(ratios):.3f}",
        "d/2 (1 − n/(n + d + 1 + E σ²)) minus the oracle's loss, for all three models",
        f"two-sided, {z:.1f} SE_paper (familywise level {LEVEL:g}) plus half a printed digit",
        f"Values that differ: {results.listed(off)}.",
        **results.AS_IN_PAPER,
        resolution=Resolution(max(margins), 0.1, "of the law's value"),
    )


def _ridges(view: View) -> Judgement:
    """The ridges against the paper's values, two-sided, with the blind cells left out.

    A cell is blind where the paper's sampling error and its printed digits alone are more than a
    quarter of its value, as in `claims_table_cells`. Without noise the value is 0 in print, which
    a loss is compared with to half a printed digit.
    """
    off, blind, z = [], [], normal_threshold(len(LAWS) * len(RIDGES))
    margins: dict[str, float] = {}
    for name in RIDGES:
        for law in LAWS:
            ours, paper = results.ridge(view, name, law), PAPER[name, 0, law]
            cell = f"{name} {law_name(law)}: {ours.value:.4f} (paper {paper:g})"
            papers = z * results.error_of_paper(view, law, ours) + rounding(paper)
            sampling = math.hypot(results.error_of_paper(view, law, ours), ours.standard_error)
            margin = z * sampling + rounding(paper)
            if abs(ours.value - paper) > margin:
                off.append(cell)
            elif papers > LARGEST * paper > 0:
                blind.append(cell)
            if paper and papers <= LARGEST * paper:
                margins[cell] = margin / paper
    count = len(LAWS) * len(RIDGES) - len(blind)
    widest = max(margins.values())
    return Judgement(
        "fails" if off else "holds",
        f"{count - len(off)} of {count} cells agree; {len(blind)} are left out",
        "the paper's values",
        f"{z:.1f} √(SE_paper² + SE_ours²) (familywise level {LEVEL:g}) plus half a printed digit; "
        f"a cell is left out where the paper's error and digits are more than {LARGEST:.0%} of "
        "its value",
        f"Cells that differ: {results.listed(off)}. Left out: {results.listed(blind, most=20)}."
        + ("" if off or widest <= LARGEST else f" {results.left_open(view)}"),
        **results.AS_IN_PAPER,
        resolution=Resolution(widest, LARGEST, "of the paper's value"),
    )


CLAIMS = (
    Claim(
        "table-1-gd",
        SOURCE,
        "GD++: our training reaches every cell of the paper's table that has noise or at most "
        f"two layers and {KNOWN}.",
        lambda view: reaching(view, "GD++", results.trained_evidence(view), True),
        ("table-1", "fig-1"),
    ),
    Claim(
        "table-1-gd-reproduced",
        SOURCE,
        "GD++, trained to its optimum, has the loss that the paper prints in every cell that has "
        "noise or at most two layers.",
        _reproduced,
        ("table-1",),
    ),
    Claim(
        "table-1-diag",
        SOURCE,
        "DIAG: our training reaches every cell of the paper's table that has noise or at most "
        f"two layers and {KNOWN}.",
        lambda view: reaching(view, "DIAG", results.trained_evidence(view), True),
        ("table-1", "fig-1"),
    ),
    Claim(
        "table-1-one-layer",
        SOURCE,
        "One layer of GD++, DIAG and FULL has the losses that the paper prints.",
        _one_layer_printed,
        ("table-1",),
    ),
    Claim(
        "table-1-ridges",
        SOURCE,
        "CONSTRR, ADARR and TUNEDRR have the losses of the paper's table in every cell that has "
        f"{KNOWN}.",
        _ridges,
        ("table-1",),
    ),
)
