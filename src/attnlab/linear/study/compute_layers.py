"""The computation of `LastLayers`: losses of several depths on the same sequences."""

from __future__ import annotations

import jax
import numpy as np

from attnlab.errors import UserError
from attnlab.lab.cell import Outcome
from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.evaluation import drawn, sequence_losses
from attnlab.linear.study.questions_layers import LastLayers, LayersRow
from attnlab.linear.weights.diagonal import DEEP_FILE, DIMENSION, TOKENS, diagonal_networks
from attnlab.stats import Estimate

FAMILY = "diag"


def last_layers(config: LastLayers) -> Outcome[LayersRow]:
    """The loss of every depth, and of the differences to the deepest."""
    law, held = config.noise, diagonal_networks(DEEP_FILE)
    if law not in held.laws(FAMILY):
        accepted = ", ".join(held.laws(FAMILY))
        raise UserError(f"noise must be one of {accepted} for networks of ten layers, got {law!r}.")
    if config.weights != held.digest(FAMILY, law):
        raise UserError(
            "weights must be the digest of the networks of ten layers, "
            f"{held.digest(FAMILY, law)!r}, got {config.weights!r}."
        )
    with jax.enable_x64(True):
        problem = NoisyRegression(DIMENSION, TOKENS, parse_noise(law))
        sample = drawn(problem, config.seed, config.sequences)
        losses = {
            depth: sequence_losses(held.weights(FAMILY, law, depth).omegas(), sample)
            for depth in held.depths(FAMILY, law)
        }
    deepest = losses[max(losses)]
    return Outcome(
        [
            LayersRow(depth, *_mean(own), *_mean(own - deepest))
            for depth, own in sorted(losses.items())
        ]
    )


def _mean(values: np.ndarray) -> tuple[float, float] | tuple[None, None]:
    if not np.isfinite(values).all():
        return None, None
    found = Estimate.of(values)
    return float(found.value), float(found.standard_error)
