"""The fused kernels, interpreted on this machine, against the plain encoder."""

import dataclasses
import re
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy_encoder as oracle
import pytest
from numpy_encoder import generator

from attnlab.errors import UserError
from attnlab.models.encoder import EncoderShape, batch_loss_and_gradient, encode_batch
from attnlab.models.encoder_init import initialise
from attnlab.models.fused_encoder import encode
from attnlab.models.kernel_parts import Program, Programs

SHAPE = EncoderShape(d=16, rank=4, mlp=24)
# Two programs of points and of hidden neurons at least, and sums of two parts.
SMALL = Program(points=32, tile=16, splits=2)
# Interpreted kernels are long programs on little data.
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
PROGRAMS = Programs(SMALL, SMALL, SMALL, SMALL, SMALL)


def sequences(seed, count, n):
    X = generator(seed).standard_normal((count, n, SHAPE.d))
    return jnp.asarray(X / np.linalg.norm(X, axis=2, keepdims=True), jnp.float32)


def drawn(shape, seed):
    """As `numpy_encoder.perturbed`, in float32."""
    rng = generator(seed)
    model = eqx.filter_eval_shape(initialise, shape, jax.random.key(0), jnp.float32)
    return jax.tree.map(
        lambda leaf: jnp.asarray(0.5 * rng.standard_normal(leaf.shape), jnp.float32), model
    )


def away_from_kinks(model, X):
    """`model`, of one block, with every neuron's bias in the widest gap between the middle half of
    the points: no rounding takes a point to the other side of a ReLU."""
    block = model.blocks[0]
    z = jax.jit(lambda x: dataclasses.replace(block, mlp=None)(x))(X.T)
    pre = np.sort(np.asarray(block.mlp.up @ z.reshape(len(z), -1)), axis=1)
    few = pre.shape[1] // 4
    pre = pre[:, few:-few]
    at = np.argmax(np.diff(pre, axis=1), axis=1)[:, None]
    middle = (np.take_along_axis(pre, at, 1) + np.take_along_axis(pre, at + 1, 1)) / 2
    bias = jnp.asarray(-middle[:, 0], jnp.float32)
    return eqx.tree_at(lambda m: m.blocks[0].mlp.up_bias, model, bias)


def as_vector(tree):
    return jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(tree)])


def relative(tree, expected):
    left, right = as_vector(tree), as_vector(expected)
    return float(jnp.linalg.norm(left - right) / jnp.linalg.norm(right))


def with_derivatives(function):
    """Output, and the derivatives of <output, G> for the model and for X."""

    @partial(jax.jit, compiler_options=QUICKLY)
    def run(model, X, G):
        def weighted(both):
            out = function(*both)
            return jnp.sum(out * G), out

        (_, out), derivatives = eqx.filter_value_and_grad(weighted, has_aux=True)((model, X))
        return out, *derivatives

    return run


plain = with_derivatives(encode_batch)
exact = with_derivatives(lambda model, X: encode(model, X, jnp.float32, PROGRAMS))
rough = with_derivatives(lambda model, X: encode(model, X, jnp.bfloat16, PROGRAMS))


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (16, {"rank": 1}),
        (4, {"width_multiplier": 2, "norm": "rms", "self_mask": True}),
        (64, {"rank": 16, "norm": "none"}),
    ],
    ids=["rank 1", "groups, rms, masked", "full rank, no norm"],
)
def test_the_kernels_and_their_derivatives_are_those_of_the_plain_encoder(seed, n, options):
    # Not a whole number of blocks.
    X, G = sequences(seed, 80 // n + 1, n), sequences(seed + 1, 80 // n + 1, n)
    model = drawn(dataclasses.replace(SHAPE, **options), seed)
    model = away_from_kinks(model, X)
    out, by_model, by_input = exact(model, X, G)
    definition = oracle.encoder(jax.tree.map(np.asarray, model), np.asarray(X[0]))
    assert relative(out[0], jnp.asarray(definition)) < 1e-5
    expected, model_gradient, input_gradient = plain(model, X, G)
    assert relative(out, expected) < 1e-5
    assert relative(by_input, input_gradient) < 1e-5
    size = float(jnp.linalg.norm(as_vector(model_gradient)))
    for left, right in zip(*map(jax.tree.leaves, (by_model, model_gradient)), strict=True):
        assert left.shape == right.shape
        assert float(jnp.linalg.norm(left - right)) < 1e-5 * size
    if options.get("rank") == 1:
        coarse = rough(model, X, G)
        # Twelve products lead to a derivative, both factors of each rounded by at most 2^-9.
        for left, right in zip(coarse, (expected, model_gradient, input_gradient), strict=True):
            assert 1e-5 < relative(left, right) < 12 * 2 * 2.0**-9


def test_a_population_trains_in_a_scan_through_the_encoder(seed):
    shape = dataclasses.replace(SHAPE, matmul="bfloat16", products="fused", bias=False)
    X = sequences(seed, 3, 4)
    members = [drawn(shape, seed + i) for i in range(2)]
    population = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)

    def step(model, _):
        loss, gradient = batch_loss_and_gradient(model, X, jnp.roll(X, 1, axis=1))
        return jax.tree.map(lambda leaf, slope: leaf - 0.01 * slope, model, gradient), loss

    def train(model):
        return jax.lax.scan(step, model, length=2)

    together = jax.jit(jax.vmap(train), compiler_options=QUICKLY)(population)
    alone = jax.jit(train, compiler_options=QUICKLY)
    for i, member in enumerate(members):
        model, losses = alone(member)
        assert relative(jax.tree.map(lambda leaf, i=i: leaf[i], together), (model, losses)) < 1e-5
        assert relative(model, member) > 0
        slow = dataclasses.replace(shape, products="auto")
        expected = jax.tree.leaves(alone(dataclasses.replace(member, shape=slow)))
        assert abs(float(losses[0] - expected[-1][0])) < 24 * 2.0**-9 * float(losses[0])


@pytest.mark.parametrize(("rank", "multiplier"), [(1, 1), (8, 8), (64, 1)])
def test_the_kernels_of_the_paper_are_lowered_for_a_gpu(rank, multiplier):
    shape = EncoderShape(
        rank=rank, width_multiplier=multiplier, matmul="bfloat16", products="fused"
    )
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), 5))
    models = jax.eval_shape(jax.vmap(lambda key: initialise(shape, key, jnp.float32)), keys)
    X = jax.ShapeDtypeStruct((5, 256, 16, 64), jnp.float32)
    traced = jax.jit(jax.vmap(batch_loss_and_gradient)).trace(models, X, X)
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert len(re.findall(r"custom_call @\S*triton\(", text)) == 5


def test_what_the_kernels_cannot_compute_is_refused():
    fused = {"matmul": "bfloat16", "products": "fused"}
    with pytest.raises(UserError, match=r"^matmul must be 'bfloat16' for fused products, got 'fl"):
        EncoderShape(products="fused")
    for d in (8, 48, 256):
        with pytest.raises(UserError, match=rf"^the width must be a power of two .* got {d}\.$"):
            EncoderShape(d=d, rank=4, **fused)
    model = drawn(dataclasses.replace(SHAPE, **fused), 0)
    for n in (5, 128):
        with pytest.raises(UserError, match=rf"^X must hold a power of two of points.* got {n}\."):
            encode_batch(model, sequences(0, 1, n))
