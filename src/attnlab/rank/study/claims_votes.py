"""Claims about the votes of Theorems 7 and 34, and the single heads that they are made of."""

from __future__ import annotations

import math

from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View
from attnlab.rank.study import grids_theory
from attnlab.rank.study.cells_identities import OPPOSITE, ROUNDING, VOTES
from attnlab.rank.study.claims_identities import differences
from attnlab.rank.study.results import HALF, against_law
from attnlab.stats import LEVEL, agreement, below, normal_threshold, rate

PAPER = "Amsel, Yehudai, Bruna"
VOTE_ERRORS = (0.45, 0.3, 0.1, 0.03, 0.01, 0.003)
VOTE_DIMENSIONS = (4, 8, 16, 64, 256)


def _vote_bound(d: int, heads: int) -> float:
    """π √(d/H): the vote's error is below it for every d >= 3 and odd H.

    Given one coordinate t, Hoeffding's bound on a wrong majority is exp(−2 H (asin t / π)²), at
    most exp(−2 H t² / π²), and the density of t is at most √(d / 2π). The error is twice the
    integral.
    """
    return math.pi * math.sqrt(d / heads)


def _vote(view: View) -> Judgement:
    from attnlab.rank.theory.majority_vote import majority_vote_error

    agrees, measured, laws, seen = against_law(view, grids_theory.votes(view.seed))

    def error(d: int, epsilon: float, power: int) -> tuple[float, float]:
        """The error over its bound and over epsilon; the least odd H >= d^power / epsilon^2."""
        heads = math.ceil(d**power / epsilon**2) // 2 * 2 + 1
        bound = _vote_bound(d, heads)
        value = majority_vote_error(d, heads).value
        return value / bound, value / epsilon

    sizes = [(d, e) for d in VOTE_DIMENSIONS for e in VOTE_ERRORS]
    many, few = ([error(d, e, power) for d, e in sizes] for power in (3, 1))
    bounded = all(share <= 1 for share, _ in (*many, *few))
    worst, fewer = (max(of_epsilon for _, of_epsilon in found) for found in (many, few))
    return Judgement(
        "holds" if agrees and worst <= 1 and bounded else "fails",
        f"with d³/ε² heads the error is at most {worst:.2f} ε for ε = {VOTE_ERRORS[-1]:g} to "
        f"{VOTE_ERRORS[0]:g}, d = {VOTE_DIMENSIONS[0]} to {VOTE_DIMENSIONS[-1]}, by the exact law, "
        f"and nowhere above π √(d/H); built networks: {measured}",
        f"at most ε; law of the built networks {laws}",
        "π √(d/H) is proved for every d ≥ 3 and odd H, so that c₁ = π and c₂ = 1 are enough; every "
        f"sampled prompt has fresh directions ({normal_threshold(2):.2f} standard errors, "
        f"familywise level {LEVEL:g})",
        f"d/ε² heads are enough: {fewer:.2f} ε at most. Of an even H one head gets the value 0. "
        "With the softmax of Definition 6 the error is as near to that of the hardmax as one "
        "likes, since c may be chosen after d, ε and H.",
        grade="exact",
        resolution=seen,
    )


def _vote_rate(view: View) -> Judgement:
    laws = {(cell.config.d, cell.config.heads): view.row(cell) for cell in grids_theory.vote_laws()}
    ds, Hs = grids_theory.VOTE_DS, grids_theory.VOTE_HEADS
    in_heads = rate(Hs, [laws[64, H].vote for H in Hs]).slope
    in_d = rate(ds, [laws[d, Hs[-1]].vote for d in ds]).slope
    # d log atan(u) / d log u = 1 - 2 u^2 / 3 at small u = (pi/2) sqrt(d / H).
    bends = [(math.pi / 2) ** 2 * 64 / Hs[0] / 3, (math.pi / 2) ** 2 * 64 / Hs[-1] / 3]
    finite = 1 / (2 * ds[0])  # E|t| of a sphere against that of a normal, relative
    off = [abs(in_heads + 0.5), abs(in_d - 0.5)]
    good = off[0] <= bends[0] and off[1] <= bends[1] + finite
    return Judgement(
        "holds" if good else "fails",
        f"error ~ H^{in_heads:.3f} at d = 64 and d^{in_d:.3f} at H = {Hs[-1]}",
        "H^−1/2 and d^1/2: H ~ d / ε² heads are enough, where the theorem needs d³ / ε²",
        f"the curvature of atan at the largest d / H, {bends[0]:.3f} and {bends[1]:.3f}, and "
        f"1 / (2 d) = {finite:.3f} for finite d",
        "These are exponents of the exact law, with which the samples of theorem-7 agree.",
        grade="exact",
        resolution=Resolution(max(bends[0], bends[1] + finite), 0.5, "of the exponent"),
    )


SINGLE_DIMENSIONS = (4, 8, 16, 64, 256, 1024, 4096)


def _single(view: View) -> Judgement:
    from attnlab.rank.theory.majority_vote import single_head_probability

    def law(d: int) -> float:
        """(p − 1/2) √d."""
        return (single_head_probability(d).value - 0.5) * math.sqrt(d)

    cell = grids_theory.single_head_cell(view.seed)
    rows, samples = view.rows(cell), cell.config.samples
    laws = [single_head_probability(row.d).value for row in rows]
    counted = agreement([row.right for row in rows], samples, laws, level=LEVEL)
    stored = {
        cell.config.d: (view.row(cell).single_head - 0.5) * math.sqrt(cell.config.d)
        for cell in grids_theory.vote_laws()
    }
    exact = {**{d: law(d) for d in SINGLE_DIMENSIONS}, **stored}
    end = math.sqrt(2 / math.pi) / math.pi  # of `theory.majority_vote.single_head_rate`
    worst = max(abs(value / end - 1) * d for d, value in exact.items())
    good = counted.agrees and worst <= 1 and min(exact.values()) >= end
    # For independent k and q one of k qᵀ and −k qᵀ is right, so that each is with probability 1/2.
    half = differences(view)[OPPOSITE] <= ROUNDING
    verdict: Verdict = "holds as corrected" if half else "holds"
    seen = max(
        normal_threshold(len(rows)) * math.sqrt(p * (1 - p) / samples) / (p - 0.5) for p in laws
    )
    return Judgement(
        verdict if good else "fails",
        "heads q qᵀ are right with probability "
        + ", ".join(f"{row.right / samples:.3f} (d = {row.d})" for row in rows)
        + "; law of (p − 1/2) √d: "
        + ", ".join(f"{value:.4f} (d = {d})" for d, value in sorted(exact.items())),
        "exact law " + ", ".join(f"{p:.3f}" for p in laws) + f"; at least its limit {end:.4f}",
        "p − 1/2 = E asin|t| / π ≥ E|t| / π ≥ √(2/(π d)) / π for every d; a relative distance of "
        f"the law to its limit of at most 1 / d; binomial law of {samples} prompts (familywise "
        f"level {LEVEL:g})",
        "Corrected: a random head of rank 1 whose key and query are the same vector. For "
        "independent k and q the probability is 1/2: of the heads k qᵀ and −k qᵀ, which have the "
        "same law, exactly one is right.",
        grade="exact",
        resolution=Resolution(seen, HALF, "of p − 1/2"),
    )


def _theorem_34(view: View) -> Judgement:
    agrees, measured, laws, seen = against_law(view, grids_theory.votes_by_mlp(view.seed))
    casts = differences(view)["an MLP casts the vote in either order of points"]
    return Judgement(
        "holds" if agrees and casts <= ROUNDING else "fails",
        f"the answer is the point that most heads chose, in either order of the points: "
        f"{below(casts, ROUNDING)} off; error of built networks: {measured}",
        f"0; exact law {laws}, the law of theorem-7",
        f"rounding of double precision, on 50 random inputs of up to {max(VOTES)} votes; the "
        f"errors within {normal_threshold(2):.2f} standard errors (familywise level {LEVEL:g}), "
        "where every prompt has fresh directions",
        "The weights are our own, since the paper's are not available. For every odd H the mean of "
        "the votes is at least 1/(2H) of their range away from its middle, which is what the "
        "perceptron amplifies.",
        grade="exact",
        resolution=seen,
    )


CLAIMS = (
    Claim(
        "theorem-7",
        f"{PAPER}, Theorem 7",
        "For all ε < 1/2 and H ≥ c₂ d³/ε² two layers of rank-1 heads, d_e = 2, have an error of at "
        "most ε on two independent points.",
        _vote,
        ("votes",),
    ),
    Claim(
        "theorem-7-rate",
        "ours, about Theorem 7",
        "The vote's error is of the order of (d/H)^1/2, so that d/ε² heads are enough.",
        _vote_rate,
        ("votes",),
        ours=True,
    ),
    Claim(
        "theorem-7-single-head",
        f"{PAPER}, Section 6",
        "One random head of rank 1 is right with probability 1/2 + Ω(1/√d).",
        _single,
    ),
    Claim(
        "theorem-34",
        f"{PAPER}, Theorem 34",
        "One layer of rank-1 heads and an MLP on their concatenated outputs vote without "
        "positional encodings, whatever the order of the points.",
        _theorem_34,
    ),
)
