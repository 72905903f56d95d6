"""How far a count may lie from its probability: exact binomial intervals and tests.

Everything rests on the binomial law itself, never on its normal limit, so that counts of 0 and of
all trials are treated as well as any other. Two-sided means twice the smaller tail, the convention
under which a p-value falls below alpha exactly when the Clopper-Pearson interval excludes p.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError


@dataclass(frozen=True)
class Agreement:
    """Whether many counts agree with many probabilities at once.

    `threshold` is the level divided by the number of comparisons (Bonferroni): if all the
    probabilities are right, `agrees` is False with probability at most `level`.
    """

    agrees: bool
    smallest: float
    threshold: float
    comparisons: int
    p_values: tuple[float, ...]


def clopper_pearson(count: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact two-sided interval for a probability; it covers at least `confidence`."""
    from scipy.special import betaincinv

    count, trials = _counts(count, trials)
    tail = (1 - arguments.open_fraction("confidence", confidence)) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, trials - count + 1, tail))
    high = 1.0 if count == trials else float(betaincinv(count + 1, trials - count, 1 - tail))
    return low, high


def binomial_p_value(count: int, trials: int, p: float) -> float:
    """min(1, 2 Pr[X <= count], 2 Pr[X >= count]) for X ~ Binomial(trials, p)."""
    from scipy.special import betainc, betaincc

    count, trials = _counts(count, trials)
    p = arguments.fraction("p", p)
    below = 1.0 if count == trials else float(betaincc(count + 1, trials - count, p))
    above = 1.0 if count == 0 else float(betainc(count, trials - count + 1, p))
    return min(1.0, 2 * below, 2 * above)


def agreement(
    counts: Sequence[int],
    trials: int | Sequence[int],
    probabilities: Sequence[float] | Float[np.ndarray, " k"],
    level: float = 1e-6,
) -> Agreement:
    """Test all the counts against all the probabilities at familywise level `level`."""
    level = arguments.open_fraction("level", level)
    many = [trials] * len(counts) if isinstance(trials, int) else list(trials)
    if not 0 < len(counts) == len(many) == len(probabilities):
        raise UserError(
            f"counts, trials and probabilities must be equally many and at least one, "
            f"got {len(counts)}, {len(many)} and {len(probabilities)}."
        )
    p_values = tuple(
        binomial_p_value(count, size, float(p))
        for count, size, p in zip(counts, many, probabilities, strict=True)
    )
    threshold = level / len(p_values)
    smallest = min(p_values)
    return Agreement(smallest >= threshold, smallest, threshold, len(p_values), p_values)


def _counts(count: int, trials: int) -> tuple[int, int]:
    trials = arguments.integer("trials", trials, 1)
    count = arguments.integer("count", count, 0)
    if count > trials:
        raise UserError(f"count must be at most trials = {trials}, got {count}.")
    return count, trials
