"""What the explorers show of a shipped network (`questions_explorers`).

All networks run as FULL matrices with as many layers as the deepest, the missing ones being zero,
which changes nothing: one compiled program serves every family, law, depth, length and noise level.
Contexts have the same draws whatever the network, the noise level or the length, so that moving one
of these changes nothing else.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnlab.errors import UserError
from attnlab.lab.cell import Outcome, seed_of
from attnlab.linear.models.bayes import posterior_mean
from attnlab.linear.models.network import Network
from attnlab.linear.models.predictors import ridge_weights
from attnlab.linear.models.state import implicit_states
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import parse_noise
from attnlab.linear.reading.contexts import Contexts, in_blocks, oracle_answers
from attnlab.linear.study.questions_explorers import (
    LONGEST,
    ContextRow,
    NoiseProfile,
    OneContext,
    ProfileRow,
    ShippedNetwork,
)
from attnlab.linear.study.table_1 import DEPTHS, LAWS
from attnlab.linear.weights.diagonal import diagonal_networks
from attnlab.linear.weights.full import full_networks
from attnlab.linear.weights.shipped import shipped
from attnlab.stats import Estimate

DIMENSION = 10
MOVED = ("family", "noise", "depth", "n", "sigma", "largest", "points")  # leave the draws alone
# The number of tokens is traced: a new length compiles nothing.
_posterior_mean = jax.jit(posterior_mean)
_posterior_means = jax.jit(jax.vmap(posterior_mean, (0, None, None, None)))
_networks = jax.jit(jax.vmap(final_weights, (None, 0)))


def one_context(config: OneContext) -> Outcome[ContextRow]:
    """The prediction and the state after every layer, beside predictors without layers."""
    rng = np.random.default_rng(_draws(config, OneContext))
    w, query = rng.standard_normal((2, DIMENSION))
    tokens = rng.standard_normal((LONGEST, DIMENSION + 1))[: config.n]
    tokens[:, -1] = tokens[:, :-1] @ w + config.sigma * tokens[:, -1]
    with jax.enable_x64(True):
        G = jnp.asarray(tokens.T @ tokens)
        state = [np.asarray(part) for part in implicit_states(_padded(config), G)]
        levels, prior = parse_noise(config.noise).quadrature()
        known = {
            "OLS": ridge_weights(G, 0.0) if config.n >= DIMENSION else None,
            "ridge": ridge_weights(G, config.sigma**2)
            if config.sigma > 0 or config.n >= DIMENSION
            else None,
            "Bayes": _posterior_mean(G, config.n, levels, prior),
            "truth": w,
        }
    rows = [row for layer in range(config.depth + 1) for row in _state_rows(state, layer, query)]
    for model, weights in known.items():
        own = np.full(DIMENSION, np.nan) if weights is None else np.asarray(weights)
        rows += [_row(model, 0, "prediction", own @ query), *_vector(model, 0, "w", own)]
    return Outcome(rows)


def noise_profile(config: NoiseProfile) -> Outcome[ProfileRow]:
    """1/2 E ||w - w_ridge||^2 at every noise level, by the mean over the same sequences."""
    rng = np.random.default_rng(_draws(config, NoiseProfile))
    w = rng.standard_normal((config.sequences, DIMENSION))
    tokens = rng.standard_normal((config.sequences, LONGEST, DIMENSION + 1))[:, : config.n]
    W = np.matmul(tokens.transpose(0, 2, 1), tokens)
    law = parse_noise(config.noise)
    sigmas = np.linspace(0.0, config.largest, config.points)
    at = np.repeat(sigmas, config.sequences)
    with jax.enable_x64(True):
        G = np.concatenate([_grams(W, w, sigma) for sigma in sigmas])
        oracle, weights = oracle_answers(Contexts(G, at)), _padded(config)
        constant = np.full_like(at, math.sqrt(law.second_moment()))
        models: dict[str, np.ndarray] = {
            config.family: in_blocks(lambda block: _networks(weights, block), G),
            "Bayes": in_blocks(
                lambda block: _posterior_means(block, config.n, *law.quadrature()), G
            ),
            "CONSTRR": oracle_answers(Contexts(G, constant)),
        }
        if config.n >= DIMENSION + 2:  # below, its expected error is infinite
            models["OLS"] = oracle_answers(Contexts(G, 0 * at))
    rows = []
    for model, found in models.items():
        with np.errstate(over="ignore", invalid="ignore"):
            losses = np.square(found - oracle).sum(-1).reshape(config.points, -1) / 2
        for sigma, own in zip(sigmas, losses, strict=True):
            mean = Estimate.of(own) if np.isfinite(own).all() else Estimate(math.inf, math.inf, 0)
            finite = _finite(mean.value), _finite(mean.standard_error)
            rows.append(ProfileRow(model, float(sigma), *finite))
    return Outcome(rows)


def network_of(config: ShippedNetwork) -> Network:
    """The shipped network that a configuration names."""
    if config.noise not in LAWS:
        raise UserError(f"noise must be one of {', '.join(LAWS)}, got {config.noise!r}.")
    if config.family == "AXIS":
        return shipped().network(config.noise, config.depth)
    if config.family == "FULL":
        return full_networks().network(config.noise, config.depth)
    return diagonal_networks().network(config.family.lower(), config.noise, config.depth)


def _draws(config: ShippedNetwork, kind: type) -> int:
    """The seed of the draws, which no knob but the seed changes."""
    names = [name for name in MOVED if name in kind.__dataclass_fields__]
    return seed_of(config, without=names)


def _padded(config: ShippedNetwork) -> FullWeights:
    given = network_of(config).weights
    full = given if isinstance(given, FullWeights) else given.full(DIMENSION)
    missing = ((0, DEPTHS[-1] - full.depth), (0, 0), (0, 0), (0, 0))
    return FullWeights(*(np.pad(np.asarray(part), missing) for part in (full.P, full.Q)))


def _grams(W: np.ndarray, w: np.ndarray, sigma: float) -> np.ndarray:
    """C W C^T with C = [[I, 0], [w^T, sigma]]: the Gram matrices of y = X w + sigma xi."""
    C = np.broadcast_to(np.eye(DIMENSION + 1), W.shape).copy()
    C[:, -1, :-1], C[:, -1, -1] = w, sigma
    return C @ W @ C.transpose(0, 2, 1)


def _state_rows(state: list[np.ndarray], layer: int, query: np.ndarray) -> list[ContextRow]:
    M, u, w, a = (part[layer] for part in state)
    rows = [_row("network", layer, "prediction", w @ query), _row("network", layer, "a", a)]
    rows += _vector("network", layer, "w", w) + _vector("network", layer, "u", u)
    for (i, j), value in np.ndenumerate(M):
        rows.append(_row("network", layer, "M", value, i + 1, j + 1))
    return rows


def _vector(model: str, layer: int, part: str, values: np.ndarray) -> list[ContextRow]:
    return [_row(model, layer, part, value, i + 1) for i, value in enumerate(values)]


def _row(
    model: str, layer: int, part: str, value: Any, row: int | None = None, column: int | None = None
) -> ContextRow:
    return ContextRow(model, layer, part, row, column, _finite(value))


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
