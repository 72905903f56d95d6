import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation.rademacher import (
    generators,
    packed,
    rademacher,
    random_bits,
    random_words,
    unpacked,
)
from attnlab.stats import agreement


def test_drawing_in_parts_gives_the_same_signs(seed):
    (whole,), (parts,) = generators(seed, 1), generators(seed, 1)
    together = rademacher(whole, 10, 3, 7)
    split = np.concatenate([rademacher(parts, size, 3, 7) for size in (1, 4, 5)])
    np.testing.assert_array_equal(together, split)
    (bits,) = generators(seed, 1)
    np.testing.assert_array_equal(random_bits(bits, 10, 21), (together > 0).reshape(10, 21))


@pytest.mark.parametrize("n", [1, 7, 8, 64, 65, 72, 100, 128, 136])
def test_words_hold_the_bits_of_the_same_draws(n, seed):
    (first,), (second,) = generators(seed, 1), generators(seed, 1)
    bits = random_bits(first, 5, 3 * n).reshape(5, 3, n)
    words = random_words(second, 5, 3, n)
    np.testing.assert_array_equal(words, packed(bits))
    np.testing.assert_array_equal(unpacked(words, n), bits)
    assert words.shape == (5, 3, -(-n // 64))
    np.testing.assert_array_equal(np.bitwise_count(words).sum(axis=2), bits.sum(axis=2))


def test_signs_are_fair_at_every_position_and_in_every_pair(seed):
    # 130 positions and 129 neighbouring pairs: 259 comparisons, familywise 1e-6.
    (rng,) = generators(seed, 1)
    signs = rademacher(rng, 2000, 130)
    assert signs.dtype == np.int8
    assert set(np.unique(signs)) == {-1, 1}
    counts = [*(signs > 0).sum(axis=0), *(signs[:, 1:] == signs[:, :-1]).sum(axis=0)]
    assert agreement([int(c) for c in counts], 2000, [0.5] * 259).agrees


def test_generators_of_one_seed_differ_and_repeat():
    first, second = generators(5, 2)
    again, _ = generators(5, 2)
    a, b, c = (rademacher(rng, 4, 64) for rng in (first, second, again))
    np.testing.assert_array_equal(a, c)
    assert (a != b).any()
    with pytest.raises(UserError, match=r"^seed must be an integer of at least 0, got -3\.$"):
        generators(-3, 1)
