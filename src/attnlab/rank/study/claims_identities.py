"""Claims that are algebra or counting: Section 3, equation (10), sizes of models and libraries."""

from __future__ import annotations

from attnlab.lab.cell import Cell
from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View
from attnlab.rank.study import grids_theory
from attnlab.rank.study.cells_identities import ROUNDING, SCORED
from attnlab.stats import below

PAPER = "Amsel, Yehudai, Bruna"
APART = 0.1  # two different unit vectors differ by more somewhere in 50 draws


def differences(view: View) -> dict[str, float]:
    """How far the two sides of each identity are apart."""
    return _differences(view, grids_theory.identity_cell(view.seed))


def _differences(view: View, cell: Cell) -> dict[str, float]:
    return {row.identity: row.difference for row in view.rows(cell)}


def _identity(view: View, *names: str, apart: str | None = None) -> Judgement:
    """Some identities hold to rounding, and `apart` is none."""
    return _identical(differences(view), *names, apart=apart)


def _identical(found: dict[str, float], *names: str, apart: str | None = None) -> Judgement:
    good = all(found[name] <= ROUNDING for name in names)
    shown = [f"{name}: {below(found[name], ROUNDING)}" for name in names]
    if apart is not None:
        good = good and found[apart] > APART
        shown.append(f"{apart}: {'no' if found[apart] > APART else 'yes'}")
    return Judgement(
        "holds" if good else "fails",
        "; ".join(shown),
        "0" if apart is None else "0, and for the last one no identity",
        "rounding of double precision, on 50 random inputs",
        grade="exact",
    )


def _symmetric_layer(view: View) -> Judgement:
    return _identity(
        view, "attention ignores the order of targets", "attention follows the order of sources"
    )


def _hardmax(view: View) -> Judgement:
    return _identity(view, "softmax of c scores is within (N − 1) exp(−c gap) of the hardmax")


def _generalised(view: View) -> Judgement:
    return _identity(view, "biases and encodings are generalised heads")


def _feed_forward(view: View) -> Judgement:
    return _identical(_differences(view, grids_theory.feed_forward_cell(view.seed)), SCORED)


def _symmetric_target(view: View) -> Judgement:
    return _identity(
        view,
        "the neighbour ignores the order of points",
        "the neighbour follows rotations",
        apart="the biased neighbour ignores the order of points",
    )


def _thresholds(view: View) -> Judgement:
    found = differences(view)
    verdict = "fails"
    if found["thresholds corrected"] <= ROUNDING:
        exact = found["thresholds as printed"] <= ROUNDING
        verdict = "holds" if exact else "holds as corrected"
    return Judgement(
        verdict,
        f"largest difference to the definition: {below(found['thresholds as printed'], ROUNDING)} "
        "with b* = b₁ − b₂, as printed; "
        f"{below(found['thresholds corrected'], ROUNDING)} with b* = (b₂ − b₁)/2",
        "0",
        "rounding of double precision, on 50 random inputs",
        "Corrected: b* = (b₂ − b₁)/2, for the reason of fact-3.",
        grade="exact",
    )


def _majority(counted: int, of: int) -> Resolution:
    """One model more or less, against how far the count is from half."""
    return Resolution(1 / of, abs(counted / of - 0.5), "of these models")


def _habit(view: View) -> Judgement:
    rows = view.rows(grids_theory.size_cell())
    others = [row for row in rows if row.share != 1]
    beyond = [row for row in others if not 0.5 <= row.share <= 2]
    verdict: Verdict = "holds as corrected" if beyond else "holds"
    if len(others) >= len(rows) / 2:
        verdict = "fails"
    return Judgement(
        verdict,
        f"H r / d = 1 in {len(rows) - len(others)} of {len(rows)} models; "
        + ", ".join(f"{row.share:.2g} in {row.model}" for row in others),
        "H r = d in most, within a factor of 2 in all",
        "published sizes; more than half of these models count as most",
        "This is a habit and no rule: newer models choose r freely."
        + (
            " Corrected: an exception may be far beyond a factor of 2, as "
            + " and ".join(row.model for row in beyond)
            + " are."
            if beyond
            else ""
        ),
        grade="smaller setting",
        differs=f"{len(rows)} models of all",
        resolution=_majority(len(rows) - len(others), len(rows)),
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
        "attention-symmetries",
        f"{PAPER}, Section 3",
        "Multi-head attention ignores the order of the target points and follows that of the "
        "source points.",
        _symmetric_layer,
    ),
    Claim(
        "hardmax-limit",
        f"{PAPER}, Section 3",
        "The softmax of c times the scores tends to their hardmax as c grows.",
        _hardmax,
    ),
    Claim(
        "generalised-heads",
        f"{PAPER}, Section 3",
        "Heads with biases, additive encodings, RoPE or ALiBi are generalised heads of the same "
        "rank.",
        _generalised,
    ),
    Claim(
        "feed-forward-scores",
        f"{PAPER}, Section 3",
        "Heads whose scores are a feed-forward network of K_hᵀ x and y are generalised heads of "
        "the same rank.",
        _feed_forward,
    ),
    Claim(
        "target-symmetries",
        f"{PAPER}, Sections 3 and 5",
        "The nearest neighbour ignores the order of the points and follows rotations; the biased "
        "one follows rotations and does depend on the order.",
        _symmetric_target,
    ),
    Claim(
        "equation-10",
        f"{PAPER}, equation (10)",
        "The biased neighbour of two points is a threshold of ⟨x₁ − x₂, y⟩ + b*.",
        _thresholds,
    ),
    Claim(
        "heads-times-rank",
        f"{PAPER}, Section 1 and Appendix A",
        "Nearly all models take H = d/r heads, and the exceptions differ by at most a factor of 2.",
        _habit,
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
