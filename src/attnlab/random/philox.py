"""Random words and normals by a counter: the same bits on every device.

Philox4x64-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011)
maps a key and a counter to a block of four 64-bit words. On the host the words come from NumPy's
C implementation, on an accelerator from the same function written in JAX, bit for bit equal. Both
turn a word into two normals by the formula of Box and Muller in float32, so that normals agree up
to the rounding of log, cos and sin.

Everything random in this paper is an array of rows. Block b of row i has the counter
(i blocks + b + 1, tile, stream, 0), so that a row depends neither on how many others are drawn nor
on how they are grouped, and a wide row drawn in tiles begins with the tiles of a narrow one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, UInt64

from attnlab import arguments

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray


class Stream(IntEnum):
    """What is drawn; different streams of one key are independent."""

    POOL = 0
    TRAIN_POOL = 1
    TRAIN_FRESH = 2
    TEST_POOL = 3
    TEST_FRESH = 4
    FULL_PROMPTS = 5
    WEIGHTS = 10
    NOISE = 11
    DIRECTION = 20


BLOCK = 4  # words
ROUNDS = 10
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
LOW = 0xFFFFFFFF
UNIT, TURN = np.float32(2.0**-32), np.float32(math.pi / 2**31)
# The host converts CHUNK words at a time, so that all intermediate arrays stay in the cache, RUN of
# these with one generator, and uses several threads from LARGE normals on.
CHUNK, RUN, LARGE = 2**14, 8, 2**20

Key = UInt64[Any, "2"]


def key_of(seed: int) -> Key:
    """The key of a seed: any integer of at least 0."""
    state = np.random.SeedSequence(arguments.integer("seed", seed, 0))
    return state.generate_state(2, np.uint64)


def key_of_jax(key: PRNGKeyArray) -> Any:
    """The same for a JAX key, inside compiled programs as well; needs 64-bit integers enabled.

    The second word keeps these keys apart from those of seeds.
    """
    import jax
    import jax.numpy as jnp

    words = jnp.ravel(jax.random.key_data(key)).astype(jnp.uint64)
    folded = words[0]
    for word in words[1:]:
        folded = (folded << jnp.uint64(32)) | word
    return jnp.stack([folded, jnp.uint64(WEYL[1])])


class HostWords:
    """Words of one tile of a stream, row after row from `start` on, by NumPy.

    NumPy adds 1 to the counter before its first block, hence the b + 1 in the counter of block b.
    """

    def __init__(self, key: Key, stream: int, tile: int, start: int, words: int) -> None:
        self.words, self.blocks = words, -(-words // BLOCK)
        counter = np.array([start * self.blocks, tile, stream, 0], np.uint64)
        self._generator = np.random.Philox(key=key, counter=counter)

    def take(self, count: int) -> UInt64[np.ndarray, "count words"]:
        """The next `count` rows."""
        found = self._generator.random_raw(count * self.blocks * BLOCK)
        return found.reshape(count, -1)[:, : self.words]


def device_words(key: Any, stream: Any, tile: Any, row: Any, words: int) -> Any:
    """The words of each row, by JAX; stream, tile and row are integers or arrays of one shape."""
    import jax
    import jax.numpy as jnp

    blocks = -(-words // BLOCK)
    whole = [jnp.asarray(value).astype(jnp.uint64)[..., None] for value in (stream, tile, row)]
    shape = (*max((value.shape[:-1] for value in whole), key=len), blocks)
    stream, tile, row = (jnp.broadcast_to(value, shape) for value in whole)
    step = jax.lax.broadcasted_iota(jnp.uint64, shape, len(shape) - 1)
    block = row * jnp.uint64(blocks) + step + jnp.uint64(1)
    found = philox((key[0], key[1]), (block, tile, stream, jnp.zeros_like(block)))
    # Without the barrier a GPU would compute all four words for each one that it writes.
    found = jnp.stack(jax.lax.optimization_barrier(found), axis=-1)
    return found.reshape(*shape[:-1], -1)[..., :words]


def philox(key: tuple[Any, Any], counter: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    """Philox4x64-10 on JAX arrays of uint64, elementwise."""
    import jax.numpy as jnp

    (k0, k1), (c0, c1, c2, c3) = (jnp.asarray(word) for word in key), counter
    for _ in range(ROUNDS):
        high0, low0 = _product(MULTIPLIERS[0], c0)
        high1, low1 = _product(MULTIPLIERS[1], c2)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + np.uint64(WEYL[0]), k1 + np.uint64(WEYL[1])
    return c0, c1, c2, c3


def _product(constant: int, x: Any) -> tuple[Any, Any]:
    """The high and the low 64 bits of constant x, from products of 32-bit halves."""
    low, half = np.uint64(LOW), np.uint64(32)
    m0, m1 = np.uint64(constant & LOW), np.uint64(constant >> 32)
    x0, x1 = x & low, x >> half
    first = m1 * x0 + ((m0 * x0) >> half)
    second = m0 * x1 + (first & low)
    return m1 * x1 + (first >> half) + (second >> half), np.uint64(constant) * x


def box_muller(xp: Any, words: Any, scale: Any = None) -> tuple[Any, Any]:
    """Two float32 normals for each word, times `scale`; `xp` is NumPy or jax.numpy.

    The low half of the word is u in (0, 1], the high half the angle in [-pi, pi), and the normals
    are sqrt(-2 log u) times its cosine and sine: at most 6.7, which 3e-11 of all normals exceed.
    """
    u = (words.astype(np.uint32).astype(np.float32) + np.float32(1)) * UNIT
    turns = (words >> np.uint64(32)).astype(np.uint32).view(np.int32)
    angle = turns.astype(np.float32) * TURN
    radius = xp.sqrt(np.float32(-2) * xp.log(u))
    if scale is not None:
        radius = radius * scale
    return radius * xp.cos(angle), radius * xp.sin(angle)


def row_normals(xp: Any, words: Any, width: int, dtype: Any) -> Any:
    """`width` normals for each row of words, the cosines before the sines."""
    return xp.concatenate(box_muller(xp, words), axis=-1)[..., :width].astype(dtype)


def host_normals(
    key: Key,
    stream: int,
    start: int,
    count: int,
    width: int,
    tile: int | None = None,
    dtype: Any = np.float32,
    scale: float = 1.0,
) -> Float[np.ndarray, "count width"]:
    """Rows of i.i.d. N(0, scale^2), by NumPy.

    Parameters
    ----------
    key, stream
        Which numbers: see the module.
    start, count
        The first row and how many.
    width
        Normals per row.
    tile
        Columns of one tile; a row of fewer columns is then the beginning of a row of more. Without
        it the whole row is one tile.
    dtype
        Type of the result; the normals are float32 values in any case.
    scale
        Standard deviation.
    """
    out = np.empty((count, width), dtype)
    across = width if tile is None else tile
    half = -(-across // 2)
    rows = max(CHUNK // half, 1)
    factor = None if scale == 1 else np.float32(scale)

    def fill(part: np.ndarray, first: int, column: int) -> None:
        source = HostWords(key, stream, column // across, start + first, half)
        for at in range(0, len(part), rows):
            some = part[at : at + rows]
            cosines, sines = box_muller(np, source.take(len(some)), factor)
            some[:, :half] = cosines[:, : some.shape[1]]
            some[:, half:] = sines[:, : max(some.shape[1] - half, 0)]

    calls = [
        (out[i : i + RUN * rows, j : j + across], i, j)
        for j in range(0, width, across)
        for i in range(0, count, RUN * rows)
    ]
    in_threads(fill, calls, count * width >= LARGE)
    return out


def device_normals(key: Any, stream: Any, row: Any, width: int, tile: int | None = None) -> Any:
    """The same rows by JAX, for an array of row numbers, in float32 and without a scale."""
    import jax.numpy as jnp

    across = width if tile is None else tile
    row = jnp.asarray(row)
    shape = (*row.shape, -(-width // across))
    tiles = jnp.broadcast_to(jnp.arange(shape[-1]).reshape((1,) * row.ndim + (-1,)), shape)
    rows = jnp.broadcast_to(row[..., None], shape)
    words = device_words(key, stream, tiles, rows, -(-across // 2))
    found = row_normals(jnp, words, across, jnp.float32)
    return found.reshape(*found.shape[:-2], -1)[..., :width]


def in_threads(
    call: Callable[..., None], arguments_of: Sequence[tuple[Any, ...]], several: bool
) -> None:
    """Make all calls, which do not depend on each other, in one thread or in several."""
    if not several:
        for each in arguments_of:
            call(*each)
        return
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 16)) as pool:
        list(pool.map(lambda each: call(*each), arguments_of))
