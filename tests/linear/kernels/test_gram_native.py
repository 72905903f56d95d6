"""The C++ kernel of FULL against plain JAX on the same sequences, and where it steps aside."""

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.linear.kernels import gram_native
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import Categorical, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.batches import noise_tables
from attnlab.linear.training.full_loss import FullLoss
from attnlab.linear.training.recipes import RegressionMember
from tests.linear.kernels.cuda_on_host import needs_compiler

LAWS = [Uniform(2), Categorical((1.0, 3.0, 5.0)), Uniform(0)]
PROBLEM = NoisyRegression(4, 9)
ROUNDING = 1e-4  # relative: float32 and thousands of terms


def population(seed, depth, d, scale=0.02):
    shape = (len(LAWS), depth, 1, d + 1, d + 1)
    P, Q = np.random.default_rng(seed).standard_normal((2, *shape)) * scale
    return jax.vmap(FullWeights)(jnp.asarray(P, jnp.float32), jnp.asarray(Q, jnp.float32))


def plain(weights, key, problem, batch, laws=LAWS, query=False):
    """Loss and gradient of every member by itself, which JAX computes."""
    noise = noise_tables(laws, jnp.float32)
    loss = jax.jit(jax.value_and_grad(FullLoss(problem, batch, query)))
    found = []
    for index in range(len(laws)):
        one, law = jax.tree.map(lambda part, i=index: part[i], (weights, noise))
        found.append(loss(one, key, RegressionMember(law, None, None)))
    return jax.tree.map(lambda *parts: jnp.stack(parts), *found)


def native(weights, key, problem, batch, laws=LAWS, query=False):
    assert gram_native.serves(weights, problem, batch)
    noise, data = noise_tables(laws, jnp.float32), jax.random.key_data(key)
    return gram_native.loss_and_gradient(weights, data, noise, problem, batch, query)


def assert_close(found, expected):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        a, b = np.asarray(one), np.asarray(other)
        assert np.abs(a - b).max() <= ROUNDING * np.abs(b).max()


@needs_compiler
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("batch", [1, 37, 700])
def test_it_has_the_loss_and_the_gradient_of_plain_jax(seed, depth, batch):
    weights, key = population(seed, depth, PROBLEM.d), jax.random.key(seed)
    found = native(weights, key, PROBLEM, batch)
    assert_close(found, plain(weights, key, PROBLEM, batch))


@needs_compiler
@pytest.mark.parametrize("depth", [1, 3])
def test_it_has_the_loss_at_one_query_per_sequence(seed, depth):
    problem = NoisyRegression(3, 12, variance=(1.0, 4.0, 0.25))
    weights, key = population(seed, depth, problem.d), jax.random.key(seed)
    found = native(weights, key, problem, 37, query=True)
    assert_close(found, plain(weights, key, problem, 37, query=True))


@needs_compiler
@pytest.mark.parametrize("d", [1, 15])
def test_narrow_and_wide_networks_are_served(seed, d):
    problem = NoisyRegression(d, 20)
    weights, key = population(seed, 3, d), jax.random.key(seed + 1)
    assert_close(native(weights, key, problem, 50), plain(weights, key, problem, 50))


@needs_compiler
def test_inputs_may_have_unequal_variances(seed):
    problem = NoisyRegression(3, 12, variance=(1.0, 4.0, 0.25))
    weights, key = population(seed, 2, 3), jax.random.key(seed)
    assert_close(native(weights, key, problem, 40), plain(weights, key, problem, 40))


@needs_compiler
def test_an_overflow_of_one_member_leaves_the_others_alone(seed):
    weights, key = population(seed, 3, PROBLEM.d), jax.random.key(seed)
    broken = jax.tree.map(lambda part: part.at[1].mul(1e20), weights)
    loss, gradient = native(broken, key, PROBLEM, 64)
    whole = native(weights, key, PROBLEM, 64)
    assert not np.isfinite(loss[1])
    for member in (0, 2):
        assert loss[member] == whole[0][member]
        assert np.array_equal(gradient.P[member], whole[1].P[member])


@needs_compiler
def test_a_population_of_one_program_is_computed_by_it(monkeypatch, seed):
    weights, key = population(seed, 2, PROBLEM.d), jax.random.key(seed)
    expected = plain(weights, key, PROBLEM, 32)
    used = []
    kernel = gram_native.loss_and_gradient
    monkeypatch.setattr(
        gram_native, "loss_and_gradient", lambda *given: used.append(1) or kernel(*given)
    )
    loss = jax.value_and_grad(FullLoss(PROBLEM, 32))
    member = RegressionMember(noise_tables(LAWS, jnp.float32), None, None)
    assert_close(jax.vmap(loss, (0, None, 0))(weights, key, member), expected)
    assert len(used) == 1
    at_query = jax.value_and_grad(FullLoss(PROBLEM, 32, query=True))
    found = jax.vmap(at_query, (0, None, 0))(weights, key, member)
    assert_close(found, plain(weights, key, PROBLEM, 32, query=True))
    assert len(used) == 2
    # Members with keys of their own have other sequences each, which plain JAX draws.
    keys = jnp.stack([key] * len(LAWS))
    assert_close(jax.vmap(loss)(weights, keys, member), expected)
    assert len(used) == 2


def test_what_it_does_not_compute_goes_to_plain_jax():
    weights = population(0, 2, PROBLEM.d)
    wide = population(0, 2, 16)
    two_heads = jax.tree.map(lambda part: jnp.repeat(part, 2, axis=2), weights)
    # Converted by NumPy: XLA has no such conversion for processors without half precision.
    half = jax.tree.map(lambda part: jnp.asarray(np.asarray(part, np.float16)), weights)
    assert not gram_native.serves(wide, NoisyRegression(16, 8), 8)
    assert not gram_native.serves(two_heads, PROBLEM, 8)
    assert not gram_native.serves(half, PROBLEM, 8)
    assert not gram_native.serves(weights, PROBLEM, 2**31)


@pytest.fixture
def no_compiler(monkeypatch):
    """A machine without a C++ compiler."""
    monkeypatch.setattr(gram_native, "FOR_THIS_PROCESSOR", ("no-such-compiler",))
    gram_native._target.cache_clear()
    yield
    gram_native._target.cache_clear()


def test_without_a_compiler_plain_jax_computes_and_says_why(no_compiler, monkeypatch, seed):
    weights, key = population(seed, 2, PROBLEM.d), jax.random.key(seed)
    member = RegressionMember(noise_tables(LAWS, jnp.float32), None, None)
    monkeypatch.delattr(gram_native, "loss_and_gradient")
    with pytest.warns(RuntimeWarning, match="without their C\\+\\+ kernel.*no-such-compiler"):
        assert not gram_native.serves(weights, PROBLEM, 24)
    loss = jax.value_and_grad(FullLoss(PROBLEM, 24))
    found = jax.vmap(loss, (0, None, 0))(weights, key, member)
    assert_close(found, plain(weights, key, PROBLEM, 24))


@pytest.mark.parametrize(
    "other", [lambda: jax.default_prng_impl("rbg"), lambda: jax.threefry_partitionable(False)]
)
def test_other_random_numbers_than_the_usual_ones_are_left_to_jax(other):
    with other():
        assert not gram_native.serves(population(0, 2, PROBLEM.d), PROBLEM, 8)


@needs_compiler
def test_asked_again_the_kernel_is_found_again():
    # JAX refuses a second registration under one name.
    first = gram_native._target(PROBLEM.d + 1)
    gram_native._target.cache_clear()
    assert first is not None
    assert gram_native._target(PROBLEM.d + 1) == first


SCRIPT = """
import os, jax, numpy as np
from tests.linear.kernels.test_gram_native import PROBLEM, native, population
loss, gradient = native(population(3, 3, PROBLEM.d), jax.random.key(3), PROBLEM, 700)
print(b"".join(np.asarray(part).tobytes() for part in (loss, gradient.P, gradient.Q)).hex())
print(len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else None)
"""
ROOT = Path(__file__).parents[3]


@needs_compiler
def test_the_number_of_threads_does_not_change_a_bit(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")

    def computed(threads):
        monkeypatch.setenv("PJRT_NPROC", str(threads))
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, cwd=ROOT
        )
        return done.stdout.split()

    (one, few), (other, more) = computed(1), computed(3)
    assert one == other
    assert few == "None" or int(few) < int(more)
