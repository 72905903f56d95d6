"""New layers for axis networks, from which depth growth starts.

A direction that is treated differently serves as a memory: one layer adds y to it and a later layer
reads it, and neither layer is useful alone. Besides single new layers, on networks one layer
shallower, pairs of new layers are therefore proposed, on networks two layers shallower.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.training.fixed_sample import generator

NEAR, SIZE = 0.1, 0.3  # size of a new layer's P relative to its Q, and size of its Q
# The place of a single new layer, and the size of its random part relative to its diagonal part.
SINGLE = (
    ("first", 0.3),
    ("inside", 0.3),
    ("inside", 1.0),
    ("last", 0.3),
    ("last", 1.0),
    ("last", 2.0),
)
# The place of a pair of new layers, and the size of the entries that write and read.
PAIRS = (
    ("last", 0.1),
    ("last", 0.3),
    ("last", 0.6),
    ("last", 1.0),
    ("inside", 0.6),
    ("inside", 1.0),
)


def proposals(
    key: Any,
    below: Sequence[AxisWeights],
    two_below: Sequence[AxisWeights],
    draws: int,
) -> Iterator[tuple[str, AxisWeights]]:
    """Names and networks: `draws` proposals of every kind, on the given networks in turn.

    `below` are networks one layer shallower, and `two_below` networks two layers shallower; there
    are no pairs where `two_below` is empty.
    """
    side = below[0].p.shape[-1]
    count = draws * (len(SINGLE) + len(PAIRS))
    # Drawn at once and put together on the host, since a layer is only a few numbers.
    noise = iter(generator(key).standard_normal((count, 4, side**2 + 1)))
    for draw in range(draws):
        for place, rough in SINGLE:
            new = _single(next(noise), rough, side)
            yield f"{place} {rough:g}", inserted(below[draw % len(below)], place, new)
    for draw in range(draws if two_below else 0):
        for place, size in PAIRS:
            pair = _write_and_read(next(noise), size, side, axis=draw % (side - 1))
            network = two_below[draw % len(two_below)]
            yield f"pair {place} {size:g}", inserted(network, place, *pair)


def inserted(network: AxisWeights, place: str, *new: AxisWeights) -> AxisWeights:
    """The network with new layers: "first", "last", or "inside", before its last layer."""
    at = {"first": 0, "inside": network.depth - 1, "last": network.depth}[place]
    before, after = (
        jax.tree.map(lambda leaf, part=part: leaf[part], network)
        for part in (slice(None, at), slice(at, None))
    )
    return joined(before, *new, after)


def joined(*parts: AxisWeights) -> AxisWeights:
    """One network with the layers of all parts."""
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _single(noise: np.ndarray, rough: float, side: int) -> AxisWeights:
    """A layer near zero that shrinks x and y a little, as layers of diagonal networks do."""
    look = np.eye(side)
    look[-1, -1] = 0
    P = _flat(-0.3 * np.eye(side), -0.3) + rough * noise[0]
    Q = _flat(look, 1) + rough * noise[1]
    return _layer(NEAR * SIZE * P, SIZE * Q)


def _write_and_read(
    noise: np.ndarray, amplitude: float, side: int, axis: int
) -> tuple[AxisWeights, AxisWeights]:
    """A layer that adds y to a direction, and a layer that reads it and adds the result to y."""
    add, look = -0.1 * np.eye(side), SIZE * np.eye(side)
    add[-1, -1], look[-1, -1], add[axis, -1] = -0.3, 0, amplitude
    within = np.eye(side) + 0.2 * (1 - np.eye(side))
    within[-1, -1] = 0.2
    write = _layer(
        _flat(add, -0.2) + 0.1 * noise[0], _flat(look, SIZE) + 0.05 * noise[1] * _flat(within, 1)
    )
    to_label, within = np.ones((side, side)), np.eye(side) + 0.3 * (1 - np.eye(side))
    to_label[-1, axis], within[-1, -1] = 10 * amplitude, 0.1
    read = _layer(0.1 * noise[2] * _flat(to_label, 1), SIZE * noise[3] * _flat(within, 1))
    return write, read


def _flat(block: np.ndarray, rest: float) -> np.ndarray:
    return np.append(block, rest)


def _layer(P: np.ndarray, Q: np.ndarray) -> AxisWeights:
    """A layer from the entries of its block by rows, followed by its number on the rest."""
    side = round(len(P[:-1]) ** 0.5)
    shape = (1, side, side)
    return AxisWeights(P[:-1].reshape(shape), P[-1:], Q[:-1].reshape(shape), Q[-1:])
