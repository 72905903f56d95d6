"""The GPU kernels of the encoder, interpreted on this machine, against its plain form."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.rank.kernels import row_encoder
from attnlab.rank.kernels.attention_pallas import attend_rows, attend_rows_backward
from attnlab.rank.kernels.kernel_launch import Program, Programs, tile_of
from attnlab.rank.kernels.norm_pallas import residual_norm, residual_norm_backward
from attnlab.rank.kernels.perceptron_pallas import perceptron, perceptron_backward
from attnlab.rank.kernels.row_encoder import encode_rows, serves
from attnlab.rank.models.encoder import batch_loss
from attnlab.rank.models.encoder_shape import EncoderShape
from attnlab.rank.models.head_products import attend
from tests.rank.models import numpy_encoder as oracle
from tests.rank.models.numpy_encoder import difference, generator, perturbed
from tests.rank.quickly import quickly

pytestmark = pytest.mark.usefixtures("double_precision")


SHAPE = EncoderShape(d=16, rank=4, mlp=48, matmul="bfloat16")
# Two programs at least along every axis.
SMALL = Program(rows=16, columns=16)
HALVES = Program(rows=16, columns=16, splits=2)
PROGRAMS = Programs(*[SMALL] * 4, HALVES)


def normal(rng, *size):
    return jnp.asarray(rng.standard_normal(size))


def sequences(seed, count=3, n=16):
    X = normal(generator(seed + 3000), count, n, SHAPE.d)
    return X / jnp.linalg.norm(X, axis=2, keepdims=True)


def agree(found, expected, tolerance=1e-11):
    for left, right in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
        assert left.shape == right.shape
        assert difference(left, right) < tolerance


def test_a_perceptron_that_can_be_read_off():
    # W_1 is the identity above its negative and W_2 takes the difference, so that the perceptron
    # is the identity.
    x = jnp.asarray(np.linspace(-1, 1, 32 * 16).reshape(32, 16))
    up, bias = jnp.concatenate([jnp.eye(16), -jnp.eye(16)]), jnp.zeros(32)

    @quickly
    def run(x, up):
        derivatives = perceptron_backward(x, jnp.ones_like(x), up, bias, up.T, HALVES)
        return perceptron(x, up, bias, up.T, SMALL), derivatives

    y, (dx, dup, dbias, ddown) = run(x, up)
    x = np.asarray(x)
    np.testing.assert_allclose(y, x, atol=1e-15)
    np.testing.assert_allclose(dx, np.ones_like(x), atol=1e-15)
    signed = np.concatenate([x > 0, x < 0], axis=1) * np.repeat([1.0, -1.0], 16)
    np.testing.assert_array_equal(dbias, signed.sum(0))
    np.testing.assert_allclose(dup, signed.T @ x, atol=1e-13)
    by_neuron = (np.concatenate([x, x], axis=1) * signed).sum(0)
    np.testing.assert_allclose(ddown, np.broadcast_to(by_neuron, (16, 32)), atol=1e-13)


@pytest.mark.parametrize(("n", "rank", "self_mask"), [(16, 1, False), (8, 4, True), (16, 16, True)])
def test_attention_and_its_derivative_are_the_plain_ones(seed, n, rank, self_mask):
    rng = generator(seed)
    qkv, bias = normal(rng, 2, n, 3, 32 // rank, rank), normal(rng, 3, 32 // rank, rank)
    g, options = normal(rng, 2, n, 32 // rank, rank), (0.7, self_mask, SMALL)

    @quickly
    def run(qkv, bias, g):
        dqkv, sums = attend_rows_backward(qkv, bias, g, *options)
        return attend_rows(qkv, bias, *options), (dqkv, sums.sum(0))

    @quickly
    def plain(qkv, bias, g):
        def mix(qkv, bias):
            q, k, v = jnp.transpose(qkv, (2, 3, 4, 1, 0))
            biases = 0.7 * bias[0], bias[1], bias[2]
            mixed = attend(0.7 * q, k, v, biases, "softmax", self_mask, "dot")
            return jnp.transpose(mixed, (3, 2, 0, 1))

        out, pull = jax.vjp(mix, qkv, bias)
        return out, pull(g)

    agree(run(qkv, bias, g), plain(qkv, bias, g))


@pytest.mark.parametrize("norm", ["scalar", "rms", "none"])
def test_the_norm_of_a_residual_and_its_derivative_are_the_plain_ones(seed, norm):
    rng = generator(seed)
    x, y, g = (normal(rng, 48, 16) for _ in range(3))
    bias, gain = normal(rng, 16), normal(rng, 16 if norm == "rms" else 1)

    def plain(y, bias, gain):
        z = x + y + bias[None]
        if norm == "none":
            return z
        squares = jnp.sum(z**2, axis=1, keepdims=True)
        length = jnp.sqrt(squares / 16 + np.finfo(float).eps if norm == "rms" else squares)
        return z / length * gain[None]

    @quickly
    def run(x, y, bias, gain, g):
        z, exact, rounded = residual_norm(norm, x, y, bias, gain, jnp.bfloat16, SMALL)
        by_kernel = residual_norm_backward(norm, z, gain, (g / 4, 3 * g / 4), SMALL)
        out, pull = jax.vjp(plain, y, bias, gain)
        return (exact, rounded, by_kernel), (out, pull(g))

    (exact, rounded, (dz, rounded_dz, *by_norm)), (out, derivatives) = run(x, y, bias, gain, g)
    agree(exact, out)
    np.testing.assert_array_equal(rounded, exact.astype(jnp.bfloat16))
    agree(rounded_dz, dz)
    agree((dz, *by_norm), derivatives)


def test_the_norm_of_a_zero_is_zero_and_so_is_its_derivative():
    zero, one = jnp.zeros((16, 16)), jnp.ones(1)

    @quickly
    def run(zero, one):
        _, out, _ = residual_norm("scalar", zero, zero, zero[0], one, jnp.float64, SMALL)
        return out, residual_norm_backward("scalar", zero, one, (zero, zero), SMALL)[0]

    out, dz = run(zero, one)
    assert not np.any(out)
    assert not np.any(dz)


def with_derivatives(function):
    """Output, and the derivatives of <output, G> for the models of a population and for X."""

    @quickly
    def run(models, X, G):
        def weighted(models, X):
            out = jax.vmap(function, (0, None))(models, X)
            return jnp.sum(out * G[None]), out

        derivatives, out = jax.grad(weighted, (0, 1), has_aux=True)(models, X)
        return out, *derivatives

    return run


exact = with_derivatives(lambda model, X: encode_rows(model, X, jnp.float64, PROGRAMS))
rough = with_derivatives(lambda model, X: encode_rows(model, X, jnp.bfloat16, PROGRAMS))
plain = with_derivatives(lambda model, X: model.encode_batch(X))


def population(shape, seed):
    members = [perturbed(shape, seed + i) for i in range(2)]
    return members, jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)


EXACT = dataclasses.replace(SHAPE, matmul="float32")


@pytest.mark.parametrize(
    "shape",
    [
        EXACT,
        EncoderShape(d=16, rank=1, norm="rms", width_multiplier=2, bias=False, mlp=0),
    ],
    ids=["rank 4", "rank 1, groups, rms, no bias, no perceptron"],
)
def test_a_population_through_the_kernels_is_the_plain_population(seed, shape):
    X, G = sequences(seed), sequences(seed + 1)
    members, models = population(shape, seed)
    found = exact(models, X, G)
    assert difference(found[0][1, 0], oracle.encoder(members[1], np.asarray(X[0]))) < 1e-10
    agree(found, plain(models, X, G), 1e-10)


def test_bfloat16_agrees_to_its_precision(seed):
    X, G = sequences(seed), sequences(seed + 1)
    _, models = population(EXACT, seed)
    expected = exact(models, X, G)
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), (models, X, G))
    for found, right in zip(rough(*single), expected, strict=True):
        found, right = (
            jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(tree)])
            for tree in (found, right)
        )
        assert found.dtype == jnp.float32
        error = jnp.linalg.norm(found - right) / jnp.linalg.norm(right)
        # Twelve products lead to a derivative, both factors of each rounded by at most 2^-9; twice
        # that, for the neurons near zero that rounding switches on or off.
        assert 1e-5 < float(error) < 2 * 12 * 2 * 2.0**-9


def test_a_batch_goes_through_the_kernels_where_they_serve_it(seed, monkeypatch):
    X, T = (array.astype(jnp.float32) for array in (sequences(seed), sequences(seed + 1)))
    model = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), perturbed(SHAPE, seed))
    assert not row_encoder.chosen(SHAPE, X), "this machine has no GPU"
    assert not calls_kernels(batch_loss, model, X, T)
    expected = quickly(lambda *given: batch_loss(*given))(model, X, T)
    monkeypatch.setattr(row_encoder, "chosen", lambda shape, X: serves(shape, *X.shape[:2]))
    assert calls_kernels(batch_loss, model, X, T)
    assert calls_kernels(lambda model, X: model.encode_batch(X), model, X)
    assert calls_kernels(jax.grad(batch_loss), model, X, T)
    assert not calls_kernels(batch_loss, model, X[:, :5], T[:, :5])
    loss = quickly(lambda *given: batch_loss(*given))(model, X, T)
    assert abs(float(loss - expected)) < 6 * 2 * 2.0**-9 * float(expected)


def calls_kernels(function, *operands):
    # A function of its own: what was traced before is remembered.
    return "pallas_call" in str(jax.make_jaxpr(lambda *given: function(*given))(*operands))


def test_what_the_kernels_serve():
    paper = EncoderShape(matmul="bfloat16")
    for rank in (1, 2, 4, 8, 16, 32, 64):
        assert serves(dataclasses.replace(paper, rank=rank), 256, 16)
    low = dataclasses.replace(paper, rank=8, width_multiplier=3)
    assert serves(low, 256, 16)
    assert serves(low, 256, 4)
    assert serves(dataclasses.replace(paper, encoding="concatenated", length=16), 256, 16)
    for options in (
        {"matmul": "float32"},
        {"products": "dot"},
        {"d": 48, "rank": 1},
        {"d": 256},
        {"mlp": 2040},
    ):
        assert not serves(dataclasses.replace(paper, **options), 256, 16)
    assert not any(serves(paper, 256, n) for n in (4, 24, 48))
    assert all(serves(dataclasses.replace(paper, rank=r), 256, 256) for r in (1, 8, 64))
    assert serves(low, 256, 64)
    assert not serves(low, 3, 4)
    assert (tile_of(48, 64), tile_of(48, 8), tile_of(64, 64)) == (16, 8, 64)
