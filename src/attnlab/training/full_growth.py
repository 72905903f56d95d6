"""Depth growth for FULL linear transformers: symmetry is broken on purpose, layer by layer.

The diagonal solution is a saddle of FULL, because the loss does not change when inputs are rotated:
small noise leaves it slowly, generic new layers make tails explode. Here a new layer is near the
identity with a diagonal part and noise of several sizes, put first or last; the proposals race on
the robust objective of `fresh_sample`, the best is polished, and an unbiased phase ends it. What
was good before stays a candidate, so no depth is worse than the one before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnlab.estimate import Estimate
from attnlab.models.linear_weights import FullWeights
from attnlab.problems import arguments
from attnlab.problems.noisy_regression import NoisyRegression
from attnlab.training.fresh_sample import Objective, Sampling, Search, begin, score, search
from attnlab.training.recipes import NoiseTable

PLACES = ("first", "last")
ROUGHNESS = (0.1, 0.5)  # of a new layer: its noise over its diagonal part
NEAR = 0.1  # size of a new layer's P against its Q
TAIL = 200.0  # c in units of the mean loss: only what is far beyond the bulk is bent
HEAVY = 1.2  # a mean loss that exceeds the robust one by this factor has a tail


@dataclass(frozen=True)
class Effort:
    """Iterations, and the pools of sequences in each, of the phases of one depth."""

    race: tuple[int, int] = (10, 1)
    polish: tuple[int, int] = (14, 2)
    repair: tuple[int, int] = (6, 4)
    plain: tuple[int, int] = (4, 4)
    judged: int = 16  # times `compared` sequences choose between networks, as many judge the choice
    sampling: Sampling = Sampling()  # noqa: RUF009 (frozen)


@dataclass(frozen=True)
class Grown:
    """One trained depth: its network, its loss on fresh sequences, and where it came from."""

    depth: int
    weights: FullWeights
    loss: Estimate
    largest: float  # of the losses behind `loss`
    origin: str


def grow_full(
    problem: NoisyRegression,
    noise: NoiseTable,
    key: Any,
    depth: int,
    *,
    starts: Sequence[FullWeights | None] = (),
    effort: Effort = Effort(),  # noqa: B008 (frozen)
) -> Iterator[Grown]:
    """Depths 1, 2, ..., `depth` for one noise law, each from the one before.

    `starts[l - 1]` is a further proposal for depth l, such as a diagonal solution. The network of
    the depth before with a layer that does nothing is a candidate to the end, and so is the given
    one: what is returned is worse than neither, up to the noise of the comparison. All that is
    random at depth l comes from fold_in(key, l).
    """
    depth = arguments.integer("depth", depth, 1)
    trained: FullWeights | None = None
    for layers in range(1, depth + 1):
        own = jax.random.fold_in(key, layers)
        proposals = list(_proposals(own, trained, problem.d))
        given = starts[layers - 1] if layers <= len(starts) else None
        known = [] if trained is None else [("unchanged", _with_identity(trained))]
        if given is not None:
            proposals += [("given", given)]
            known += [("given", given)]
        grown = _train(problem, noise, own, proposals, known, effort)
        trained = grown.weights
        yield grown


def _train(
    problem: NoisyRegression,
    noise: NoiseTable,
    key: Any,
    proposals: list[tuple[str, FullWeights]],
    known: list[tuple[str, FullWeights]],
    effort: Effort,
) -> Grown:
    draws = iter(range(1000))

    def fresh() -> Any:
        return jax.random.fold_in(key, 10 + next(draws))

    def run(state: Search, phase: tuple[int, int], objective: Objective) -> Search:
        iterations, chunks = (jnp.asarray(number, jnp.int32) for number in phase)
        return search(problem, effort.sampling, state, fresh(), objective, iterations, chunks)

    def judge(weights: FullWeights, seed: Any) -> tuple[float, ...]:
        chunks = jnp.asarray(effort.judged, jnp.int32)
        return tuple(
            float(part) for part in score(problem, effort.sampling, weights, seed, plain, chunks)
        )

    def bent(scale: float) -> Objective:
        return Objective(noise, jnp.asarray(TAIL * scale))

    plain = Objective(noise, jnp.asarray(jnp.inf))
    # Before anything is known the scale of the bulk is the loss of doing nothing.
    raced = [
        (name, run(begin(weights), effort.race, bent(problem.d / 2))) for name, weights in proposals
    ]
    name, state = min(raced, key=lambda pair: _worth(float(pair[1].value)))
    state = run(state, effort.polish, bent(_worth(float(state.value), problem.d / 2)))
    if not float(state.plain) < HEAVY * float(state.value):
        state = run(state, effort.repair, bent(_worth(float(state.value), problem.d / 2)))
    ended = run(state._replace(damping=jnp.maximum(state.damping, 1e-3)), effort.plain, plain)
    seed = fresh()
    candidates = [*known, (name, state.weights), (name, ended.weights)]
    name, chosen = min(candidates, key=lambda pair: _worth(judge(pair[1], seed)[1]))
    _, mean, largest, variance = judge(chosen, fresh())
    samples = effort.judged * effort.sampling.compared
    error = float(np.sqrt(max(variance, 0.0) / samples))
    return Grown(chosen.depth, chosen, Estimate(mean, error, samples), largest, name)


def _worth(value: float, otherwise: float = np.inf) -> float:
    return value if np.isfinite(value) else otherwise


def _with_identity(weights: FullWeights) -> FullWeights:
    nothing = jnp.zeros_like(weights.P[:1])
    return FullWeights(*(jnp.concatenate([part, nothing]) for part in (weights.P, weights.Q)))


def _proposals(key: Any, trained: FullWeights | None, d: int) -> Iterator[tuple[str, FullWeights]]:
    if trained is None:
        p, q = jnp.diag(jnp.zeros(d + 1).at[-1].set(-0.2)), 0.2 * jnp.eye(d + 1)
        yield "gradient step", FullWeights(p[None, None], q.at[-1, -1].set(0)[None, None])
        return
    size = jnp.sqrt(jnp.square(trained.Q).mean())
    # Shrinking x and y a little is what the layers of a diagonal model do.
    pattern_p, pattern_q = (
        jnp.diag(jnp.full(d + 1, -0.3)),
        jnp.diag(jnp.ones(d + 1).at[-1].set(0.5)),
    )
    for i, (place, rough) in enumerate((p, r) for p in PLACES for r in ROUGHNESS):
        noise = jax.random.normal(jax.random.fold_in(key, i), (2, d + 1, d + 1), size.dtype)
        P = NEAR * size * (pattern_p + rough * noise[0])[None, None]
        Q = size * (pattern_q + rough * noise[1])[None, None]
        new, old = (P, Q), (trained.P, trained.Q)
        pairs = zip(new, old, strict=True) if place == "first" else zip(old, new, strict=True)
        yield f"{place} {rough:g}", FullWeights(*(jnp.concatenate(pair) for pair in pairs))
