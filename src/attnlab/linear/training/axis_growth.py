"""Depth growth for FULL linear transformers: a few input directions are singled out.

The diagonal solution is a saddle of FULL, because the loss does not change when inputs are rotated:
small noise leaves it slowly, and noise in all 242 numbers of a layer makes tails explode. Here the
symmetry is broken in two directions only (`attnlab.linear.models.axis`), 20 numbers a layer. The
proposals of `layer_proposals`, on several of the best networks of the depths below, race on the
robust objective of `fresh_sample`; the best are polished and an unbiased phase ends it. What was
good before stays a candidate, so no depth is worse than the one before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.axis import AxisWeights, on_axis
from attnlab.linear.models.weights import DiagWeights, FullWeights
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.fresh_sample import (
    Objective,
    Sampling,
    Search,
    begin,
    score,
    search_many,
)
from attnlab.linear.training.layer_proposals import joined, proposals
from attnlab.linear.training.recipes import NoiseTable
from attnlab.stats.estimate import Estimate

TAIL = 200.0  # c in units of the mean loss: only what is far beyond the bulk is bent
HOLDS = 1.2  # times its loss a network may have on other sequences
TURNS = 3  # networks that are judged on other sequences at most


@dataclass(frozen=True)
class Effort:
    """Iterations, and the pools of sequences in each, of the phases of one depth."""

    race: tuple[int, int] = (24, 1)
    polish: tuple[int, int] = (25, 1)
    plain: tuple[int, int] = (6, 4)
    draws: int = 6  # of every kind of proposal
    kept: int = 6  # of the race
    parents: int = 4  # networks of a depth that the next ones grow from
    judged: tuple[int, int] = (8, 65536)  # draws, and sequences in each, that choose a network
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
    axes: int = 2,
    dtype: Any = float,
) -> Iterator[Grown]:
    """Depths 1, 2, ..., `depth` for one noise law, each from the one before.

    `starts[l - 1]` is a further proposal for depth l, a diagonal solution. The network of the depth
    before with a layer that does nothing is a candidate to the end, and so is the given one: what
    is returned is worse than neither, up to the noise of the comparison. All that is random at
    depth l comes from fold_in(key, l). `axes` directions are singled out; `dtype` is the precision
    of the search; the loss of what it finds is measured in JAX's default float.
    """
    depth = arguments.integer("depth", depth, 1)
    if problem.d <= axes:
        raise UserError(
            f"d must be at least {axes + 1} to single out {axes} direction(s), got {problem.d}."
        )
    levels: list[list[AxisWeights]] = []
    for layers in range(1, depth + 1):
        own = jax.random.fold_in(key, layers)
        given = [start for start in starts[layers - 1 : layers] if start is not None]
        known = [("given", on_axis(start, axes)) for start in given]
        grown, parents = _train(problem, noise, own, levels, known, effort, axes, dtype)
        levels.append(parents)
        yield grown


def compile_depth(
    problem: NoisyRegression,
    noise: NoiseTable,
    depth: int,
    given: bool,
    effort: Effort = Effort(),  # noqa: B008 (frozen)
    axes: int = 2,
    dtype: Any = float,
) -> None:
    """Compiles all that `grow_full` calls at one depth, so that depths can be compiled together.

    `given` says whether a start will be given there.
    """
    idle = replace(effort, race=(1, 1), polish=(1, 1), plain=(1, 1), judged=(1, effort.judged[1]))
    nothing = on_axis(DiagWeights(*jnp.zeros((4, depth, 1))), axes)
    levels = [[jax.tree.map(lambda leaf, n=n: leaf[:n], nothing)] for n in range(1, depth)]
    known = [("given", nothing)] * given
    _train(problem, noise, jax.random.key(0), levels, known, idle, axes, dtype)


def _train(
    problem: NoisyRegression,
    noise: NoiseTable,
    key: Any,
    levels: list[list[AxisWeights]],
    known: list[tuple[str, AxisWeights]],
    effort: Effort,
    axes: int,
    dtype: Any,
) -> tuple[Grown, list[AxisWeights]]:
    """The network of the next depth, and those that further ones may grow from, the best first."""
    if levels:
        best = levels[-1][0]
        idle = jax.tree.map(lambda leaf: np.zeros_like(leaf[:1]), best)
        known = [("unchanged", joined(best, idle)), *known]
        above = levels[-2] if len(levels) > 1 else []
        proposed = [*proposals(key, levels[-1], above, effort.draws), *known]
    else:
        step = DiagWeights(*(jnp.full((1, 1), value) for value in (0.0, -0.2, 0.2, 0.0)))
        proposed = [("gradient step", on_axis(step, axes)), *known]
    draws = iter(range(1000))

    def fresh() -> Any:
        return jax.random.fold_in(key, 10 + next(draws))

    def run(states: Search, sampling: Sampling, phase: tuple[int, int], c: float) -> Search:
        objective = Objective(noise, jnp.asarray(c))
        return search_many(problem, sampling, states, fresh(), objective, *phase)

    def measured(networks: AxisWeights, seed: Any) -> list[tuple[Estimate, float]]:
        """Of each network the mean loss and the largest."""
        chunks, count = effort.judged
        plain = Objective(noise, jnp.asarray(np.inf))
        _, *found = score(problem, count, networks, seed, plain, chunks)
        samples = chunks * count
        return [
            (Estimate(mean, float(np.sqrt(max(variance, 0.0) / samples)), samples), largest)
            for mean, largest, variance in zip(*(part.tolist() for part in found), strict=True)
        ]

    # Before anything is known the scale of the bulk is the loss of doing nothing.
    begun = _begin_all(_stacked([weights for _, weights in proposed], dtype))
    states = run(begun, effort.coarse, effort.race, TAIL * problem.d / 2)
    values = np.nan_to_num(np.asarray(states.value, float), nan=np.inf, posinf=np.inf)
    order = np.argsort(values, kind="stable")[: effort.kept]
    leading = float(values[order[0]])
    c = TAIL * (leading if np.isfinite(leading) else problem.d / 2)
    polished = run(_taken(states, order), effort.fine, effort.polish, c)
    again = polished._replace(damping=jnp.maximum(polished.damping, 1e-3))
    ended = run(again, effort.fine, effort.plain, np.inf)
    candidates = list(known)
    for networks in jax.device_get((polished.weights, ended.weights)):
        candidates += [(proposed[i][0], _taken(networks, place)) for place, i in enumerate(order)]
    networks = [weights for _, weights in candidates]
    judged = [loss.cautious for loss, _ in measured(_stacked(networks, dtype), fresh())]
    ranked = np.argsort(judged, kind="stable").tolist()
    # A tail that one sample missed may show in the next: then the next network has its turn.
    seen: dict[int, tuple[Estimate, float]] = {}
    for i in ranked[:TURNS]:
        ((loss, largest),) = measured(_stacked(networks[i : i + 1], float), fresh())
        seen[i] = loss, largest
        if loss.cautious < HOLDS * judged[i]:
            break
    chosen = min(seen, key=lambda i: seen[i][0].cautious)
    weights = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), networks[chosen])
    grown = Grown(
        weights.depth, weights, weights.full(problem.d), *seen[chosen], candidates[chosen][0]
    )
    ranked = [chosen, *(i for i in ranked if i not in seen)]
    # Of the two states of a search the better one.
    origins = [*range(-len(known), 0), *order, *order]
    parents: dict[int, AxisWeights] = {}
    for i in ranked:
        parents.setdefault(origins[i], candidates[i][1])
    return grown, list(parents.values())[: effort.parents]


@jax.jit
def _begin_all(weights: AxisWeights) -> Search:
    return jax.vmap(begin)(weights)


def _taken(tree: Any, places: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[places], tree)


def _stacked(networks: Sequence[AxisWeights], dtype: Any) -> AxisWeights:
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves), dtype), *networks)
