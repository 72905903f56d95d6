import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.transformer import (
    final_weights,
    gram_form,
    implicit_weights,
    predict,
    spectral_form,
    token_form,
)
from attnlab.linear.models.weights import DiagWeights, FullWeights, GDPlusPlus, Omegas
from attnlab.linear.problem import context_with_spectrum, gram
from tests.linear.prompts import diag_weights, full_weights, prompt

pytestmark = pytest.mark.usefixtures("double_precision")


def difference(left, right):
    return float(jnp.abs(left - right).max() / jnp.abs(right).max())


def attention(weights, X, y, queries):
    """The layers literally: every token attends to the n context tokens, head by head, in NumPy."""
    tokens = np.block([[X, y[:, None]], [queries, np.zeros((len(queries), 1))]])
    n = len(X)
    for P, Q in zip(np.asarray(weights.P), np.asarray(weights.Q), strict=True):
        scores = [tokens @ Q_k.T @ tokens[:n].T for Q_k in Q]
        tokens = tokens + sum(s @ tokens[:n] @ P_k.T for s, P_k in zip(scores, P, strict=True))
    return -tokens[n:, -1]


@pytest.mark.parametrize(("heads", "depth"), [(1, 1), (1, 7), (2, 4), (3, 7)])
def test_gram_form_equals_token_form_and_attention(seed, heads, depth):
    X, y, *_ = prompt(seed)
    queries = jax.random.normal(jax.random.key(seed), (5, 4))
    for weights in (full_weights(seed, depth, heads), diag_weights(seed, depth, heads)):
        tokens = token_form(weights, X, y, queries)
        trace, w = gram_form(weights, gram(X, y)), implicit_weights(weights, gram(X, y))
        assert tokens.predictions.shape == (depth + 1, 5)
        assert difference(w @ queries.T, tokens.predictions) < 1e-12
        context = tokens.context
        assert difference(jnp.einsum("lia,lib->lab", context, context), trace.G) < 1e-12
        full = weights if isinstance(weights, FullWeights) else weights.full(4)
        literal = attention(full, np.asarray(X), np.asarray(y), np.asarray(queries))
        assert difference(tokens.predictions[-1], literal) < 1e-12
        assert difference(predict(weights, gram(X, y), queries), literal) < 1e-12


def test_final_weights_are_the_last_of_all_weights(seed):
    X, y, *_ = prompt(seed)
    weights, G = full_weights(seed, 6, 2), gram(X, y)
    for unroll in (1, True):
        assert (
            difference(final_weights(weights, G, unroll), implicit_weights(weights, G)[-1]) < 1e-12
        )


def test_the_families_contain_each_other(seed):
    G = gram(*prompt(seed)[:2])
    heads = diag_weights(seed, 4, 3)
    omegas = heads.omegas()
    one = diag_weights(seed, 4, 1)
    descent = GDPlusPlus(omegas.xx, omegas.yx)
    pairs = [
        (heads, heads.full(4)),
        (heads, omegas),
        (omegas, omegas.two_heads()),
        (omegas, omegas.full(4)),
        (one, one.omegas().nearest_head()),
        (descent, descent.diag()),
        (descent, descent.full(4)),
        (descent, descent.omegas()),
    ]
    for left, right in pairs:
        assert difference(implicit_weights(left, G), implicit_weights(right, G)) < 1e-12
    assert descent.full(4).heads == descent.diag().heads == 1
    assert heads.full(4).heads == heads.heads == 3
    assert {w.depth for pair in pairs for w in pair} == {4}


def test_one_head_obeys_the_constraint_and_two_do_not(seed):
    for heads in (1, 2):
        omegas = diag_weights(seed, 50, heads).omegas()
        size = jnp.abs(omegas.xx * omegas.yy) + jnp.abs(omegas.xy * omegas.yx)
        broken = jnp.abs(omegas.constraint()) > 1e-12 * size
        assert broken.sum() == (0 if heads == 1 else 50)
    np.testing.assert_allclose(jnp.linalg.det(omegas.matrix()), omegas.constraint(), atol=1e-14)


def test_spectral_form_equals_both_others_for_gd_plus_plus(seed):
    X, y, *_ = prompt(seed)
    G = gram(X, y)
    omegas = diag_weights(seed, 5, 2).omegas()
    weights = GDPlusPlus(omegas.xx, omegas.yx)
    s, V = jnp.linalg.eigh(G[:-1, :-1])
    m, f = spectral_form(weights, s)
    w_star = jnp.linalg.solve(G[:-1, :-1], G[:-1, -1])
    w = jnp.einsum("ij,lj,j->li", V, f, V.T @ w_star)
    assert difference(w, implicit_weights(weights, G)) < 1e-11
    tokens = token_form(weights, X, y, jnp.eye(4))
    assert difference(w, tokens.predictions) < 1e-11
    assert (
        difference(jnp.einsum("ij,lj,kj->lik", V, m, V), gram_form(weights, G).R[:, :-1, :-1])
        < 1e-12
    )


def test_queries_are_answered_alone_and_change_nothing(seed):
    X, y, *_ = prompt(seed)
    weights = full_weights(seed, 3, 2)
    queries = jax.random.normal(jax.random.key(seed), (7, 4))
    together = token_form(weights, X, y, queries)
    alone = token_form(weights, X, y, queries[2:3])
    assert difference(alone.queries[:, 0], together.queries[:, 2]) < 1e-14
    np.testing.assert_array_equal(alone.context, together.context)


def test_the_dtype_of_the_inputs_is_kept_and_float32_agrees_to_its_precision(seed):
    X, y, query, *_ = prompt(seed)
    weights = full_weights(seed, 4, 2)
    single = jax.tree.map(lambda leaf: leaf.astype("float32"), (weights, X, y, query))
    tokens = token_form(single[0], *single[1:3], single[3][None])
    w = implicit_weights(single[0], gram(*single[1:3]))
    assert tokens.context.dtype == tokens.predictions.dtype == w.dtype == "float32"
    reference = implicit_weights(weights, gram(X, y))
    assert reference.dtype == "float64"
    assert 1e-9 < difference(w, reference) < 1e-4


def test_a_population_is_a_leading_axis(seed):
    G = gram(*prompt(seed)[:2])
    members = [full_weights(seed + i, 3, 1) for i in range(4)]
    population = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
    together = jax.vmap(final_weights, (0, None))(population, G)
    for member, w in zip(members, together, strict=True):
        assert difference(w, final_weights(member, G)) < 1e-12


def test_equal_shapes_compile_once():
    traced = []

    @jax.jit
    def run(weights, G):
        traced.append(1)
        return final_weights(weights, G)

    for other in range(3):
        run(full_weights(other, 5, 2), gram(*prompt(other)[:2]))
    assert len(traced) == 1


def test_a_chosen_spectrum_is_met(seed):
    s = jnp.array([1e-3, 0.5, 2.0, 1e3])
    X = context_with_spectrum(jax.random.key(seed), s, 9)
    np.testing.assert_allclose(jnp.linalg.svd(X)[1][::-1] ** 2, s, rtol=1e-12 * 1e6)
    with pytest.raises(UserError, match=r"^n must be at least the number of eigenvalues, 4, got 3"):
        context_with_spectrum(jax.random.key(0), s, 3)


def test_wrong_shapes_are_named(unchecked):
    one, two = jnp.zeros((2, 1)), jnp.zeros((2, 2))
    with pytest.raises(UserError, match=r"^p_x, p_y, q_x and q_y must all have shape \(layers, h"):
        DiagWeights(one, one, one, two)
    with pytest.raises(UserError, match=r"^xx, xy, yx and yy must all have shape \(layers,\), got"):
        Omegas(one, one, one, one)
    with pytest.raises(UserError, match=r"^xx and yx must all have shape \(layers,\), got"):
        GDPlusPlus(one[0], two[0])
    with pytest.raises(
        UserError, match=r"^P and Q must both have shape \(layers, heads, d \+ 1, d"
    ):
        FullWeights(jnp.zeros((1, 1, 3, 3)), jnp.zeros((1, 1, 3, 4)))
