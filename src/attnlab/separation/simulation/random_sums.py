"""Samples of <f, sigma> for random signs sigma, which Lemmas 4.1 and 4.2 bound."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.separation.models import KINDS, Kind
from attnlab.separation.problem import RegressionPair
from attnlab.separation.problem.regression import SPIKE
from attnlab.separation.rademacher import generators, random_bits

CHUNK = 2**15  # coordinates held at once
MOST = 10**12  # coordinates that a call may draw: about an hour


def sign_sums(
    problem: RegressionPair, label: int, kind: Kind, samples: int, seed: int = 0
) -> Float[np.ndarray, " samples"]:
    """Samples of <f, sigma>, with new signs (and data) in each.

    Parameters
    ----------
    problem, label
        The regression pair, and 0 for its D0 or 1 for its D1.
    kind
        "softmax" for f_exp, "linear" for f_lin.
    samples, seed
        How many sums, and the seed of their signs and data.
    """
    label, samples = arguments.label(label), arguments.integer("samples", samples, 1)
    kind = arguments.one_of("kind", kind, KINDS)
    if samples * problem.n > MOST:
        raise UserError(
            f"samples times n must be at most {MOST:.0e}, got {samples * problem.n:.2g}."
        )
    data_rng, sign_rng = generators(seed, 2)
    sums, rows = np.empty(samples), max(CHUNK // problem.n, 1)
    for first in range(0, samples, rows):
        size = min(rows, samples - first)
        plus, total = np.zeros((2, size))
        for start in range(0, problem.n, CHUNK):
            stop = min(start + CHUNK, problem.n)
            w = problem.draw_levels(data_rng, size, start, stop).astype(np.float64)
            if label and start <= problem.spike < stop:
                w[:, problem.spike - start] = SPIKE
            if kind == "softmax":
                # Relative to the largest weight.
                w -= SPIKE if label else 1.0
                w *= problem.unit
                np.exp(w, out=w)
            total += w.sum(axis=1)
            w *= random_bits(sign_rng, size, stop - start)
            plus += w.sum(axis=1)
        sums[first : first + size] = 2 * plus / total - 1
    return sums
