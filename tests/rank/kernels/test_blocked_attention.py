"""Attention in blocks of points, interpreted on this machine, against its plain form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.rank.kernels.blocked_attention import attend_blocks, attend_blocks_backward
from attnlab.rank.kernels.kernel_launch import Program, Programs
from attnlab.rank.kernels.row_encoder import encode_rows
from attnlab.rank.models.encoder_shape import EncoderShape
from attnlab.rank.models.head_products import attend
from tests.rank.models.numpy_encoder import difference, generator, perturbed
from tests.rank.quickly import quickly

pytestmark = pytest.mark.usefixtures("double_precision")

# Two blocks of points and two programs for the heads; rank 1 takes half of the rows.
SMALL = Program(rows=16, columns=16)
SCALE = 0.7


def normal(rng, *size):
    return jnp.asarray(rng.standard_normal(size))


def blocked(qkv, bias, g, self_mask):
    mixed, kept = attend_blocks(qkv, bias, SCALE, self_mask, SMALL)
    dqkv, sums = attend_blocks_backward(qkv, bias, mixed, kept, g, SCALE, self_mask, SMALL)
    return mixed, dqkv, jnp.sum(sums, axis=(0, 1))


def plain(qkv, bias, g, self_mask):
    def mix(qkv, bias):
        q, k, v = jnp.transpose(qkv, (2, 3, 4, 1, 0))
        biases = SCALE * bias[0], bias[1], bias[2]
        mixed = attend(SCALE * q, k, v, biases, "softmax", self_mask, "dot")
        return jnp.transpose(mixed, (3, 2, 0, 1))

    out, pull = jax.vjp(mix, qkv, bias)
    return out, *pull(g)


@pytest.mark.parametrize(
    ("rank", "self_mask"), [(1, False), (1, True), (8, False), (8, True), (16, True)]
)
def test_attention_in_blocks_and_its_derivative_are_the_plain_ones(seed, rank, self_mask):
    rng, heads = generator(seed), 32 // rank
    # Scores up to 50 and more: a sum of exponentials without their maximum would overflow.
    qkv = (
        normal(rng, 2, 32, 3, heads, rank) * jnp.asarray([8.0, 4.0, 1.0])[None, None, :, None, None]
    )
    given = qkv, normal(rng, 3, heads, rank), normal(rng, 2, 32, heads, rank)
    found = quickly(blocked, static_argnums=3)(*given, self_mask)
    expected = quickly(plain, static_argnums=3)(*given, self_mask)
    for left, right in zip(found, expected, strict=True):
        assert left.shape == right.shape
        assert difference(left, right) < 1e-11


def test_in_bfloat16_the_sums_are_float32(seed):
    rng = generator(seed)
    given = [normal(rng, 1, 32, *heads) for heads in ((3, 2, 8), (2, 8))]
    bias = normal(rng, 3, 2, 8)
    exact = quickly(plain, static_argnums=3)(given[0], bias, given[1], False)
    half = [array.astype(jnp.bfloat16) for array in given]
    found = quickly(blocked, static_argnums=3)(half[0], bias.astype(jnp.float32), half[1], False)
    assert [array.dtype for array in found] == [jnp.bfloat16, jnp.bfloat16, jnp.float32]
    for left, right in zip(found[:2], exact[:2], strict=True):
        error = np.linalg.norm(np.asarray(left, float) - right) / np.linalg.norm(right)
        # Four products lead to a derivative, both factors of each rounded by at most 2^-9; scores
        # of a few units turn a rounded factor into as many times the error of a weight.
        assert 1e-5 < error < 4 * 2 * 4 * 2.0**-9


def test_an_encoder_on_long_sequences_is_the_plain_one(seed):
    shape = EncoderShape(d=16, rank=16, mlp=16, layers=1)
    model = perturbed(shape, seed)
    X, G = (normal(generator(seed + i), 1, 64, 16) / 4 for i in (1, 2))
    programs = Programs(*[SMALL] * 7)

    def weighted(encode):
        def loss(model, X):
            out = encode(model, X)
            return jnp.sum(out * G), out

        return quickly(jax.grad(loss, (0, 1), has_aux=True))(model, X)

    found = weighted(lambda model, X: encode_rows(model, X, jnp.float64, programs))
    expected = weighted(lambda model, X: model.encode_batch(X))
    for left, right in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
        assert difference(left, right) < 1e-10


@pytest.mark.parametrize("rank", [1, 8])
def test_the_kernels_are_translated_for_a_gpu(monkeypatch, rank):
    # Triton's compiler is not here; the translation to its language is.
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    heads = 32 // rank, rank
    sizes = [
        jax.ShapeDtypeStruct((2, 64, 3, *heads), jnp.bfloat16),
        jax.ShapeDtypeStruct((3, *heads), jnp.float32),
        jax.ShapeDtypeStruct((2, 64, *heads), jnp.bfloat16),
    ]
    with jax.enable_x64(False):
        traced = jax.jit(lambda *given: blocked(*given, True)).trace(*sizes)
        translated = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert translated.count("triton") >= 2
