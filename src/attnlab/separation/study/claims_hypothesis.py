"""The hypothesis of Section 1: some datasets can be classified by softmax attention only.

Theorems 1.1 and 1.2 exhibit a network with linear attention that fails; the hypothesis says that
linear attention is insufficient, whatever its weights are. It is an existence statement, so one
pair of datasets proves it, and one on which linear attention serves as well refutes nothing.
"""

from __future__ import annotations

from attnlab.lab.study import Claim, Judgement, View
from attnlab.separation.study import grids, grids_theory
from attnlab.separation.study.claims_theorems import EXACT, PAPER
from attnlab.stats import below

ROUNDING = 1e-12  # of outputs of attention over a thousand tokens


def _hypothesis(view: View) -> Judgement:
    cells = grids_theory.moment_cells(view.seed)
    rows = [(cell.config, view.row(cell)) for cell in cells]
    equal = all(row.sum_difference == row.square_difference == 0 for _, row in rows)
    apart = max(row.linear_difference for _, row in rows)
    worst = max(row.failure * config.n / grids.DELTA for config, row in rows)
    return Judgement(
        "holds" if equal and apart <= ROUNDING and worst <= 1 else "fails",
        f"relative difference of linear attention {below(apart, ROUNDING)} for random weights; "
        f"softmax attention tells them apart but for {worst:.2f} δ/n, n = "
        + ", ".join(str(config.n) for config, _ in rows),
        "the same output of linear attention for all weights; at most δ/n",
        f"algebra to rounding, {ROUNDING:g}; the failure of softmax attention is 2^-m",
        "An example of ours, for the networks of Definitions C.2 and C.6: the tokens are multiples "
        "a_j of one vector, (1, 5, 6, 1, …, 1) on D0 and (2, 3, 7, 1, …, 1) on D1. Every row of "
        "linear attention is Σ a_j² / Σ a_j times a row of V, in self- and in cross-attention, and "
        "the two have the same sums. The threshold 6.5 lets softmax attention, which sees the "
        "largest token, fire on D1 only. Transformers with residual connections or several layers "
        "of attention are not looked at.",
        grade="exact",
    )


def _spikes(view: View) -> Judgement:
    rows = [(cell.config, view.row(cell)) for cell in grids_theory.linear_spike_cells()]
    worst = max(row.failure * config.n / grids.DELTA for config, row in rows)
    config, row = rows[0]
    return Judgement(
        "holds" if worst <= 1 else "fails",
        f"failure at most {worst:.2f} δ/n at {len(rows)} points, n from "
        f"{min(c.n for c, _ in rows)} to {max(c.n for c, _ in rows)}; at n = {config.n}, "
        f"d = {config.d}, m = {config.m} it is {row.failure:.1e}, with scores "
        f"{row.score_on_d0:.1e} on D0 and {row.score_on_d1:.3f} on D1",
        "at most δ/n",
        f"{EXACT}: 2^-m where the threshold lies between the two scores",
        f"X = 1, V = e_1 e_1ᵀ and τ = {config.tau:g} √log n / n, which lies between a0 (1 + a0)/n "
        "and a1 (1 + a1)/n for all spikes of Definition 6.1. So the theorem's datasets are no "
        "example of the hypothesis, and it refutes nothing: the hypothesis asks for some datasets.",
        grade="exact",
    )


CLAIMS = (
    Claim(
        "hypothesis",
        f"{PAPER}, Section 1",
        "There are datasets that can be classified effectively with softmax attention only, while "
        "linear attention is insufficient (read for the networks that the paper defines).",
        _hypothesis,
    ),
    Claim(
        "hypothesis-definition-6.1",
        f"{PAPER}, Section 1 with Definition 6.1 (ours about them)",
        "The datasets of Definition 6.1 are not among them: linear attention with another V and "
        "another threshold distinguishes them with probability 1 − δ/n.",
        _spikes,
        ours=True,
    ),
)
