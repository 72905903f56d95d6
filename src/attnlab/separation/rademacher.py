"""Random bits and signs, 64 to one draw of the generator."""

import numpy as np
from jaxtyping import Int8, UInt8

from attnlab import arguments


def generators(seed: int, count: int) -> list[np.random.Generator]:
    """`count` independent generators from one seed."""
    seeds = np.random.SeedSequence(arguments.integer("seed", seed, 0)).spawn(count)
    return [np.random.default_rng(child) for child in seeds]


def random_bits(rng: np.random.Generator, rows: int, count: int) -> UInt8[np.ndarray, "rows count"]:
    """Independent fair bits, `count` of them in each of `rows` rows.

    Each row takes whole 64-bit words, so that drawing i rows and then j gives the same bits as
    drawing i + j: how trials are cut into blocks changes nothing.
    """
    words = rng.integers(0, 2**64, size=(rows, -(-count // 64)), dtype=np.uint64)
    octets = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=count, bitorder="little")


def rademacher(rng: np.random.Generator, rows: int, *shape: int) -> Int8[np.ndarray, "rows *shape"]:
    """Independent uniform signs -1 and +1; the rows are drawn as those of `random_bits`."""
    bits = random_bits(rng, rows, int(np.prod(shape)))
    return (2 * bits.view(np.int8) - 1).reshape(rows, *shape)
