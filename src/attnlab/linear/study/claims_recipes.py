"""Claims about what Adam finds: the algorithm, the paper's recipe as printed, FULL from near DIAG.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6 and Table 1. The paper trains all families
by one recipe; here it is run for each of them on one law and depth. Networks that start near DIAG
are judged apart from all others: that they are near-diagonal would show nothing.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import full_results, grids, grids_full, results
from attnlab.linear.study.claims_full import DECIDES, no_full_network
from attnlab.linear.study.claims_table import TableCell, allowance, table_cell, tolerance
from attnlab.linear.study.questions_ablation import WITHOUT
from attnlab.linear.study.questions_full import FullLossRow
from attnlab.linear.study.results import MARGIN, UNDECIDED
from attnlab.linear.study.table_1 import law_name
from attnlab.stats import Estimate

SOURCE = "Ours, beside Table 1"
VERDICTS: dict[str, Verdict] = {"reached": "holds", "above": "fails", "open": UNDECIDED}
BESIDE = {"GD++": "Levenberg-Marquardt", "DIAG": "Levenberg-Marquardt"}


def starts(view: View, recipe: str) -> dict[int, list[FullLossRow]]:
    """The rows of whole networks on their noise law by depth, one per start."""
    found: dict[int, list[FullLossRow]] = {}
    for cell in grids_full.by_recipe(recipe, view.scale, view.seed):
        for row in view.rows(cell):
            if row.sigma is None and row.read == row.layers:
                found.setdefault(row.layers, []).append(row)
    return found


def best(rows: list[FullLossRow]) -> FullLossRow:
    """The best start, chosen on other sequences than it is evaluated on."""
    return min(rows, key=lambda row: math.inf if row.selection is None else row.selection)


def _shown(rows: list[FullLossRow]) -> str:
    return ", ".join(f"{results.loss_of(row).value:.3g}" for row in rows)


def _papers_recipe(recipe: str, model: str, view: View) -> Judgement:
    by_depth = starts(view, recipe)
    if not by_depth:
        return results.open_until(f"no {model} network of this recipe at this scale", "paper")
    depth, rows = next(iter(by_depth.items()))
    chosen = best(rows)
    ours = results.loss_of(chosen)
    cell = table_cell(view, model, grids.U5, depth, ours)
    verdict = VERDICTS[cell.state]
    note = (
        f"Of {chosen.trained_starts} starts {chosen.trained_starts - chosen.steady_starts} have a "
        "heavy tail. The paper does not say from which weights it starts; ours are N(0, 0.003²)."
    )
    other = results.by_depth(view, model, grids.U5).get(depth) if model in BESIDE else None
    if other is not None:
        note += f" {BESIDE[model]} finds {other.value:.3g} ± {other.standard_error:.1g}."
    return Judgement(
        verdict,
        f"{law_name(grids.U5)}, {depth} layers: {_shown(rows)}; the best by other sequences "
        f"{ours.value:.3g}",
        f"{cell.target:.3g}",
        tolerance(),
        f"{note} {DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=allowance([cell]),
    )


def _from_diag(view: View) -> Judgement:
    by_depth = starts(view, "from-diag")
    if not by_depth:
        return no_full_network()
    diag = results.by_depth(view, "DIAG", grids.U5)
    cells: list[TableCell] = []
    measured, beside = [], []
    for depth, rows in by_depth.items():
        for row in rows:
            cells.append(table_cell(view, "FULL", grids.U5, depth, results.loss_of(row)))
        measured.append(f"{depth} layers {_shown(rows)} (paper {cells[-1].paper:g})")
        if depth in diag:
            beside.append(f"{diag[depth].value:.3g} at {depth} layers")
    states = {cell.state for cell in cells}
    verdict: Verdict = "fails" if "above" in states else UNDECIDED
    if states == {"reached"}:
        verdict = "holds"
    rows = [row for some in by_depth.values() for row in some]
    note = (
        "They start at a DIAG network trained by Levenberg-Marquardt with N(0, 0.0003²) added to "
        "every entry, so that they say nothing about where random weights lead. DIAG itself has "
        f"{results.listed(beside)}."
    )
    return Judgement(
        verdict,
        f"{law_name(grids.U5)}: {'; '.join(measured)}",
        "every start at most the paper's value for FULL",
        tolerance(),
        f"{note} {DECIDES}" if verdict == UNDECIDED else note,
        **full_results.setting(rows),
        resolution=allowance(cells),
    )


def _found_algorithm(view: View) -> Judgement:
    cells = grids_full.ablated(view.scale, view.seed)
    if not cells:
        return no_full_network()
    rows = view.rows(cells[0])
    found = {row.quantity: Estimate(row.value, row.error) for row in rows if row.sigma is None}
    factors = {row.sigma: Estimate(row.value, row.error) for row in rows if row.sigma is not None}
    loss, gains = found["loss"], [found[name] for name in WITHOUT]
    # A step of the factor is noticed where it is larger than the errors of both ends.
    steps = [
        Estimate(*results.difference(factors[low], factors[high]))
        for low, high in pairwise(sorted(factors))
    ]
    verdict: Verdict = UNDECIDED
    if all(map(results.clearly_positive, (*gains, *steps))):
        verdict = "holds"
    elif any(map(results.clearly_negative, (*gains, *steps))):
        verdict = "fails"
    shown = ", ".join(f"{factors[sigma].value:.2f} at σ = {sigma:g}" for sigma in sorted(factors))
    return Judgement(
        verdict,
        f"DIAG of {grids_full.RECIPE_DEPTH} layers, loss {loss.value:.3g}: without ω_xy "
        f"{gains[0].value:+.3g}, without ω_yy {gains[1].value:+.3g}; factor of y {shown}",
        "both losses larger, and a factor that falls with the noise",
        f"by {MARGIN:g} standard errors, on the same sequences and from level to level",
        "ω_xy writes y into the inputs, from where momentum comes; ω_yy rescales y. The network is "
        "the best of five that Adam found by the paper's recipe."
        + (f" {results.left_open(view)}" if verdict == UNDECIDED else ""),
        **results.AS_IN_PAPER,
        resolution=Resolution(
            max(MARGIN * one.standard_error / abs(one.value) for one in (*gains, *steps)),
            1.0,
            "of each difference",
        ),
    )


def _as_printed(claim: str, recipe: str, model: str) -> Claim:
    return Claim(
        claim,
        SOURCE,
        "Trained exactly as the paper says (rate 1e-4, 2,048 sequences, 200,000 steps, nothing "
        f"against divergence) the best of five starts of {model} reaches the paper's loss.",
        partial(_papers_recipe, recipe, model),
        ("recipes",),
        ours=True,
    )


CLAIMS = (
    Claim(
        "found-algorithm",
        "Vladymyrov et al., Abstract",
        "A trained DIAG network uses momentum and a rescaling that adapts to the noise.",
        _found_algorithm,
        ("recipes",),
    ),
    _as_printed("full-paper-recipe", "paper", "FULL"),
    _as_printed("diag-paper-recipe", "paper-diag", "DIAG"),
    _as_printed("gd-paper-recipe", "paper-gd++", "GD++"),
    Claim(
        "full-from-diag",
        SOURCE,
        "FULL that starts near a trained DIAG network of seven layers on U(0,5) reaches "
        "the paper's loss from every one of five starts.",
        _from_diag,
        ("recipes",),
        ours=True,
    ),
)
