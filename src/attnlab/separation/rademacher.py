"""Random signs from packed random bits, 64 to a draw of the generator."""

import math

import numpy as np
from jaxtyping import Int8

from attnlab import arguments


def generators(seed: int, count: int) -> list[np.random.Generator]:
    """`count` independent counter-based generators from one seed."""
    seeds = np.random.SeedSequence(arguments.integer("seed", seed, 0)).spawn(count)
    return [np.random.Generator(np.random.Philox(child)) for child in seeds]


def rademacher(rng: np.random.Generator, shape: tuple[int, ...]) -> Int8[np.ndarray, "..."]:
    """Independent uniform signs -1 and +1.

    Each entry of the first axis takes whole 64-bit words, so drawing i entries and then j gives the
    same signs as drawing i + j: how trials are cut into blocks changes nothing.
    """
    per_entry = math.prod(shape[1:])
    words = rng.integers(0, 2**64, size=(shape[0], -(-per_entry // 64)), dtype=np.uint64)
    octets = words.astype("<u8", copy=False).view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=per_entry, bitorder="little")
    return (2 * bits.view(np.int8) - 1).reshape(shape)
