"""Equation (10), in the proof of Lemma 1: the law of a pre-activation given its prompt.

It is an identity of Gaussian variables at every d, and is judged on the directions that the study
draws: for each of several prompts both the variance and the shape of the law over directions.
"""

from __future__ import annotations

import math
import statistics

from attnlab.lab.study import Claim, Judgement, Resolution, Verdict, View, all_of
from attnlab.random.study import grids
from attnlab.random.study.claims_theory import DEMIR, KOLMOGOROV, unconditional_distance
from attnlab.stats import LEVEL, normal_threshold

VARIANCE = "variance over |vec H|²/t"


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
        "lemma-1-conditional",
        f"{DEMIR}, proof of Lemma 1, (10)",
        "Given the prompt a pre-activation f^T vec(H) is N(0, |vec H|²/t), at every d.",
        _given_the_prompt,
    ),
)
