"""The computation of `Ablation`: losses without single omegas, and the factor of y."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np

from attnlab.lab.cell import Outcome, seed_of
from attnlab.linear.models.state import implicit_states
from attnlab.linear.models.weights import Omegas
from attnlab.linear.noise import Fixed, parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.compute_full import shipped_networks
from attnlab.linear.study.evaluation import sequence_losses
from attnlab.linear.study.questions_ablation import LEVELS, WITHOUT, Ablation, AblationRow
from attnlab.linear.training.fixed_sample import draw
from attnlab.linear.training.starting_points import without
from attnlab.stats import Estimate

RECIPE = "printed-diag"


def ablation(config: Ablation) -> Outcome[AblationRow]:
    """The loss, what it gains without momentum and without rescaling, and the factors of y."""
    law = config.noise
    held = shipped_networks(law, config.weights, RECIPE)
    omegas = _omegas(held, law, config.layers)
    with jax.enable_x64(True):
        key = jax.random.key(seed_of(config))
        problem = NoisyRegression(noise=parse_noise(law))
        sample = draw(problem, key, config.sequences)
        whole = sequence_losses(omegas, sample)
        rows = [_row("loss", None, whole)]
        for name, omega in WITHOUT.items():
            less = sequence_losses(without(omegas, omega), sample)
            rows.append(_row(name, None, less - whole))
        for sigma in LEVELS:
            fixed = draw(replace(problem, noise=Fixed(sigma)), key, config.sequences)
            states = jax.jit(jax.vmap(implicit_states, (None, 0)))(omegas, fixed.G)
            rows.append(_row("factor", sigma, np.asarray(states.a[:, -1])))
    return Outcome(rows)


def _row(quantity: str, sigma: float | None, values: np.ndarray) -> AblationRow:
    found = Estimate.of(values)
    return AblationRow(quantity, sigma, found.value, found.standard_error)


def _omegas(held, law: str, layers: int) -> Omegas:
    """The four numbers per layer of the best start, which is stored as a FULL network."""
    network = held.weights(law, layers, held.best(law, layers, RECIPE), RECIPE)
    P, Q = (np.asarray(part)[:, 0] for part in (network.P, network.Q))
    (p_x, p_y), (q_x, q_y) = ((part[:, 0, 0], part[:, -1, -1]) for part in (P, Q))
    return Omegas(xx=p_x * q_x, xy=p_x * q_y, yx=p_y * q_x, yy=p_y * q_y)
