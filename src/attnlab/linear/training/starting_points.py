"""Starting points of depth growth: a shallower network with a new layer, and geometric ladders.

Source: Vladymyrov et al. (arXiv 2402.14180) for the families and Theorem 5.1. A new layer is near
zero in units in which a layer of size one changes everything: 1 / n for a factor of Sigma and
1 / (n (d + E sigma^2)) for a factor of y twice. The training itself is in `growth`.
"""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from attnlab.linear.models.weights import DiagonalWeights, DiagWeights, GDPlusPlus, Omegas
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.fixed_sample import generator

DiagonalFamily = Literal["gd++", "diag", "omegas", "no-momentum", "no-rescaling"]
# Free omegas of which one is 0 in every layer: omega_xy brings momentum, omega_yy rescales y.
ABSENT: dict[DiagonalFamily, str] = {"no-momentum": "xy", "no-rescaling": "yy"}

NEAR_ZERO = (0.01, 0.5)  # sizes of a new layer, where a layer of size 1 changes everything
SETTLED = 4  # layers from which on the place of a new layer matters less
LADDER = (2.0, 4.0)  # range of the ratio of omegas between neighbouring layers; Theorem 5.1 has 9/4


def starting_points(
    shallower: DiagonalWeights, problem: NoisyRegression, key: PRNGKeyArray, count: int
) -> list[DiagonalWeights]:
    """The shallower network with each of `count` new layers near zero: first, in the middle, last.

    omega_yx of a new layer is negative, a step down the gradient; the other signs are random. From
    `SETTLED` layers on the place matters less, and each new layer is tried in only one of them.
    """
    rng = generator(key)
    x = 1 / problem.n
    y = x / (problem.d + problem.noise.second_moment())
    root = np.sqrt(x)
    size = {
        GDPlusPlus: (x, x),
        Omegas: (x, y, x, y),
        DiagWeights: (root, root, root, y / root),
    }[type(shallower)]
    layers = rng.standard_normal((count, len(size))) * size
    near = np.geomspace(*NEAR_ZERO, count)[:, None]
    if isinstance(shallower, DiagWeights):
        layers *= np.sqrt(near)
        layers[:, 1] = -np.abs(layers[:, 1]) * np.sign(layers[:, 2])
    else:
        layers *= near
        step = 1 if isinstance(shallower, GDPlusPlus) else 2
        layers[:, step] = -np.abs(layers[:, step])
    depth = shallower.depth
    places = sorted({0, (depth + 1) // 2, depth})
    if depth >= SETTLED:
        return [insert_layer(shallower, places[i % 3], layer) for i, layer in enumerate(layers)]
    return [insert_layer(shallower, place, layer) for layer in layers for place in places]


def without(network: Omegas, omega: str) -> Omegas:
    """The network with one of its omegas set to 0 in every layer."""
    return Omegas(**{**vars(network), omega: np.zeros_like(getattr(network, omega))})


def ladders(
    problem: NoisyRegression, key: PRNGKeyArray, depth: int, count: int
) -> list[GDPlusPlus]:
    """GD++ with steps and preconditioners that grow geometrically, as those of Theorem 5.1 do."""
    rng = generator(key)
    unit = -1 / (problem.n + problem.d)
    found = []
    for _ in range(count):
        growth = rng.uniform(*LADDER) ** np.arange(depth)
        jitter = np.exp(0.2 * rng.standard_normal((2, depth)))
        xx, yx = unit * growth * jitter * rng.uniform([0.1, 0.1], [1, 2])[:, None]
        found.append(GDPlusPlus(jnp.asarray(xx), jnp.asarray(yx)))
    return found


def insert_layer(network: DiagonalWeights, place: int, layer: np.ndarray) -> DiagonalWeights:
    """The network with one more layer; `layer` lists its parameters, zeros for an empty layer."""
    leaves, structure = jax.tree.flatten(network)
    shapes = [np.shape(leaf)[1:] for leaf in leaves]
    new = [np.full((1, *shape), value) for shape, value in zip(shapes, layer, strict=False)]
    parts = [(leaf[:place], row, leaf[place:]) for leaf, row in zip(leaves, new, strict=True)]
    return jax.tree.unflatten(structure, [np.concatenate(part) for part in parts])


def empty_network(family: DiagonalFamily) -> DiagonalWeights:
    """A network without layers, which answers w = 0."""
    match family:
        case "gd++":
            return GDPlusPlus(*(jnp.zeros(0) for _ in range(2)))
        case "diag":
            return DiagWeights(*(jnp.zeros((0, 1)) for _ in range(4)))
        case _:
            return Omegas(*(jnp.zeros(0) for _ in range(4)))
