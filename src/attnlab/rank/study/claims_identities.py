"""Claims that are algebra: Section 3, the proof of Theorem 2, equation (10)."""

from __future__ import annotations

from dataclasses import replace

from attnlab.lab.cell import Cell
from attnlab.lab.study import Claim, Judgement, Verdict, View
from attnlab.rank.study import grids_theory
from attnlab.rank.study.cells_identities import ROUNDING, SCORED
from attnlab.rank.study.identities_harmonics import (
    DIAGONAL,
    DISTANCE,
    DISTANCE_PRINTED,
    EVEN,
    FRAME,
)
from attnlab.rank.study.identities_heads import COVERED, VALUE_BIAS
from attnlab.rank.study.results import rounded_down
from attnlab.stats import below

PAPER = "Amsel, Yehudai, Bruna"
APART = 0.1  # two different unit vectors differ by more somewhere in 50 draws
DECAY_DIMENSIONS = (3, 4, 8, 16, 64, 256)
DECAY_DEGREES = (1, 3, 9, 31, 101, 301)


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
    return replace(
        _identity(view, "softmax of c scores is within (N − 1) exp(−c gap) of the hardmax"),
        note="Where the largest score is unique, as it is with probability 1 for points with a "
        "density; at a tie the limit divides the weight evenly.",
    )


def _corrected(found: dict[str, float], printed: str, corrected: str) -> Verdict:
    """The verdict on an identity as printed, and on what is left of it."""
    if found[corrected] > ROUNDING or ROUNDING < found[printed] <= APART:
        return "fails"
    return "holds" if found[printed] <= ROUNDING else "holds as corrected"


def _generalised(view: View) -> Judgement:
    found = differences(view)
    return Judgement(
        _corrected(found, VALUE_BIAS, COVERED),
        "largest difference of the answers of standard heads and of V X φ(KᵀX, y) written out: "
        f"{below(found[COVERED], ROUNDING)} with biases of queries and keys, additive encodings in "
        "the scores, RoPE and ALiBi; with a bias of the values the answer to one point and to its "
        f"negative has a mean of up to {found[VALUE_BIAS]:.1f}",
        "0",
        "rounding of double precision, on 50 random inputs",
        "Corrected: the class has the biases of queries and keys and the encodings that enter the "
        "scores. A bias of the values, or of the output, and encodings that are added to the "
        "values as well add a term without x. It is outside of the class: for N = 1 every sum of "
        "generalised heads is odd in x.",
        grade="exact",
    )


def _feed_forward(view: View) -> Judgement:
    return _identical(_differences(view, grids_theory.feed_forward_cell(view.seed)), SCORED)


def _symmetric_target(view: View) -> Judgement:
    return _identity(
        view,
        "the neighbour ignores the order of points",
        "the neighbour follows rotations",
        apart="the biased neighbour ignores the order of points",
    )


def _symmetric_law(view: View) -> Judgement:
    found = _identity(view, FRAME)
    return replace(
        found,
        note="The N columns of G (GᵀG)^(−1/2) are a sample of D_N for a normal matrix G, whose law "
        "is invariant under U G for orthogonal U.",
    )


def _distances(view: View) -> Judgement:
    found = differences(view)
    return Judgement(
        _corrected(found, DISTANCE_PRINTED, DISTANCE),
        f"largest difference to ‖x − y‖²: {below(found[DISTANCE_PRINTED], ROUNDING)} with 2 − x·y, "
        f"as printed; {below(found[DISTANCE], ROUNDING)} with 2 − 2 x·y",
        "0",
        "rounding of double precision, on 50 random inputs",
        "Corrected: ‖x − y‖² = 2 − 2 xᵀ K Qᵀ y. The construction of Fact 1 does not change.",
        grade="exact",
    )


def _harmonics(view: View) -> Judgement:
    from attnlab.maths.harmonics import odd_energies
    from attnlab.rank.theory.spectral_tail import least_tail

    found = differences(view)
    equal = all(found[name] <= ROUNDING for name in (EVEN, DIAGONAL))
    # Falling like a power of the degree: the energies of all d decay no faster than the lemma says.
    shares = [
        (1 - float(odd_energies(d, degree).sum())) / least_tail(d, degree)
        for d in DECAY_DIMENSIONS
        for degree in DECAY_DEGREES
    ]
    return Judgement(
        "holds" if equal and min(shares) >= 1 else "fails",
        f"{EVEN}: {below(found[EVEN], ROUNDING)} off; {DIAGONAL}, with the eigenvalues λ_l² λ_m²: "
        f"{below(found[DIAGONAL], ROUNDING)} off; the energy from degree L on is at least "
        f"{rounded_down(min(shares), 2)} times (4 c_d/π)/√(L (L + d)), at d = "
        f"{DECAY_DIMENSIONS[0]} to {DECAY_DIMENSIONS[-1]} and L up to {DECAY_DEGREES[-1]}",
        "0; at least 1, a power of the degree",
        "rounding of double precision, exact quadratures in dimension 8; the lemma of docs/rank.md "
        "for all d and L",
        grade="exact",
    )


def _thresholds(view: View) -> Judgement:
    found = differences(view)
    return Judgement(
        _corrected(found, "thresholds as printed", "thresholds corrected"),
        f"largest difference to the definition: {below(found['thresholds as printed'], ROUNDING)} "
        "with b* = b₁ − b₂, as printed; "
        f"{below(found['thresholds corrected'], ROUNDING)} with b* = (b₂ − b₁)/2",
        "0",
        "rounding of double precision, on 50 random inputs",
        "Corrected: b* = (b₂ − b₁)/2, for the reason of fact-3.",
        grade="exact",
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
        "data-law-symmetries",
        f"{PAPER}, Section 3",
        "The law D_N of orthonormal points is invariant under orthogonal maps.",
        _symmetric_law,
    ),
    Claim(
        "distance-identity",
        f"{PAPER}, Section 4, after Fact 1",
        "With V = K Qᵀ = I, ‖x_i − y‖² = 2 − x_iᵀ K Qᵀ y on the unit sphere.",
        _distances,
    ),
    Claim(
        "theorem-2-harmonics",
        f"{PAPER}, Section 4, idea of the proof",
        "The spectrum of sgn(xᵀy) decays slowly, its energy is spread evenly within each degree of "
        "the harmonics, and the kernel of random heads is diagonal in products of them.",
        _harmonics,
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
)
