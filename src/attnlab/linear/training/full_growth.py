"""Depth growth of FULL networks: every depth starts at the network one layer shallower.

The network of depth L begins as the trained one of depth L - 1 with a last layer of small random
entries, which at first changes almost nothing, and is trained by Adam with all entries free. Source
of the problem: Vladymyrov et al. (arXiv 2402.14180), which does not say from which weights its
networks start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from attnlab.errors import Stopped
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import NoiseLaw
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.full_networks import FullRecipe, start, train_full
from attnlab.training.outcome import Trained


def with_new_layer(
    shallower: FullWeights | None, laws: Sequence[NoiseLaw], seeds: int, d: int, scale: float
) -> FullWeights:
    """Every network with one more layer of N(0, scale^2) entries after its last; None has none.

    The entries depend on the law, the seed and the depth, and not on what else is trained.
    """
    depth = 1 if shallower is None else shallower.P.shape[1] + 1
    layer = start(laws, seeds, depth, d, scale, layers=1)
    if shallower is None:
        return layer
    return jax.tree.map(
        lambda held, new: jnp.concatenate([jnp.asarray(held, new.dtype), new], 1), shallower, layer
    )


def grow_full(
    problem: NoisyRegression,
    laws: Sequence[NoiseLaw],
    depth: int,
    recipe: FullRecipe,
    *,
    seeds: int,
    steps: int,
    watched: Callable[[int], dict[str, Any]] = lambda depth: {},
    **sizes: Any,
) -> list[Trained]:
    """Train FULL networks on every law by growth; the results are those of depth 1, 2, and so on.

    Parameters
    ----------
    problem
        The problem, whose noise law is replaced by `laws`.
    laws, seeds
        Member i has law i // seeds and the start i % seeds.
    depth
        The number of layers of the deepest networks.
    recipe, steps
        How each depth is trained, and for how many steps. Of a depth the weights of least held-out
        loss are kept, and the next one grows from them.
    watched
        `reached`, `checkpoint` and `stop` of the training of a depth
        (`attnlab.training.population.train`). `reached` gets the steps of all depths.
    sizes
        `seed`, `held_out` and `chunk` of `full_networks.train_full`.

    Raises
    ------
    Stopped
        If `stop` returned True before the last step; the checkpoints hold the growth so far.
    """
    done: list[Trained] = []
    for layers in range(1, depth + 1):
        own = dict(watched(layers))
        before, total = (layers - 1) * steps, depth * steps
        if "reached" in own:
            own["reached"] = _counted_from(before, total, own["reached"])
        last = done[-1].best if done else None
        begin = with_new_layer(last, laws, seeds, problem.d, recipe.scale)
        given = {"seeds": seeds, "steps": steps, "begin": begin, **sizes, **own}
        try:
            done.append(train_full(problem, laws, layers, recipe, **given))
        except Stopped as stopped:
            raise Stopped(before + stopped.step, total, stopped.checkpoint) from None
    return done


def _counted_from(before: int, total: int, reached: Callable[..., object]) -> Callable[..., object]:
    return lambda step, steps: reached(before + step, total)
