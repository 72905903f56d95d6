"""The computation of the cells of Section 4 (`questions_state`)."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnlab.lab.cell import seed_of
from attnlab.linear.models import state as states
from attnlab.linear.models.transformer import gram_form, token_form
from attnlab.linear.models.weights import DiagWeights, FullWeights
from attnlab.linear.study.questions_state import Cosine, CosineFound, StateCheck, StateFound
from attnlab.linear.theory import convergence
from attnlab.stats import Estimate

Errors = tuple[float | None, ...]


def relative(found: Any, wanted: Any) -> float:
    """The largest difference over the largest entry."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    scale = float(np.abs(wanted).max())
    return float(np.abs(found - wanted).max()) / scale if scale else math.inf


def state(config: StateCheck) -> StateFound:
    """Compare the state of random networks with their tokens and with its recursions."""
    rng = np.random.default_rng(seed_of(config))
    with jax.enable_x64(True):
        found = [_state_errors(config, rng) for _ in range(config.networks)]
    columns = zip(*found, strict=True)
    largest = [max(column) if column[0] is not None else None for column in columns]
    return StateFound(*largest)  # pyright: ignore[reportArgumentType]


def _state_errors(config: StateCheck, rng: np.random.Generator) -> Errors:
    # Inputs of variance 1 / n and entries of a size that keep tokens of order one and change
    # every part of the state.
    X, w = rng.standard_normal((config.n, config.d)) / config.n**0.5, rng.standard_normal(config.d)
    y = X @ w + 0.5 * rng.random() * rng.standard_normal(config.n)
    query = rng.standard_normal(config.d) / config.n**0.5
    p, shape = config.d + 1, (config.depth, config.heads)
    if config.weights == "full":
        network = FullWeights(*0.3 * rng.standard_normal((2, *shape, p, p)))
    else:
        network = DiagWeights(*0.25 * rng.standard_normal((4, *shape)))
    tokens = token_form(network, jnp.asarray(X), jnp.asarray(y), jnp.asarray(query[None]))
    context = np.column_stack([X, y])
    G = jnp.asarray(context.T @ context)
    trace, found = gram_form(network, G), states.implicit_states(network, G)
    R = np.asarray(found.matrix())
    by_state = np.einsum("lij,tj->lti", R, np.vstack([context, np.append(query, 0.0)]))
    by_layers = np.concatenate([tokens.context, tokens.queries], 1)
    errors = (
        relative(by_state, by_layers),
        relative(by_state[:-1], by_layers[1:]),
        relative(R, trace.R),
        relative(states.printed_states(network, G).matrix(), trace.R),
    )
    if isinstance(network, FullWeights):
        return *errors, None, None, None
    return *errors, *_diagonal_errors(network, G, found)


def _diagonal_errors(network: DiagWeights, G: Any, found: states.State) -> Errors:
    """Lemma 4.4: alpha as corrected and as printed, and the momentum form."""
    true, context = np.asarray(gram_form(network, G).G[:, :-1, -1]), states.least_squares(G)
    corrected, printed = (
        max(map(relative, jax.vmap(form, (0, None))(found, context), true))
        for form in (states.alpha, states.printed_alpha)
    )
    before = jax.tree.map(lambda part: part[:-1], found)
    step = jax.vmap(states.momentum_step, (0, 0, None))
    u, w = step(states.momentum_form(network, G), before, context)
    moved = [*map(relative, u, found.u[1:]), *map(relative, w, found.w[1:])]
    return corrected, printed, max(moved)


def cosine(config: Cosine) -> CosineFound:
    """Sample the supremum of the cosine and compare it with its law."""
    R = convergence.sampled_cosines(config.d, config.n, config.contexts, seed_of(config))
    squares = Estimate.of(R**2)
    return CosineFound(
        mean_square=squares.value,
        mean_square_error=squares.standard_error,
        predicted=convergence.squared_cosine_mean(config.d, config.n).value,
        quantile=float(np.quantile(R, 0.99)),
        predicted_quantile=convergence.cosine_quantile(config.d, config.n),
        beyond=int((R > 0.1).sum()),
    )
