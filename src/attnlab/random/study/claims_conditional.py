"""Equation (10), in the proof of Lemma 1: the law of a pre-activation given its prompt.

Given H a pre-activation is a linear form in the independent Gaussian entries of f, with the entries
of H as coefficients: it is Gaussian at every d, and its variance is the sum of their squares over
t. That sum, and that E vec(H) = 0, which makes the variance over prompts 1, are judged as
identities. That the directions which the study draws behave so is a claim of ours.
"""

from __future__ import annotations

import math
import statistics

import numpy as np
from jaxtyping import Float

from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View, all_of
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.prompts import FullPrompt
from attnlab.random.study import grids
from attnlab.random.study.claims_theory import DEMIR, KOLMOGOROV, unconditional_distance
from attnlab.random.study.evidence import EXACT
from attnlab.stats import LEVEL, below, normal_threshold

VARIANCE = "variance over |vec H|²/t"
SMALL_D, PROMPTS = 6, 50  # of the identities, which are the same at every d
EXACT_TO = 1e-12


def _drawn() -> tuple[Float[np.ndarray, "n d e"], FullPrompt]:
    """A few prompts with every pair written out, and H of each by its definition."""
    problem = SingleIndexRegression(SMALL_D, SMALL_D + 2, None, "relu")
    full = problem.full_prompts(PROMPTS, seed=0)
    length = problem.length
    sums = np.stack([problem.d / length * full.x[i].T @ full.y[i] for i in range(PROMPTS)])
    squares = np.stack([full.y[i] @ full.y[i] / length for i in range(PROMPTS)])
    rows = np.concatenate([sums, squares[:, None]], axis=1)
    return np.stack([np.outer(full.query[i], rows[i]) for i in range(PROMPTS)]), full


def _identity(view: View) -> Judgement:
    """Var(f^T vec H given H) = sum of H_ij² Var f_ij, against |vec H|²/t as the models have it."""
    H, full = _drawn()
    t = float(np.mean(np.sum(H**2, axis=(1, 2))))
    variances = np.sum(H**2 * (1 / t), axis=(1, 2))
    used = full.prompts().square_norms() / t
    worst = float(np.max(np.abs(used / variances - 1)))
    return Judgement(
        "holds" if worst <= EXACT_TO else "fails",
        f"relative difference {below(worst, EXACT_TO)} of the variance of the linear form and of "
        f"|vec H|²/t, on {PROMPTS} prompts",
        0.0,
        f"{EXACT_TO:g}, a few thousand roundings",
        "Given H the pre-activation is a linear form in independent Gaussian variables, so that it "
        "is Gaussian for every H and every d; its variance is what could differ.",
        *EXACT,
    )


def _unit_variance(view: View) -> Judgement:
    """H is odd in the query, whose law is symmetric: E vec H = 0, so that t = E|vec H|²."""
    H, full = _drawn()
    other = full._replace(query=-full.query).prompts().features()
    plain = full.prompts().features()
    even = float(np.max(np.abs(plain + other)) / np.max(np.abs(plain)))
    same = float(np.max(np.abs(plain - H.reshape(PROMPTS, -1))) / np.max(np.abs(H)))
    worst = max(even, same)
    return Judgement(
        "holds" if worst <= EXACT_TO else "fails",
        f"vec H of a prompt and of the same prompt with the query reversed add up to 0: relative "
        f"difference {below(worst, EXACT_TO)} on {PROMPTS} prompts",
        0.0,
        f"{EXACT_TO:g}, a few thousand roundings",
        "So E vec H = 0 and tr Cov(vec H) = E|vec H|² = t. By (10) the variance over prompts and "
        "directions is E|vec H|²/t, which is 1 at every d. Given F it is 1 up to the fluctuation "
        "of a direction.",
        *EXACT,
    )


def _given_the_prompt(view: View) -> Judgement:
    """Every prompt by its mean square and by its Kolmogorov distance.

    The check must be able to tell N(0, |vec H|²/t) from N(0, 1), and a Gaussian from the law of
    the pre-activations without the condition.
    """
    cell = grids.conditional_law(view.seed)
    rows, number = view.rows(cell), cell.config.directions
    tests = 2 * len(rows)
    # A mean of N squares of N(0, 1) has variance 2/N; by Dvoretzky, Kiefer, Wolfowitz and Massart
    # Kolmogorov's distance is above t with probability 2 exp(-2 N t²) at most.
    width = normal_threshold(tests) * math.sqrt(2 / number)
    distance = math.sqrt(math.log(2 * tests / LEVEL) / (2 * number))
    unscaled = statistics.median(abs(1 / row.square_norm - 1) for row in rows)
    measured = {
        VARIANCE: (max(abs(row.mean_square - 1) for row in rows), width, unscaled),
        KOLMOGOROV: (max(row.kolmogorov for row in rows), distance, unconditional_distance(view)),
    }
    parts: list[tuple[Verdict, Resolution]] = []
    for name, (worst, allowed, about) in measured.items():
        holds = worst <= allowed
        limit = about if holds else worst
        parts.append(("holds" if holds else "fails", Resolution(allowed, limit, f"of the {name}")))
    verdict, resolution = all_of(parts)
    norms = [row.square_norm for row in rows]
    return Judgement(
        verdict,
        f"{len(rows)} prompts with {number:,} directions each: {VARIANCE} is at most "
        f"{measured[VARIANCE][0]:.3f} from 1, the {KOLMOGOROV} from N(0, 1) at most "
        f"{measured[KOLMOGOROV][0]:.4f}",
        "1 and 0 for every prompt",
        f"{width:.3f} and {distance:.4f} by chance: {tests} tests at familywise level {LEVEL:g}, "
        "normal for a mean square and by the inequality of Dvoretzky, Kiefer and Wolfowitz",
        f"|vec H|² is {min(norms):.2f} to {max(norms):.2f} times its mean over these prompts. "
        f"Without the condition the {KOLMOGOROV} is {measured[KOLMOGOROV][2]:.3f}.",
        "smaller setting",
        f"d = {cell.config.d}",
        resolution,
    )


CLAIMS = (
    Claim(
        "lemma-1-scale",
        f"{DEMIR}, Lemma 1",
        "If the entries of F are i.i.d. N(0, 1/t) with t = tr Cov(vec H), every pre-activation has "
        "variance 1.",
        _unit_variance,
    ),
    Claim(
        "lemma-1-conditional",
        f"{DEMIR}, proof of Lemma 1, (10)",
        "Given the prompt a pre-activation f^T vec(H) is N(0, |vec H|²/t), at every d.",
        _identity,
    ),
    Claim(
        "lemma-1-draws",
        "ours",
        "The directions that the study draws follow (10): given the prompt their pre-activations "
        "have that variance and are Gaussian.",
        _given_the_prompt,
        ours=True,
    ),
)
