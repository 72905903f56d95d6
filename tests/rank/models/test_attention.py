import itertools
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.models import head_products
from attnlab.rank.models.affine import affine
from attnlab.rank.models.attention import (
    RankAttention,
    from_matrices,
    score_matrices,
    value_matrices,
)
from attnlab.rank.models.choices import SCORES
from attnlab.rank.models.head_products import attend
from tests.rank.models import numpy_encoder as oracle
from tests.rank.models.numpy_encoder import difference, generator, matrices, points
from tests.rank.quickly import OPTIONS, filter_quickly, quickly

pytestmark = pytest.mark.usefixtures("double_precision")


run = filter_quickly(lambda layer, X, Y=None: layer.attend(X, Y))


def random_biases(seed, heads=3, d=6, r=2):
    rng = generator(seed + 1000)
    names = ("query_bias", "key_bias", "value_bias")
    biases = {name: jnp.asarray(rng.standard_normal((heads, r))) for name in names}
    return {**biases, "output_bias": jnp.asarray(rng.standard_normal(d))}


def test_a_hardmax_head_of_full_rank_finds_the_nearest_point():
    # Fact 1: V = I, K Q^T = I. The answer is read off by hand.
    eye = jnp.eye(2)[None]
    layer = from_matrices(eye, eye, eye, eye, scores="hardmax")
    X = jnp.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    Y = jnp.array([[0.8, 0.6], [-0.8, 0.6], [0.6, 0.8]])
    tied = np.array([[1.0, 1.0]]) / np.sqrt(2.0)
    found = run(layer, X, jnp.concatenate([Y, tied]))
    np.testing.assert_array_equal(found[:3], np.asarray(X)[[0, 2, 1]])
    np.testing.assert_allclose(found[3], [0.5, 0.5])


@pytest.mark.parametrize("products", ["unrolled", "dot"])
@pytest.mark.parametrize("scores", SCORES)
def test_the_layer_is_its_definition(seed, scores, products):
    X = points(seed)
    options = {"scores": scores, "scale": 0.7, "groups": 3, "products": products}
    cases = itertools.product(
        ({}, random_biases(seed)), ((True, None), (False, points(seed + 7, 4)))
    )
    for biases, (self_mask, Y) in cases:
        layer = from_matrices(*matrices(seed), **biases, **options, self_mask=self_mask)
        assert difference(run(layer, X, Y), oracle.attention(layer, X, Y)) < 1e-10


def test_a_generalised_head_has_any_matrix_for_its_value(seed):
    Q, K, V, O = matrices(seed)  # noqa: E741
    X = points(seed)
    any_V = jnp.asarray(np.einsum("hdr,her->hde", O, V))
    low = run(from_matrices(Q, K, V, O), X)
    assert difference(run(from_matrices(Q, K, any_V, None), X), low) < 1e-12
    general = jnp.asarray(generator(seed + 1).standard_normal((3, 6, 6)))
    layer = from_matrices(Q, K, general, None, groups=3, output_bias=jnp.ones(6))
    assert difference(run(layer, X), oracle.attention(layer, X)) < 1e-10


def test_the_score_matrix_has_rank_r_and_gives_the_scores(seed):
    Q, K, V, O = matrices(seed)  # noqa: E741
    layer = from_matrices(Q, K, V, O, scale=0.5, scores="linear")
    M = np.asarray(filter_quickly(score_matrices)(layer))
    singular = np.linalg.svd(M, compute_uv=False)
    assert (singular[:, 2:] < 1e-13 * singular[:, :1]).all()
    assert (singular[:, 1] > 1e-6 * singular[:, 0]).all()
    X = np.asarray(points(seed))
    products = [np.asarray(V[h]) @ np.asarray(O[h]).T for h in range(3)]
    literal = sum(X @ M[h].T @ X.T @ X @ products[h] for h in range(3))
    assert difference(run(layer, jnp.asarray(X)), literal) < 1e-12
    values = np.asarray(filter_quickly(value_matrices)(layer))
    assert difference(values, np.swapaxes(products, 1, 2)) < 1e-13


@partial(jax.jit, static_argnums=(0, 1, 2), compiler_options=OPTIONS)
def pulled(scores, self_mask, products, qkv, g):
    return jax.vjp(lambda *qkv: attend(*qkv[:3], qkv[3:], scores, self_mask, products), *qkv)[1](g)


@pytest.mark.parametrize(
    ("scores", "self_mask"), [("softmax", True), ("hardmax", False), ("linear", True)]
)
def test_unrolled_and_dot_products_have_the_same_derivatives(seed, scores, self_mask, monkeypatch):
    # Two of the four heads at a time, as many heads are computed on a CPU.
    monkeypatch.setattr(head_products, "CACHE", 2 * 4 * 4 * 2 * 8)
    rng = generator(seed)
    sizes = [(4, 3, 4, 2)] * 3 + [(4, 3)] * 3 + [(4, 3, 4, 2)]
    *qkv, g = (jnp.asarray(rng.standard_normal(size)) for size in sizes)
    unrolled, dot = (pulled(scores, self_mask, kind, qkv, g) for kind in ("unrolled", "dot"))
    for left, right in zip(unrolled, dot, strict=True):
        assert difference(left, right) < 1e-12


def test_long_or_wide_heads_are_dot_products_and_short_ones_are_written_out():
    def primitives(r, n):
        x = jnp.zeros((1, r, n, 1))
        return str(jax.make_jaxpr(lambda x: attend(x, x, x))(x))

    assert "dot_general" not in primitives(8, 16)
    assert "dot_general" in primitives(8, 33)
    assert "dot_general" in primitives(17, 16)


def test_large_scores_and_masked_points_keep_everything_finite(seed):
    Q, K, V, O = matrices(seed)  # noqa: E741
    squares = filter_quickly(eqx.filter_value_and_grad(lambda a, X: jnp.sum(a.attend(X) ** 2)))
    for products in ("unrolled", "dot"):
        layer = from_matrices(1e4 * Q, K, V, O, self_mask=True, products=products)
        value, gradient = squares(layer, points(seed))
        assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves((value, gradient)))


def test_bfloat16_rounds_and_the_others_do_not_on_a_cpu(seed):
    rng = generator(seed)
    W, x = (jnp.asarray(rng.standard_normal(size)) for size in ((5, 6), (6, 3, 2)))
    kinds = ("float32", "tensorfloat32", "bfloat16")
    exact, single, rounded = filter_quickly(
        lambda W, x: [affine(W, jnp.ones(5), x, kind) for kind in kinds]
    )(W, x)
    # Seven sums of numbers below 100 in double precision.
    assert difference(exact, np.einsum("kd,dnb->knb", W, x) + 1) < 7 * 100 * 2.0**-52
    assert difference(single, exact) < 1e-6
    assert rounded.dtype == x.dtype
    # Three roundings to 8 bits, of two factors and of the result, on a sum of six products.
    bound = 3 * 2.0**-8 * float((jnp.abs(W) @ jnp.abs(x.reshape(6, -1))).max())
    assert 1e-6 < difference(rounded, exact) < bound


def test_torch_attention_with_the_same_weights_agrees(seed):
    torch = pytest.importorskip("torch")
    d, heads = 6, 3
    module = torch.nn.MultiheadAttention(d, heads, batch_first=True, dtype=torch.float64)
    Q, K, V = (jnp.asarray(part.detach().numpy()) for part in module.in_proj_weight.chunk(3))
    rng = generator(seed)
    bias = rng.standard_normal((3, heads, d // heads))
    with torch.no_grad():
        module.in_proj_bias.copy_(torch.tensor(bias.reshape(-1)))
    split = [array.reshape(heads, d // heads, d) for array in (Q, K, V)]
    O = jnp.asarray(module.out_proj.weight.detach().numpy()).T.reshape(heads, -1, d)  # noqa: E741
    layer = RankAttention(
        *split, O, *map(jnp.asarray, bias), jnp.zeros(d), scale=(d // heads) ** -0.5
    )
    X = points(seed)
    tokens = torch.tensor(np.asarray(X))[None]
    expected = module(tokens, tokens, tokens, need_weights=False)[0][0].detach().numpy()
    assert difference(run(layer, X), expected) < 1e-10


def test_wrong_shapes_and_options_are_named(unchecked):
    Q, K, V, O = matrices(0)  # noqa: E741
    X = points(0)
    with pytest.raises(UserError, match=r"^Q and K must both have shape \(heads, rank, d\), got"):
        from_matrices(Q, K[:2], V, O)
    with pytest.raises(UserError, match=r"^rank must be an integer from 1 to d = 6, got 7"):
        from_matrices(*[jnp.zeros((1, 6, 7))] * 4)
    with pytest.raises(UserError, match=r"^heads must be an integer of at least 1, got 0"):
        from_matrices(*[jnp.zeros((0, 6, 2))] * 4)
    with pytest.raises(UserError, match=r"^V and O must both have shape \(3, rank, 6\), got"):
        from_matrices(Q, K, V, O[:, :, :1])
    with pytest.raises(UserError, match=r"^V must have shape \(3, 6, 6\) where O is None, got"):
        from_matrices(Q, K, V, None)
    with pytest.raises(UserError, match=r"^scores must be one of 'softmax', 'hardmax', 'linear'"):
        from_matrices(Q, K, V, O, scores="sparsemax")
    with pytest.raises(UserError, match=r"^points must have the layer's dimension, 6, got 4"):
        from_matrices(Q, K, V, O).attend(X[:, :4])
    masked = from_matrices(Q, K, V, O, self_mask=True)
    with pytest.raises(UserError, match=r"^points must be at least 2 where a point may not"):
        masked.attend(X[:1])
    with pytest.raises(UserError, match=r"^self_mask must be False in cross-attention, got True"):
        masked.attend(X, X)


@pytest.mark.parametrize(
    "most",
    [pytest.param(4 * 6 * 6 * 3 * 8 // 2, id="heads"), pytest.param(2 * 6 * 3 * 8, id="queries")],
)
@pytest.mark.parametrize("scores", ["softmax", "linear"])
def test_blocks_of_heads_and_queries_change_nothing(seed, monkeypatch, most, scores):
    rng = np.random.default_rng(seed)
    q, k, v, g = (jnp.asarray(rng.standard_normal((4, 2, 6, 3))) for _ in range(4))

    def run():
        @quickly
        def both(q, k, v):
            mixed, pull = jax.vjp(
                lambda *arrays: attend(*arrays, scores=scores, self_mask=True, products="dot"),
                q, k, v,
            )  # fmt: skip
            return mixed, *pull(g)

        return both(q, k, v)

    whole = run()
    monkeypatch.setattr(head_products, "BLOCK", most)
    assert head_products.block_of(4, 6, 6, 3, 8) == ((2, 6) if most > 6 * 6 * 3 * 8 else (1, 2))
    for left, right in zip(run(), whole, strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-13)
