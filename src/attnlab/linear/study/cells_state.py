"""The cells of Section 4: the implicit state of random networks, and the cosine of Theorem 4.2.

Source: Vladymyrov et al. (arXiv 2402.14180). Where the printed formula and the algebra differ, both
are measured; all in float64. What the omegas can do is in `cells_constructions`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, stream
from attnlab.linear.models import state as state
from attnlab.linear.models.transformer import gram_form, token_form
from attnlab.linear.models.weights import DiagWeights, FullWeights
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression, gram, sums
from attnlab.linear.theory import convergence


def relative(found, wanted) -> float:
    """The largest difference over the largest entry."""
    scale = float(jnp.abs(wanted).max())
    return float(jnp.abs(found - wanted).max()) / scale if scale else math.inf


@dataclass(frozen=True)
class StateCheck:
    """The implicit regression state of random networks (Theorem 4.1, Lemmas 4.3 and 4.4)."""

    weights: Literal["full", "diag"] = "full"
    """Family of the networks."""
    d: int = 5
    """Dimension of an input."""
    n: int = 12
    """Tokens in the context."""
    depth: int = 4
    """Layers."""
    heads: int = 2
    """Heads of a layer."""
    networks: int = 5
    """Random networks, each on a context of its own."""
    seed: int = 0
    """Seed of networks and contexts."""


@dataclass(frozen=True)
class StateFound:
    """Largest relative errors over networks and layers; None where a lemma is for DIAG only."""

    tokens: float  # of the tokens that M, u, w, a give (Theorem 4.1)
    shifted: float  # the same, the state of layer l for the tokens of layer l + 1
    recursion: float  # of R by Lemma 4.3 with the minus sign
    recursion_printed: float  # with the plus sign
    alpha: float | None  # of alpha^l by Lemma 4.4, corrected
    alpha_printed: float | None
    momentum: float | None  # of u' and w' in the momentum form


def run_state(config: StateCheck) -> StateFound:
    arguments.one_of("weights", config.weights, ("full", "diag"))
    arguments.integer("depth", config.depth, 2)
    arguments.integer("heads", config.heads, 1)
    with jax.enable_x64(True):
        problem = NoisyRegression(config.d, config.n, Uniform(0.5), 1 / config.n)
        keys = jax.random.split(
            jax.random.key(stream(config) >> 8),
            2 * arguments.integer("networks", config.networks, 1),
        )
        found = [_state_errors(config, problem, *keys[i : i + 2]) for i in range(0, len(keys), 2)]
    columns = zip(*found, strict=True)
    largest = [max(column) if column[0] is not None else None for column in columns]
    return StateFound(*largest)  # pyright: ignore[reportArgumentType]


def _state_errors(config: StateCheck, problem: NoisyRegression, for_weights, for_prompt):
    X, y, query, _, _ = problem.sample(for_prompt)
    p, shape = config.d + 1, (config.depth, config.heads)
    parts = jax.random.split(for_weights, 4)
    if config.weights == "full":
        # Entries of a size that keeps tokens of order one and still moves every part of the state.
        network = FullWeights(*(0.3 * jax.random.normal(k, (*shape, p, p)) for k in parts[:2]))
    else:
        network = DiagWeights(*(0.25 * jax.random.normal(k, shape) for k in parts))
    tokens = token_form(network, X, y, query[None])
    G = gram(X, y)
    trace, states = gram_form(network, G), state.implicit_states(network, G)
    R = states.matrix()
    start = jnp.concatenate([X, y[:, None]], 1)
    asked = jnp.append(query, 0.0)[None]
    given = jnp.concatenate([start, asked])

    def told(R):
        return jnp.einsum("lij,tj->lti", R, given)

    seen = jnp.concatenate([tokens.context, tokens.queries], 1)
    exact = relative(told(R), seen)
    shifted = relative(told(R)[:-1], seen[1:])
    recursion = relative(R, trace.R)
    printed = relative(state.printed_states(network, G).matrix(), trace.R)
    if config.weights == "full":
        return exact, shifted, recursion, printed, None, None, None
    context = state.ols(G)
    stages = [jax.tree.map(lambda part, i=i: part[i], states) for i in range(config.depth + 1)]
    true = [sums(G)[1] for G in trace.G]
    corrected = max(relative(state.alpha(s, context), a) for s, a in zip(stages, true, strict=True))
    text = max(
        relative(state.printed_alpha(s, context), a) for s, a in zip(stages, true, strict=True)
    )
    form, moved = state.momentum_form(network, G), 0.0
    for i in range(config.depth):
        layer = jax.tree.map(lambda part, i=i: part[i], form)
        u, w = state.momentum_step(layer, stages[i], context)
        moved = max(moved, relative(u, stages[i + 1].u), relative(w, stages[i + 1].w))
    return exact, shifted, recursion, printed, corrected, text, moved


@dataclass(frozen=True)
class Cosine:
    """The largest cosine with x_i(1)^2 that any weights reach (Theorem 4.2)."""

    d: int = 10
    """Dimension of an input."""
    n: int = 1400
    """Tokens in the context."""
    contexts: int = 400
    """Independent contexts."""
    seed: int = 0
    """Seed of the contexts."""


@dataclass(frozen=True)
class CosineFound:
    mean_square: float
    mean_square_error: float
    predicted: float  # (d + 4) / n
    quantile: float  # 99% of those sampled
    predicted_quantile: float
    beyond: int  # contexts whose supremum exceeds 0.1


def run_cosine(config: Cosine) -> CosineFound:
    contexts = arguments.integer("contexts", config.contexts, 2)
    R = convergence.sampled_cosines(config.d, config.n, contexts, stream(config) >> 8)
    return CosineFound(
        mean_square=float(np.mean(R**2)),
        mean_square_error=float(np.std(R**2, ddof=1)) / math.sqrt(contexts),
        predicted=convergence.squared_cosine_mean(config.d, config.n).value,
        quantile=float(np.quantile(R, 0.99)),
        predicted_quantile=convergence.cosine_quantile(config.d, config.n),
        beyond=int((R > 0.1).sum()),
    )


state_check = CellKind("linear_state", StateCheck, StateFound, run_state)
cosine = CellKind("linear_cosine", Cosine, CosineFound, run_cosine)

KINDS = (state_check, cosine)
