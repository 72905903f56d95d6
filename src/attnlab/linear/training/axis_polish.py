"""Levenberg-Marquardt for one axis network on a fixed sample that holds rare sequences.

The search of `fresh_sample` sees a sequence of one in millions by chance only, so that a network
which it calls good may have a heavy tail there. Here the extremes of millions of sequences belong
to the sample, with the weight of one draw each (`fixed_sample.draw_extremes`), and the plain loss
is reduced. The family of the networks, `attnlab.linear.models.axis`, is ours and not in the paper.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.linear.kernels.axis import answers, answers_and_jacobian
from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.training.fixed_sample import Sample
from attnlab.linear.training.levenberg_marquardt import (
    Fit,
    NormalEquations,
    SearchLimits,
    check_data,
    levenberg_marquardt,
)

BLOCK = 2048  # sequences at once
LIMITS = SearchLimits(iterations=20)


class AxisLeastSquares:
    """1/2 sum weight ||w^L - w_oracle||^2 over a sample, for axis networks."""

    def __init__(self, sample: Sample) -> None:
        count = check_data((sample.G, sample.oracle, sample.weight))
        padding = -count % BLOCK  # copies of the first sequence with weight 0
        places = np.append(np.arange(count), np.zeros(padding, int))
        weight = np.append(sample.weight, np.zeros(padding))
        self._blocks = [
            (jnp.asarray(sample.G[some]), jnp.asarray(sample.oracle[some].T), own)
            for some, own in zip(places.reshape(-1, BLOCK), weight.reshape(-1, BLOCK), strict=True)
        ]

    def objective(self, parameters: AxisWeights) -> float:
        weights = _one_member(parameters)
        parts = [own @ np.asarray(_losses(weights, G, aim)) for G, aim, own in self._blocks]
        return float(sum(parts))

    def normal_equations(self, parameters: AxisWeights) -> NormalEquations:
        weights = _one_member(parameters)
        sums = [_equations(weights, G, aim, jnp.asarray(own)) for G, aim, own in self._blocks]
        f, gradient, curvature = (np.sum(parts, axis=0) for parts in zip(*sums, strict=True))
        return NormalEquations(float(f), gradient, curvature)


def polish(weights: AxisWeights, sample: Sample, limits: SearchLimits = LIMITS) -> Fit[AxisWeights]:
    """The network after a search on the sample, never worse on it than before."""
    return levenberg_marquardt(AxisLeastSquares(sample), weights.balanced(), limits)


def _one_member(weights: AxisWeights) -> AxisWeights:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], weights)


@jax.jit
def _losses(
    weights: AxisWeights, G: Float[Array, "N p p"], aim: Float[Array, "d N"]
) -> Float[Array, " N"]:
    return jnp.square(answers(weights, G)[0] - aim).sum(0) / 2


@jax.jit
def _equations(
    weights: AxisWeights,
    G: Float[Array, "N p p"],
    aim: Float[Array, "d N"],
    weight: Float[Array, " N"],
) -> tuple[Any, Any, Any]:
    w, J = (part[0] for part in answers_and_jacobian(weights, G[None]))
    root = jnp.sqrt(weight)
    r = (root[None] * (w - aim)).reshape(-1)
    columns = (root[None, None] * J).reshape(len(J), -1)
    dot = partial(jnp.dot, precision="highest")
    return dot(r, r) / 2, dot(columns, r), dot(columns, columns.T)
