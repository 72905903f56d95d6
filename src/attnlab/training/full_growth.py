"""Depth growth for FULL linear transformers: one input direction is singled out, layer by layer.

The diagonal solution is a saddle of FULL, because the loss does not change when inputs are rotated:
small noise leaves it slowly, and noise in all 242 numbers of a layer makes tails explode. Here the
symmetry is broken in one direction only (`attnlab.models.axis_weights`), ten numbers a layer. Such
a direction is a memory: one layer writes y into it, another reads it, and neither is of use alone,
so that besides single new layers pairs of them are proposed, on the network two depths below. The
proposals race on the robust objective of `fresh_sample`; the best are polished and an unbiased
phase ends it. What was good before stays a candidate, so no depth is worse than the one before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.estimate import Estimate
from attnlab.models.axis_weights import AxisWeights, on_axis
from attnlab.models.linear_weights import DiagWeights, FullWeights
from attnlab.problems import arguments
from attnlab.problems.noisy_regression import NoisyRegression
from attnlab.training.fresh_sample import (
    Objective,
    Sampling,
    Search,
    begin,
    score,
    search_many,
)
from attnlab.training.recipes import NoiseTable

NEAR, SIZE = 0.1, 0.3  # size of a new layer's P against its Q, and of its Q
# Where one new layer goes, with its noise over its diagonal part.
SINGLE = (
    ("first", 0.3),
    ("inside", 0.3),
    ("inside", 1.0),
    ("last", 0.3),
    ("last", 1.0),
    ("last", 2.0),
)
# Where a pair of new layers goes, with the size of what it writes and reads.
PAIRS = (
    ("last", 0.1),
    ("last", 0.3),
    ("last", 0.6),
    ("last", 1.0),
    ("inside", 0.6),
    ("inside", 1.0),
)
DRAWS = 2  # of the noise of every proposal
TAIL = 200.0  # c in units of the mean loss: only what is far beyond the bulk is bent


@dataclass(frozen=True)
class Effort:
    """Iterations, and the pools of sequences in each, of the phases of one depth."""

    race: tuple[int, int] = (20, 1)
    polish: tuple[int, int] = (25, 1)
    plain: tuple[int, int] = (6, 4)
    kept: int = 3  # of the race
    judged: int = 64  # times `fine.compared` sequences choose a network, as many judge the choice
    coarse: Sampling = Sampling(1024, 4096, 64, 2048)  # noqa: RUF009 (frozen); of the race
    fine: Sampling = Sampling(4096, 16384, 256, 8192)  # noqa: RUF009 (frozen); of the rest


@dataclass(frozen=True)
class Grown:
    """One trained depth: its network, its loss on fresh sequences, and where it came from."""

    depth: int
    axis: AxisWeights
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
    starts: Sequence[DiagWeights | None] = (),
    effort: Effort = Effort(),  # noqa: B008 (frozen)
) -> Iterator[Grown]:
    """Depths 1, 2, ..., `depth` for one noise law, each from the one before.

    `starts[l - 1]` is a further proposal for depth l, a diagonal solution. The network of the depth
    before with a layer that does nothing is a candidate to the end, and so is the given one: what
    is returned is worse than neither, up to the noise of the comparison. All that is random at
    depth l comes from fold_in(key, l).
    """
    depth = arguments.integer("depth", depth, 1)
    if problem.d < 2:
        raise UserError(f"d must be at least 2 to single out a direction, got {problem.d}.")
    trained: list[AxisWeights] = []
    for layers in range(1, depth + 1):
        own = jax.random.fold_in(key, layers)
        given = starts[layers - 1] if layers <= len(starts) else None
        known = [("unchanged", _joined(one, _nothing(one))) for one in trained[-1:]]
        if given is not None:
            known.append(("given", on_axis(given)))
        proposals = [*_proposals(own, trained), *known]
        grown = _train(problem, noise, own, proposals, known, effort)
        trained.append(grown.axis)
        yield grown


def _train(
    problem: NoisyRegression,
    noise: NoiseTable,
    key: Any,
    proposals: list[tuple[str, AxisWeights]],
    known: list[tuple[str, AxisWeights]],
    effort: Effort,
) -> Grown:
    draws = iter(range(1000))

    def fresh() -> Any:
        return jax.random.fold_in(key, 10 + next(draws))

    def run(
        states: list[Search], sampling: Sampling, phase: tuple[int, int], c: float
    ) -> list[Search]:
        iterations, chunks = (jnp.asarray(number, jnp.int32) for number in phase)
        stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *states)
        objective = Objective(noise, jnp.asarray(c))
        found = search_many(problem, sampling, stacked, fresh(), objective, iterations, chunks)
        return [jax.tree.map(lambda part, i=i: part[i], found) for i in range(len(states))]

    def measured(weights: AxisWeights, seed: Any) -> tuple[Estimate, float]:
        """The mean loss and the largest."""
        chunks, plain = jnp.asarray(effort.judged, jnp.int32), Objective(noise, jnp.asarray(np.inf))
        found = score(problem, effort.fine, weights, seed, plain, chunks)
        _, mean, largest, variance = (float(part) for part in found)
        samples = effort.judged * effort.fine.compared
        return Estimate(mean, float(np.sqrt(max(variance, 0.0) / samples)), samples), largest

    # Before anything is known the scale of the bulk is the loss of doing nothing.
    begun, c = [begin(weights) for _, weights in proposals], TAIL * problem.d / 2
    states = run(begun, effort.coarse, effort.race, c)
    best = sorted(range(len(states)), key=lambda i: _worth(states[i].value))[: effort.kept]
    c = TAIL * _worth(states[best[0]].value, problem.d / 2)
    polished = run([states[i] for i in best], effort.fine, effort.polish, c)
    again = [state._replace(damping=jnp.maximum(state.damping, 1e-3)) for state in polished]
    ended = run(again, effort.fine, effort.plain, np.inf)
    names = [proposals[i][0] for i in best]
    candidates: list[tuple[str, Any]] = list(known)
    for found in (polished, ended):
        candidates += zip(names, (state.weights for state in found), strict=True)
    seed = fresh()
    name, chosen = min(candidates, key=lambda pair: measured(pair[1], seed)[0].cautious)
    loss, largest = measured(chosen, fresh())
    return Grown(chosen.depth, chosen, chosen.full(problem.d), loss, largest, name)


def _worth(value: Any, otherwise: float = np.inf) -> float:
    return float(value) if np.isfinite(float(value)) else otherwise


def _joined(*parts: AxisWeights) -> AxisWeights:
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)


def _nothing(weights: AxisWeights) -> AxisWeights:
    return jax.tree.map(lambda leaf: jnp.zeros_like(leaf[:1]), weights)


def _proposals(key: Any, trained: Sequence[AxisWeights]) -> Iterator[tuple[str, AxisWeights]]:
    if not trained:
        step = DiagWeights(*(jnp.full((1, 1), value) for value in (0.0, -0.2, 0.2, 0.0)))
        yield "gradient step", on_axis(step)
        return
    # Shrinking x and y a little is what the layers of a diagonal model do.
    shrink, look = jnp.array([-0.3, 0, 0, -0.3, -0.3]), jnp.array([1.0, 0, 0, 0, 1])
    noise = iter(jax.random.normal(key, (DRAWS * (len(SINGLE) + len(PAIRS)), 4, 5)))
    for place, rough in SINGLE * DRAWS:
        own = next(noise)
        new = _layer(NEAR * SIZE * (shrink + rough * own[0]), SIZE * (look + rough * own[1]))
        yield f"{place} {rough:g}", _inserted(trained[-1], place, new)
    if len(trained) > 1:
        for place, size in PAIRS * DRAWS:
            pair = _write_and_read(next(noise), size)
            yield f"pair {place} {size:g}", _inserted(trained[-2], place, *pair)


def _inserted(network: AxisWeights, place: str, *new: AxisWeights) -> AxisWeights:
    """New layers first, last, or inside, before the last one."""
    at = {"first": 0, "inside": network.depth - 1, "last": network.depth}[place]
    before, after = (
        jax.tree.map(lambda leaf, part=part: leaf[part], network)
        for part in (slice(None, at), slice(at, None))
    )
    return _joined(before, *new, after)


def _write_and_read(
    noise: Float[Array, "4 5"], amplitude: float
) -> tuple[AxisWeights, AxisWeights]:
    """A layer that adds y to x_1, and one that looks at x_1 and adds to y."""
    write = _layer(
        jnp.array([-0.1, amplitude, 0, -0.3, -0.2]) + 0.1 * noise[0],
        jnp.array([SIZE, 0, 0, 0, SIZE]) + 0.05 * noise[1] * jnp.array([1, 0.2, 0.2, 0.2, 1]),
    )
    read = _layer(
        0.1 * noise[2] * jnp.array([1, 1, 10 * amplitude, 1, 1]),
        SIZE * noise[3] * jnp.array([1, 0.3, 0.3, 0.1, 1]),
    )
    return write, read


def _layer(P: Float[Array, " 5"], Q: Float[Array, " 5"]) -> AxisWeights:
    """A layer from the 2 x 2 matrix on (x_1, y), row by row, and the number on the rest."""
    return AxisWeights(P[:4].reshape(1, 2, 2), P[4:], Q[:4].reshape(1, 2, 2), Q[4:])
