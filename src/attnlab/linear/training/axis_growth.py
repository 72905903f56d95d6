"""Depth growth for axis networks, which treat a few input directions differently from the others.

A diagonal network is a saddle point of the loss over all matrices, because the loss does not change
when the inputs are rotated: small perturbations leave it slowly, and perturbations of all 242
numbers of a layer give heavy tails. Here the symmetry is broken in two directions only
(`attnlab.linear.models.axis`), with 20 numbers per layer. The proposals of `layer_proposals` on
several of the best shallower networks compete on the robust objective of `fresh_sample`. The best
of them are trained further, at the end on the plain loss. The best shallower network stays a
candidate, so that no depth is worse than the one before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.axis import AxisWeights, on_axis
from attnlab.linear.models.weights import DiagWeights, FullWeights
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.batches import NoiseTable
from attnlab.linear.training.fresh_sample import (
    Objective,
    Sampling,
    SearchState,
    begin,
    score,
    search_many,
)
from attnlab.linear.training.layer_proposals import joined, proposals
from attnlab.stats.estimate import Estimate

TAIL = 200.0  # c in units of the mean loss, so that only losses far beyond the bulk are reduced
HOLDS = 1.2  # ratio by which a loss may be larger on further sequences
TURNS = 3  # the most networks that are evaluated on further sequences


@dataclass(frozen=True)
class AxisGrowthEffort:
    """The amount of work for each depth of an axis network.

    Parameters
    ----------
    screening, refinement, final
        Iterations, and pools of sequences in each, of the three phases: all proposals on the
        robust objective, the best of them, and these on the plain loss.
    draws
        Proposals of every kind.
    kept
        Networks that the screening keeps.
    parents
        Networks of a depth from which deeper ones are grown.
    evaluation
        Draws, and sequences in each, by which the network of a depth is chosen.
    coarse, fine
        The sequences of the screening, and of the other phases.
    """

    screening: tuple[int, int] = (24, 1)
    refinement: tuple[int, int] = (25, 1)
    final: tuple[int, int] = (6, 4)
    draws: int = 6
    kept: int = 6
    parents: int = 4
    evaluation: tuple[int, int] = (8, 65536)
    coarse: Sampling = Sampling(1024, 4096, 64, 2048)  # noqa: RUF009 (frozen)
    fine: Sampling = Sampling(4096, 16384, 256, 8192)  # noqa: RUF009 (frozen)


@dataclass(frozen=True)
class TrainedAxisDepth:
    """One trained depth: the network, its loss on fresh sequences, and the proposal it grew from.

    `largest` is the largest of the losses behind `loss`; deeper networks grow from `parents`, of
    which the first is the network itself.
    """

    depth: int
    axis: AxisWeights
    weights: FullWeights
    loss: Estimate
    largest: float
    origin: str
    parents: tuple[AxisWeights, ...]


def grow_axis(
    problem: NoisyRegression,
    noise: NoiseTable,
    key: Any,
    depth: int,
    *,
    starts: Sequence[DiagWeights | None] = (),
    effort: AxisGrowthEffort = AxisGrowthEffort(),  # noqa: B008 (frozen)
    axes: int = 2,
    dtype: Any = float,
    trained: Sequence[Sequence[AxisWeights]] = (),
) -> Iterator[TrainedAxisDepth]:
    """Train depths 1, 2, ..., `depth` for one noise law, each from the depth before.

    The network of the depth before with an empty layer is a candidate to the end, and so is a
    given one: the result is worse than neither, up to the noise of the comparison. All random
    numbers of depth l come from fold_in(key, l), so that a continued growth equals the
    uninterrupted one bit for bit.

    Parameters
    ----------
    problem
        The problem; its noise law is replaced by `noise`.
    noise
        The noise law as a table (`attnlab.linear.training.batches.noise_tables`).
    key
        The JAX key of everything random.
    depth
        The number of layers of the deepest network.
    starts
        Entry l - 1 is a diagonal network of depth l as a further proposal, or None.
    effort
        The amount of work for each depth.
    axes
        The number of directions that are treated differently.
    dtype
        The precision of the search; losses are measured in JAX's default precision.
    trained
        The parents of the depths that are already trained, from depth 1 on; growth continues
        after them.
    """
    depth = arguments.integer("depth", depth, 1)
    if problem.d <= axes:
        raise UserError(
            f"d must be at least {axes + 1} to treat {axes} direction(s) differently, "
            f"got {problem.d}."
        )
    levels = list(trained)
    for layers in range(len(levels) + 1, depth + 1):
        own = jax.random.fold_in(key, layers)
        given = [start for start in starts[layers - 1 : layers] if start is not None]
        known = [("given", on_axis(start, axes)) for start in given]
        grown = _train(problem, noise, own, levels, known, effort, axes, dtype)
        levels.append(grown.parents)
        yield grown


def _train(
    problem: NoisyRegression,
    noise: NoiseTable,
    key: Any,
    levels: Sequence[Sequence[AxisWeights]],
    known: list[tuple[str, AxisWeights]],
    effort: AxisGrowthEffort,
    axes: int,
    dtype: Any,
) -> TrainedAxisDepth:
    """The network of the next depth."""
    if levels:
        best = levels[-1][0]
        idle = jax.tree.map(lambda leaf: np.zeros_like(leaf[:1]), best)
        known = [("unchanged", joined(best, idle)), *known]
        above = levels[-2] if len(levels) > 1 else ()
        proposed = [*proposals(key, levels[-1], above, effort.draws), *known]
    else:
        step = DiagWeights(*(jnp.full((1, 1), value) for value in (0.0, -0.2, 0.2, 0.0)))
        proposed = [("gradient step", on_axis(step, axes)), *known]
    draws = iter(range(1000))

    def fresh() -> Any:
        return jax.random.fold_in(key, 10 + next(draws))

    def run(
        states: SearchState, sampling: Sampling, phase: tuple[int, int], c: float
    ) -> SearchState:
        objective = Objective(noise, jnp.asarray(c))
        return search_many(problem, sampling, states, fresh(), objective, *phase)

    def evaluated(networks: AxisWeights, seed: Any) -> list[tuple[Estimate, float]]:
        """The mean loss and the largest loss of each network."""
        chunks, count = effort.evaluation
        plain = Objective(noise, jnp.asarray(np.inf))
        _, *found = score(problem, count, networks, seed, plain, chunks)
        samples = chunks * count
        return [
            (Estimate(mean, float(np.sqrt(max(variance, 0.0) / samples)), samples), largest)
            for mean, largest, variance in zip(*(part.tolist() for part in found), strict=True)
        ]

    # At first the scale of the bulk is the loss of the answer w = 0.
    begun = _begin_all(_stacked([weights for _, weights in proposed], dtype))
    states = run(begun, effort.coarse, effort.screening, TAIL * problem.d / 2)
    values = np.nan_to_num(np.asarray(states.value, float), nan=np.inf, posinf=np.inf)
    order = np.argsort(values, kind="stable")[: effort.kept]
    leading = float(values[order[0]])
    c = TAIL * (leading if np.isfinite(leading) else problem.d / 2)
    refined = run(_taken(states, order), effort.fine, effort.refinement, c)
    again = refined._replace(damping=jnp.maximum(refined.damping, 1e-3))
    ended = run(again, effort.fine, effort.final, np.inf)
    candidates = list(known)
    for networks in jax.device_get((refined.weights, ended.weights)):
        candidates += [(proposed[i][0], _taken(networks, place)) for place, i in enumerate(order)]
    networks = [weights for _, weights in candidates]
    cautious = [loss.cautious for loss, _ in evaluated(_stacked(networks, dtype), fresh())]
    ranked = np.argsort(cautious, kind="stable").tolist()
    # A heavy tail that one sample missed may show in another; then the next network is evaluated.
    seen: dict[int, tuple[Estimate, float]] = {}
    for i in ranked[:TURNS]:
        ((loss, largest),) = evaluated(_stacked(networks[i : i + 1], float), fresh())
        seen[i] = loss, largest
        if loss.cautious < HOLDS * cautious[i]:
            break
    chosen = min(seen, key=lambda i: seen[i][0].cautious)
    weights = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), networks[chosen])
    ranked = [chosen, *(i for i in ranked if i not in seen)]
    # Every search has two results, before and after the final phase; the better one is kept.
    origins = [*range(-len(known), 0), *order, *order]
    parents: dict[int, AxisWeights] = {}
    for i in ranked:
        parents.setdefault(origins[i], candidates[i][1])
    return TrainedAxisDepth(
        weights.depth,
        weights,
        weights.full(problem.d),
        *seen[chosen],
        candidates[chosen][0],
        tuple(parents.values())[: effort.parents],
    )


@jax.jit
def _begin_all(weights: AxisWeights) -> SearchState:
    return jax.vmap(begin)(weights)


def _taken(tree: Any, places: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[places], tree)


def _stacked(networks: Sequence[AxisWeights], dtype: Any) -> AxisWeights:
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves), dtype), *networks)
