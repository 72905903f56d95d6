"""Random bits and signs, 64 to one draw of the generator."""

import numpy as np
from jaxtyping import Bool, Int8, UInt8, UInt64

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
    return np.unpackbits(_random_octets(rng, rows, count), axis=1, count=count, bitorder="little")


def random_words(
    rng: np.random.Generator, rows: int, *shape: int
) -> UInt64[np.ndarray, "rows *m words"]:
    """The bits of `random_bits`, as `packed` has them: the last axis of `shape` in whole words."""
    if shape[-1] % 8:
        bits = random_bits(rng, rows, int(np.prod(shape)))
        return packed(bits.reshape(rows, *shape))
    octets = _random_octets(rng, rows, int(np.prod(shape)))[:, : int(np.prod(shape)) // 8]
    return _words(octets.reshape(rows, *shape[:-1], -1))


def packed(
    bits: UInt8[np.ndarray, "*rows n"] | Bool[np.ndarray, "*rows n"],
) -> UInt64[np.ndarray, "*rows words"]:
    """Bits in words of 64, the first one in the lowest place; zeros fill the last word.

    Everything that is not 0 counts as 1. `unpacked` is the inverse.
    """
    return _words(np.packbits(bits, axis=-1, bitorder="little"))


def unpacked(words: UInt64[np.ndarray, "*rows words"], n: int) -> UInt8[np.ndarray, "*rows n"]:
    """The first n bits of every row."""
    return np.unpackbits(words.view(np.uint8), axis=-1, count=n, bitorder="little")


def rademacher(rng: np.random.Generator, rows: int, *shape: int) -> Int8[np.ndarray, "rows *shape"]:
    """Independent uniform signs -1 and +1; the rows are drawn as those of `random_bits`."""
    bits = random_bits(rng, rows, int(np.prod(shape)))
    return (2 * bits.view(np.int8) - 1).reshape(rows, *shape)


def _random_octets(
    rng: np.random.Generator, rows: int, count: int
) -> UInt8[np.ndarray, "rows octets"]:
    words = rng.integers(0, 2**64, size=(rows, -(-count // 64)), dtype=np.uint64)
    return words.astype("<u8", copy=False).view(np.uint8)


def _words(octets: UInt8[np.ndarray, "*rows octets"]) -> UInt64[np.ndarray, "*rows words"]:
    *rows, count = octets.shape
    whole = np.zeros((*rows, -(-count // 8) * 8), np.uint8)
    whole[..., :count] = octets
    return whole.view("<u8")
