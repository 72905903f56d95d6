"""GD++ and DIAG by Adam from random weights, and FULL networks that start near DIAG.

Source: Vladymyrov et al. (arXiv 2402.14180), Section 6: all three models are trained by one recipe.
A diagonal network is a FULL network whose P_k = diag(p_x I, p_y) and Q_k = diag(q_x I, q_y), with
q_y = 0 for GD++ (Section 5.1). Its loss and gradient are therefore those of `full_networks`, with
the same kernel, followed by the chain rule; both families are one population. `growth` trains the
same families by Levenberg-Marquardt, which is far more precise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.linear.models.weights import DiagWeights, FullWeights, on_host
from attnlab.linear.noise import Fixed, NoiseLaw
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.batches import NoiseTable
from attnlab.linear.training.full_loss import FullLoss, HeldOutLoss
from attnlab.linear.training.full_networks import (
    FullRecipe,
    equal_members,
    kept,
    options_of,
    starting_keys,
)
from attnlab.linear.training.recipes import RegressionMember, near, small_random
from attnlab.training.outcome import Trained
from attnlab.training.population import train
from attnlab.training.schedule import Betas, Schedule, adam

Family = Literal["gd++", "diag"]
NEAR = 3e-4  # standard deviation of what is added to every entry of a DIAG network


class DiagonalMember(NamedTuple):
    """The data of one member besides its weights; `free` is 1 where q_y is free and 0 for GD++."""

    noise: NoiseTable
    schedule: Schedule
    betas: Betas
    free: Float[Array, " *members"]


@dataclass(frozen=True)
class DiagonalLoss:
    """A loss of FULL networks, for a diagonal network that is written as one."""

    of_full: FullLoss | HeldOutLoss

    def __call__(self, weights: DiagWeights, *rest: Any) -> Float[Array, ""]:
        *key, member = rest
        full = as_full(weights, member.free, self.of_full.problem.d)
        loss: Any = self.of_full  # a batch has a key, held-out sequences have none
        return loss(full, *key, RegressionMember(*member[:-1]))


def as_full(weights: DiagWeights, free: Float[Array, ""] | float, d: int) -> FullWeights:
    """The same network as FULL weights, with q_y multiplied by `free`."""
    return DiagWeights(weights.p_x, weights.p_y, weights.q_x, free * weights.q_y).full(d)


def train_diagonal(
    problem: NoisyRegression,
    law: NoiseLaw,
    depth: int,
    recipe: FullRecipe,
    *,
    families: Sequence[Family] = ("gd++", "diag"),
    seeds: int,
    steps: int,
    seed: int = 0,
    held_out: int = 32_768,
    chunk: int = 1000,
    **watched: Any,
) -> tuple[Trained, FullWeights]:
    """Train diagonal networks of one depth, from `seeds` random starts for every family.

    Returns what `train` returns and the weights of every member that the recipe keeps, as FULL
    networks; member i has family i // seeds and start i % seeds.

    Parameters
    ----------
    problem, law
        The problem, and the noise law in place of its own.
    depth
        The number of layers.
    recipe, steps
        How they are trained, and for how many steps.
    families
        Which families.
    seed
        The seed of the sequences, which all members share.
    held_out, chunk
        Sequences by which the weights of a member are chosen, after every `chunk` steps.
    watched
        `progress`, `checkpoint` and `stop` of `attnlab.training.population.train`.
    """
    # Compiled programs are kept for the problem, so its unused noise law must always be the same.
    problem = replace(problem, noise=Fixed(0))
    keys = [starting_keys(f"{family} {law.name}", seeds, depth) for family in families]
    free = np.repeat([float(family == "diag") for family in families], seeds).astype(np.float32)
    shared = equal_members([law] * len(free), recipe, steps)
    trained = train(
        DiagonalLoss(FullLoss(problem, recipe.batch, recipe.literal)),
        small_random(
            "diag",
            jnp.concatenate(keys),
            depth,
            problem.d,
            scale=recipe.scale,
            dtype=np.float32,
        ),
        DiagonalMember(*shared, free=jnp.asarray(free)),
        jax.random.fold_in(jax.random.key(seed), depth),
        adam,
        steps=steps,
        options=options_of(recipe, chunk, DiagonalLoss(HeldOutLoss(problem, held_out))),
        **watched,
    )
    full = jax.vmap(as_full, (0, 0, None))(kept(trained, recipe), jnp.asarray(free), problem.d)
    return trained, full


def start_near(network: DiagWeights, law: NoiseLaw, seeds: int, d: int) -> FullWeights:
    """FULL weights near a one-head DIAG network, one per seed along the first axis.

    P and Q of every layer are first rescaled to equal norms, which does not change the network;
    then N(0, `NEAR`^2) is added to every entry, without which the gradient keeps it diagonal.
    """
    full = on_host(network.full(d))
    norm_P, norm_Q = (
        np.linalg.norm(part, axis=(2, 3), keepdims=True) for part in vars(full).values()
    )
    factor = np.sqrt(norm_Q / norm_P)
    equal = FullWeights(
        *(jnp.asarray(part, np.float32) for part in (full.P * factor, full.Q / factor))
    )
    return near(equal, starting_keys(f"from DIAG {law.name}", seeds, network.depth), NEAR)
