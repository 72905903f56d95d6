"""The generator: equal bits on host and device, normals of the right law, and nested arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats as laws

from attnlab.random import philox
from attnlab.random.philox import (
    HostWords,
    Stream,
    box_muller,
    device_normals,
    device_words,
    host_normals,
    key_of,
    key_of_jax,
)
from attnlab.stats import agreement

LEVEL = 1e-7  # of every statistical test here: all hold for all 100 seeds but with chance 1e-4
EPS = float(np.finfo(np.float32).eps)


@pytest.fixture(scope="module")
def normals(seed):
    """A million normals in rows of 1024, which are tiles of 128."""
    return host_normals(key_of(seed), Stream.NOISE, 0, 1024, 1024, tile=128).astype(float)


@pytest.mark.usefixtures("double_precision")
def test_the_device_has_numpys_bits_for_every_key_and_counter(seed):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, (50, 2), np.uint64)
    counters = rng.integers(0, 2**64, (50, 4), np.uint64)
    counters[0], counters[1] = 0, 2**64 - 1
    found = jax.jit(philox.philox)(tuple(keys.T), tuple(counters.T))
    for key, counter, words in zip(keys, counters, np.stack(found, 1), strict=True):
        number = sum(int(part) << (64 * i) for i, part in enumerate(counter))
        before = (number - 1) % 2**256  # NumPy adds 1 before the first block
        parts = [before >> (64 * i) & (2**64 - 1) for i in range(4)]
        generator = np.random.Philox(key=key, counter=np.array(parts, np.uint64))
        np.testing.assert_array_equal(words, generator.random_raw(4))


@pytest.mark.usefixtures("double_precision")
def test_rows_of_words_are_the_same_on_the_device(seed):
    key = key_of(seed)
    expected = HostWords(key, Stream.NOISE, 7, 5, 10).take(6)
    found = jax.jit(device_words, static_argnums=4)(key, Stream.NOISE, 7, 5 + np.arange(6), 10)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize(("width", "tile"), [(121, None), (200, 128)])
def test_host_and_device_normals_agree_to_a_few_roundings(width, tile, seed):
    key = key_of(seed)
    rows = 3 + np.arange(500)
    expected = host_normals(key, Stream.NOISE, 3, 500, width, tile)
    found = jax.jit(device_normals, static_argnums=(1, 3, 4))(key, Stream.NOISE, rows, width, tile)
    assert found.dtype == expected.dtype == np.float32
    # A radius of at most 6.7 and a cosine or sine, each right to a few units in the last place.
    np.testing.assert_allclose(found, expected, rtol=0, atol=16 * EPS * 6.7)
    assert np.mean(np.abs(found - expected)) < EPS


def test_the_extreme_words_give_finite_normals():
    words = np.array([0, 2**64 - 1, 2**63, 2**32 - 1, 2**32], np.uint64)
    found = np.stack(box_muller(np, words))
    assert np.isfinite(found).all()
    assert 6.6 < np.abs(found).max() < 6.7
    assert found.dtype == np.float32


def test_normals_have_the_moments_and_the_law_of_normals(normals):
    x = normals.ravel()
    z = -laws.norm.ppf(LEVEL / 2)
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        assert abs((x**power).mean() - mean) < z * (variance / x.size) ** 0.5
    assert laws.kstest(x, "norm").pvalue > LEVEL


def test_normals_have_the_tails_of_normals(normals):
    ends = (1.0, 2.0, 3.0, 4.0, 5.0)
    counts = [int((side * normals > end).sum()) for end in ends for side in (1, -1)]
    chances = np.repeat(laws.norm.sf(ends), 2)
    assert agreement(counts, normals.size, chances, level=LEVEL).agrees


def test_normals_of_one_word_of_neighbours_and_of_other_streams_are_independent(seed, normals):
    # Cosine and sine of a word stand half a tile apart, words of a block side by side.
    first = normals[:, :128]
    other = host_normals(key_of(seed), Stream.WEIGHTS, 0, 1024, 128).astype(float)
    next_seed = host_normals(key_of(seed + 1), Stream.NOISE, 0, 1024, 128, tile=128).astype(float)
    pairs = (
        (first[:, :64], first[:, 64:]),
        (first[:, :-1], first[:, 1:]),
        (first[:-1], first[1:]),
        (first, normals[:, 128:256]),
        (first, other),
        (first, next_seed),
    )
    z = -laws.norm.ppf(LEVEL / 2)
    for a, b in pairs:
        # Products of values, of squares and of signs of the larger ones have known variances.
        for f, variance in ((lambda v: v, 1.0), (lambda v: v**2 - 1, 4.0), (np.sign, 1.0)):
            assert abs((f(a) * f(b)).mean()) < z * (variance / a.size) ** 0.5


def test_parts_of_an_array_are_drawn_alone(seed):
    key = key_of(seed)
    whole = host_normals(key, Stream.NOISE, 0, 300, 300, tile=128)
    np.testing.assert_array_equal(host_normals(key, Stream.NOISE, 0, 300, 5, 128), whole[:, :5])
    np.testing.assert_array_equal(
        host_normals(key, Stream.NOISE, 130, 20, 200, 128), whole[130:150, :200]
    )


def test_threads_and_chunks_change_nothing(monkeypatch, seed):
    drawn = host_normals(key_of(seed), Stream.NOISE, 0, 70, 300, tile=128)
    monkeypatch.setattr(philox, "LARGE", 1)
    monkeypatch.setattr(philox, "CHUNK", 256)
    monkeypatch.setattr(philox, "RUN", 2)
    np.testing.assert_array_equal(
        host_normals(key_of(seed), Stream.NOISE, 0, 70, 300, tile=128), drawn
    )


def test_a_scale_is_the_standard_deviation(seed):
    plain = host_normals(key_of(seed), Stream.WEIGHTS, 0, 4, 9)
    scaled = host_normals(key_of(seed), Stream.WEIGHTS, 0, 4, 9, dtype=np.float64, scale=0.3)
    np.testing.assert_allclose(scaled, 0.3 * plain, rtol=4 * EPS)
    assert scaled.dtype == np.float64


def test_seeds_and_keys_have_keys_of_their_own():
    seeds = [tuple(key_of(seed).tolist()) for seed in (0, 1, 2**64, 2**200)]
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), 3)
        folded = [tuple(np.asarray(key_of_jax(key)).tolist()) for key in (*keys, jax.random.key(0))]
        raw = tuple(np.asarray(key_of_jax(jax.random.PRNGKey(0))).tolist())
    assert len({*seeds, *folded}) == 8
    assert raw == folded[-1]
    assert jnp.asarray(0.0).dtype == np.float32
