"""Claims that are counts: sizes of published models, and layers that libraries accept."""

from __future__ import annotations

from attnlab.lab.study import NO_SCALE, UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.rank.study import grids_theory

PAPER = "Amsel, Yehudai, Bruna"
NEARLY_ALL = 0.9  # of the models
FACTOR = 2.0  # of the sentence on exceptions
OF_MODELS = "of these models"


def _majority(counted: int, of: int) -> Resolution:
    """One model more or less, against how far the count is from half."""
    return Resolution(1 / of, abs(counted / of - 0.5), OF_MODELS)


def _habit(view: View) -> Judgement:
    rows = view.rows(grids_theory.size_cell())
    others = [row for row in rows if row.share != 1]
    share = 1 - len(others) / len(rows)
    verdict: Verdict = "holds" if share >= NEARLY_ALL else UNDECIDED
    if share <= 0.5:
        verdict = "fails"
    line = NEARLY_ALL if share > 0.5 else 0.5
    return Judgement(
        verdict,
        f"H r / d = 1 in {len(rows) - len(others)} of {len(rows)} models; "
        + ", ".join(f"{row.share:.2g} in {row.model}" for row in others),
        f"H r = d in nearly all, {NEARLY_ALL:.0%} or more",
        f"published sizes; holds from {NEARLY_ALL:.0%} of these models on, fails up to a half, our "
        "choice",
        "This is a habit and no rule: newer models choose r freely. "
        + (NO_SCALE + " That takes a census of models." if verdict == UNDECIDED else ""),
        grade="smaller setting",
        differs=f"{len(rows)} models of all",
        resolution=Resolution(1 / (2 * len(rows)), abs(share - line), OF_MODELS),
    )


def _exceptions(view: View) -> Judgement:
    others = [row for row in view.rows(grids_theory.size_cell()) if row.share != 1]
    beyond = [row for row in others if not 1 / FACTOR <= row.share <= FACTOR]
    shown = ", ".join(f"{row.share:.2g} in {row.model}" for row in others)
    return Judgement(
        "fails" if beyond else UNDECIDED,
        f"H r / d = {shown}" if others else "no exception among these models",
        f"from {1 / FACTOR:g} to {FACTOR:g} in every exception",
        "published sizes; one model beyond the factor refutes, and no list of models confirms",
        "Beyond it: "
        + (", ".join(row.model for row in beyond) + "." if beyond else f"none. {NO_SCALE}"),
        grade="exact",
    )


def _libraries(view: View) -> Judgement:
    cell = grids_theory.library_cell()
    rows = view.rows(cell)
    fixed = {row.library for row in rows if not row.asked and row.standard == row.accepted > 0}
    asked = {row.library: row for row in rows if row.asked}
    free = {name for name, row in asked.items() if row.standard < row.accepted}
    verdict = "fails"
    if fixed == set(asked) and "PyTorch" not in free:
        verdict = "holds as corrected" if free else "holds"
    return Judgement(
        verdict,
        "; ".join(
            f"{row.library}: H r = d in {row.standard} of {row.accepted} layers by default, "
            + (
                f"H r / d from {one.least_share:.2g} to {one.largest_share:g} in {one.accepted} "
                "layers whose keys have a width of their own"
                if (one := asked[row.library]).accepted
                else "and no argument for another width of the keys"
            )
            for row in rows
            if not row.asked
        ),
        "H r = d in every layer that a user can build",
        f"count over all layers with d, H and H r up to {cell.config.largest}, by the rules of the "
        "two constructors",
        "Corrected: PyTorch fixes H = d/r; in xFormers it is the default, and the argument dim_key "
        "of MultiHeadDispatch changes it.",
        grade="exact",
    )


def _small_ranks(view: View) -> Judgement:
    rows = view.rows(grids_theory.size_cell())
    inside = [row for row in rows if 64 <= row.rank <= 128]
    ranks, widths = [row.rank for row in rows], [row.d for row in rows]
    good = len(inside) > len(rows) / 2 and max(widths) / min(widths) > max(ranks) / min(ranks)
    return Judgement(
        "holds" if good else "fails",
        f"r from 64 to 128 in {len(inside)} of {len(rows)} models, d from {min(widths)} to "
        f"{max(widths)}",
        "most ranks from 64 to 128 though d varies far more",
        "published sizes",
        grade="smaller setting",
        differs=f"{len(rows)} models of all",
        resolution=_majority(len(inside), len(rows)),
    )


CLAIMS = (
    Claim(
        "heads-times-rank",
        f"{PAPER}, Section 1 and Appendix A",
        "Nearly all models take H = d/r heads.",
        _habit,
        ("sizes",),
    ),
    Claim(
        "heads-times-rank-exceptions",
        f"{PAPER}, Section 1 and Appendix A",
        "Models that do not take H = d/r heads differ from that by at most a factor of 2.",
        _exceptions,
        ("sizes",),
    ),
    Claim(
        "library-defaults",
        f"{PAPER}, Section 1",
        "PyTorch and xFormers fix H = d/r in their code.",
        _libraries,
    ),
    Claim(
        "small-ranks",
        f"{PAPER}, Section 1",
        "Most models have ranks from 64 to 128, though d varies from 512 to 8192.",
        _small_ranks,
        ("sizes",),
    ),
)
