"""Claims about the softmax-regression model: Lemmas 5.1-5.4, and the experiment of Section 7.1.

The lemmas have m = C log(n/delta) neurons (Definition 3.7) and speak of every A; that the
experiment, with m = log n, is outside of what they need is a claim of ours. The paper leaves tau
open; here it is 1/4, and every constant between 0 and 1 serves in the limit.
"""

from __future__ import annotations

import math

from attnlab.lab.study import Claim, Judgement, View
from attnlab.separation import theory
from attnlab.separation.models import Kind
from attnlab.separation.study import grids
from attnlab.separation.study import grids_theory as sizes
from attnlab.separation.study.claims_theorems import PAPER

NS = tuple(round(10 ** (k / 8)) for k in range(16, 97))  # 100 to 10^12
COLUMNS: dict[str, tuple[Kind, int]] = {
    "exceed_exp0": ("softmax", 0),
    "exceed_lin0": ("linear", 0),
    "exceed_lin1": ("linear", 1),
}
ABOVE = 0.25  # what φ_τ of one neuron passes in the proof of Lemma 5.2
SURE = 10  # the degree of poly(n) that the bound has to pass at the largest n


def _log_failure(n: int, kind: Kind, label: int) -> float:
    width = sizes.width(sizes.LEMMA_C, n)
    return theory.log_zero_failure(n, kind, label, sizes.TAU, width)


def _zero_lemma(view: View, column: str) -> Judgement:
    """F = 0 with probability 1 - delta / poly(n) for every A, and on data of many kinds."""
    kind, label = COLUMNS[column]
    above = [n for n in NS if _log_failure(n, kind, label) > math.log(grids.DELTA / n)]
    start = min((n for n in NS if n > max(above, default=0)), default=math.inf)
    last = NS[-1]
    degree = (math.log(grids.DELTA) - _log_failure(last, kind, label)) / math.log(last)
    exact = [
        (cell.config, cell.config.m * getattr(view.row(cell), column))
        for cell in sizes.lemma_sweep()
    ]
    bounded = all(
        failure <= math.exp(_log_failure(config.n, kind, label)) * (1 + 1e-9)
        for config, failure in exact
    )
    broken = [config.n for config, failure in exact if failure > grids.DELTA / config.n]
    good = bounded and max(broken, default=0) < start <= 10**6 and degree >= SURE
    from_n = min((n for n in sizes.LEMMA_NS if n > max(broken, default=0)), default=math.inf)
    return Judgement(
        "holds" if good else "fails",
        f"for every A below δ/n from n = {start:,} on, and below δ/n^{SURE} at n = 10^12; on "
        f"two-level data below δ/n from n = {from_n:,} on, for shares {sizes.LEMMA_SHARES[0]} to "
        f"{sizes.LEMMA_SHARES[-1]}",
        "at most δ/poly(n), for large n",
        "Hoeffding's inequality on the worst data and a union bound over the m neurons; exact "
        "double-binomial law",
        f"With m = C log(n/δ), C = 1/ln 2, and τ = 1/4. The bound falls faster than every power "
        f"of n. At n = {sizes.LEMMA_NS[0]} the failure is up to "
        f"{max(f for c, f in exact if c.n == sizes.LEMMA_NS[0]):.2g}: the lemma is asymptotic.",
        grade="exact",
    )


def _fires(view: View) -> Judgement:
    rows = [(cell.config, view.row(cell)) for cell in sizes.lemma_sweep()]
    half = all(abs((row.fire or 0.0) - 0.5) < 1e-12 for _, row in rows)
    decided = min(theory.lemma_4_2_softmax(n) for n in range(2, 2001)) > 2 * sizes.TAU
    worst = max(0.5**config.m * config.n / grids.DELTA for config, _ in rows)
    return Judgement(
        "holds" if half and decided and worst <= 1 else "fails",
        f"fails with probability 2^-m, at most {worst:.2f} δ/n with C = 1/ln 2 = "
        f"{sizes.LEMMA_C:.2f}; one neuron fires with probability 1/2 on all data",
        "at most δ/n",
        "exact law: one neuron fires with probability 1/2, for every A",
        "Definition 3.7 leaves the constant C > 1 open; 2^-m is (δ/n)^(C ln 2), so that "
        "C = k/ln 2 serves δ/n^k.",
        grade="exact",
    )


def _one_neuron(view: View) -> Judgement:
    """φ_τ(<f_exp, y>) > 1/4 is the event <f_exp, y> > τ + 1/4.

    The sum is never smaller in size than `lemma_4_2_softmax`, for every A. Where that is above
    τ + 1/4 the event is that the sum is positive, and so is the event that the neuron fires.
    """
    passed = sizes.TAU + ABOVE
    least = min(theory.lemma_4_2_softmax(n) for n in range(2, 2001))
    fires = [view.row(cell).fire or 0.0 for cell in sizes.lemma_sweep()]
    half = all(abs(fire - 0.5) < 1e-12 for fire in fires)
    return Judgement(
        "holds" if half and least > passed else "fails",
        f"|⟨f_exp, y⟩| is at least {least:.4f} for every A and n ≥ 2, so that φ_τ of a positive "
        f"sum is at least {least - sizes.TAU:.4f}; the sum is positive with probability 1/2 on all "
        "data",
        f"φ_τ above {ABOVE} with probability 1/2, with τ = {sizes.TAU}",
        "worst case over all data; exact law on two-level data, to 1e-12",
        f"The text leaves τ open. The sentence is true at every n ≥ 2 for τ below "
        f"{least - ABOVE:.3f}, in the limit for τ below {1 - ABOVE}, and false for larger τ, since "
        "no sum is above 1. It does not follow from |⟨f_exp, y⟩| ≥ 1/4 alone, which Lemma 4.2 "
        "states: that gives φ_τ ≥ 1/4 − τ.",
        grade="exact",
    )


def _union(view: View) -> Judgement:
    rows = [(cell.config, view.row(cell)) for cell in sizes.lemma_sweep()]
    worst = max(config.m / config.n for config, _ in rows)
    printed = any(config.m <= grids.DELTA for config, _ in rows)
    verdict = "fails"
    if worst <= 1:
        verdict = "holds" if printed else "holds as corrected"
    return Judgement(
        verdict,
        f"m δ/n² is at most {worst:.2f} δ/n for n from {sizes.LEMMA_NS[0]} on",
        f"printed: m ≤ δ/poly(n), which is below 1; m is {min(c.m for c, _ in rows)} or more",
        "a formula",
        "Corrected statement: m ≤ poly(n), so that m times δ/poly(n) is δ/poly(n) again.",
        grade="exact",
    )


def _experiment(view: View) -> Judgement:
    rows = [(cell.config, view.row(cell)) for cell in grids.two_level_sweep()]
    silent = [c.n for c, row in rows if 0.5**c.m <= grids.DELTA / c.n]
    zero = {
        column: max(
            (c.n for c, r in rows if c.m * getattr(r, column) > grids.DELTA / c.n), default=0
        )
        for column in COLUMNS
    }
    config, row = next((c, r) for c, r in rows if c.n == 1000)
    first, lowest = rows[0]
    shares = {c: 1 - (1 - getattr(lowest, c)) ** first.m for c in COLUMNS}
    good = not silent and all(zero.values())
    return Judgement(
        "holds" if good else "fails",
        f"Lemma 5.2 fails with probability 2^-{config.m} = {(1 - (row.fire or 0)) ** config.m:.4f} "
        f"at n = 1000; Lemmas 5.1, 5.3, 5.4 at n = {first.n} with "
        + ", ".join(f"{shares[c]:.4f}" for c in ("exceed_exp0", "exceed_lin0", "exceed_lin1")),
        f"above δ/n = {grids.DELTA / config.n:.0e} at n = 1000, {grids.DELTA / first.n:.0e} at "
        f"n = {first.n}",
        "exact double-binomial law, half of the data high",
        f"m = ⌊log n⌋ serves Lemma 5.2 at {len(silent)} of {len(rows)} lengths n of Figure 3 (m = "
        f"{math.ceil(math.log2(config.n / grids.DELTA))} would do at n = 1000), and n is too "
        f"small for the others up to n = {zero['exceed_exp0']}, {zero['exceed_lin0']} and "
        f"{zero['exceed_lin1']}.",
        grade="exact",
    )


CLAIMS = (
    Claim(
        "lemma-5.1",
        f"{PAPER}, Lemma 5.1",
        "For every A in D0, F_exp(A) = 0 with probability 1 − δ/poly(n).",
        lambda view: _zero_lemma(view, "exceed_exp0"),
        ("fig-3a",),
    ),
    Claim(
        "lemma-5.1-union-bound",
        f"{PAPER}, proofs of Lemmas 5.1, 5.3 and 5.4",
        "The union bound over the neurons is allowed because m ≤ δ/poly(n).",
        _union,
    ),
    Claim(
        "lemma-5.2",
        f"{PAPER}, Lemma 5.2",
        "For every A in D1, F_exp(A) > 0 with probability 1 − δ/poly(n).",
        _fires,
        ("fig-3a", "fig-3b"),
    ),
    Claim(
        "lemma-5.2-one-neuron",
        f"{PAPER}, proof of Lemma 5.2",
        "For every A in D1, φ_τ(⟨f_exp, y_l⟩) > 1/4 with probability 1/2.",
        _one_neuron,
    ),
    Claim(
        "lemma-5.3",
        f"{PAPER}, Lemma 5.3",
        "For every A in D0, F_lin(A) = 0 with probability 1 − δ/poly(n).",
        lambda view: _zero_lemma(view, "exceed_lin0"),
        ("fig-3a",),
    ),
    Claim(
        "lemma-5.4",
        f"{PAPER}, Lemma 5.4",
        "For every A in D1, F_lin(A) = 0 with probability 1 − δ/poly(n).",
        lambda view: _zero_lemma(view, "exceed_lin1"),
        ("fig-3a",),
    ),
    Claim(
        "lemma-5-experiment",
        f"{PAPER}, Section 7.1 with Lemmas 5.1-5.4 (ours about them)",
        "The experiment has parameters outside of what Lemmas 5.1-5.4 need for a failure of δ/n: "
        "m = log n is too small for Lemma 5.2 at every n from 100 to 2000, and n = 100 too small "
        "for the others.",
        _experiment,
        ("fig-3a",),
        ours=True,
    ),
)
