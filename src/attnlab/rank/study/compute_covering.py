"""What `questions_covering` asks for."""

from __future__ import annotations

import math

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import seed_of
from attnlab.rank.models.covering_heads import STEEPNESS, CoveringHeads
from attnlab.rank.study.questions_covering import (
    EVERY,
    LENGTHS,
    SHOWN,
    CoveringBound,
    CoveringBoundRow,
    CoveringSample,
    CoveringSampleRow,
)
from attnlab.rank.theory.covering_bound import covering_bound_beyond, covering_bounds
from attnlab.rank.theory.sphere_nets import covering_angle, sphere_net, tie_probability
from attnlab.stats import Estimate

POINTS = 2**19  # of all prompts of one N together, about
LEAST = 200  # prompts, however many points they have


def sample_rows(config: CoveringSample) -> list[CoveringSampleRow]:
    """The errors of the hardmax and the softmax network, and of one head of full rank."""
    rng = np.random.default_rng(seed_of(config))
    net = sphere_net(config.d, config.directions)
    asked = arguments.integer("samples", config.samples, 2)
    hard = CoveringHeads(net)
    soft = CoveringHeads(net, arguments.positive("scale", config.scale))
    rows = []
    for N in LENGTHS:
        samples = min(asked, max(LEAST, POINTS // N))
        X = _unit(rng.standard_normal((samples, N, config.d)))
        y = _unit(rng.standard_normal((samples, config.d)))
        nearest = X[np.arange(samples), np.einsum("snd,sd->sn", X, y).argmax(axis=1)]
        gates = hard.gates(y)
        answers = {
            "hardmax": hard(X, y, gates),
            "softmax": soft(X, y, gates),
            "full rank": soft.head_outputs(X, y, y),  # c y y^T y = c y, as K Q^T = c I has
        }
        for form, answer in answers.items():
            found = Estimate.of(((answer - nearest) ** 2).sum(axis=1))
            rows.append(CoveringSampleRow(N, form, samples, found.value, found.standard_error))
    return rows


def bound_rows(config: CoveringBound) -> list[CoveringBoundRow]:
    """The bound at several N, and the largest over all of them."""
    d, net = config.d, sphere_net(config.d, config.directions)
    angle = covering_angle(net)
    # Gates between 0 and 1 need a tie. Answers are in the cube [-1, 1]^d, where they are at most
    # 1 + sqrt(d) from the target.
    gates = tie_probability(net, 2 / STEEPNESS) * (1 + math.sqrt(d)) ** 2
    lengths = [*range(2, EVERY + 1), *(N for N in SHOWN if N > EVERY)]
    bounds = dict(zip(lengths, covering_bounds(d, angle, lengths) + gates, strict=True))
    return [
        CoveringBoundRow(
            N,
            angle,
            float(bounds[N]),
            float(max(bounds[n] for n in range(2, N + 1))) if N <= EVERY else None,
            covering_bound_beyond(d, angle, N) + gates,
        )
        for N in SHOWN
    ]


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)
