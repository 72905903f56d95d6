import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.transformer import (
    final_weights,
    gram_form,
    implicit_weights,
    spectral_form,
    token_form,
)
from attnlab.linear.models.weights import DiagWeights, FullWeights, GDPlusPlus, Omegas
from attnlab.linear.problem import context_with_spectrum
from tests.linear.prompts import diag_weights, difference, full_weights, gram_matrix, prompt

pytestmark = pytest.mark.usefixtures("double_precision")


def attention(weights, X, y, queries):
    """The layers literally: every token attends to the n context tokens, head by head, in NumPy."""
    tokens = np.block([[X, y[:, None]], [queries, np.zeros((len(queries), 1))]])
    n = len(X)
    for P, Q in zip(np.asarray(weights.P), np.asarray(weights.Q), strict=True):
        scores = [tokens @ Q_k.T @ tokens[:n].T for Q_k in Q]
        tokens = tokens + sum(s @ tokens[:n] @ P_k.T for s, P_k in zip(scores, P, strict=True))
    return -tokens[n:, -1]


def queries_of(seed, count=5):
    return jnp.asarray(np.random.default_rng(seed).standard_normal((count, 4)))


@pytest.mark.parametrize(("heads", "depth"), [(1, 1), (3, 7)])
def test_gram_form_equals_token_form_and_attention(seed, heads, depth):
    X, y, *_ = prompt(seed)
    G, queries = jnp.asarray(gram_matrix(seed)), queries_of(seed)
    for weights in (full_weights(seed, depth, heads), diag_weights(seed, depth, heads)):
        tokens, trace = token_form(weights, X, y, queries), gram_form(weights, G)
        assert tokens.predictions.shape == (depth + 1, 5)
        w = np.asarray(implicit_weights(weights, G))
        assert difference(w @ np.asarray(queries).T, tokens.predictions) < 1e-12
        context = np.asarray(tokens.context)
        assert difference(np.einsum("lia,lib->lab", context, context), trace.G) < 1e-12
        full = weights if isinstance(weights, FullWeights) else weights.full(4)
        literal = attention(full, np.asarray(X), np.asarray(y), np.asarray(queries))
        assert difference(tokens.predictions[-1], literal) < 1e-12


def test_final_weights_are_the_last_of_all_weights(seed):
    weights, G = full_weights(seed, 7, 3), jnp.asarray(gram_matrix(seed))
    last = implicit_weights(weights, G)[-1]
    for unroll in (1, True):
        assert difference(final_weights(weights, G, unroll), last) < 1e-12


def test_the_families_contain_each_other(seed):
    G = jnp.asarray(gram_matrix(seed))
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
    # Networks of one shape share a compiled program, so each of them runs once.
    networks = {id(weights): weights for pair in pairs for weights in pair}
    found = {name: implicit_weights(weights, G) for name, weights in networks.items()}
    for left, right in pairs:
        assert difference(found[id(left)], found[id(right)]) < 1e-12
    assert descent.full(4).heads == descent.diag().heads == 1
    assert heads.full(4).heads == heads.heads == 3
    assert {w.depth for pair in pairs for w in pair} == {4}


def test_one_head_obeys_the_constraint_and_two_do_not(seed):
    for heads in (1, 2):
        omegas = diag_weights(seed, 50, heads).omegas()
        size = np.abs(omegas.xx * omegas.yy) + np.abs(omegas.xy * omegas.yx)
        broken = np.abs(omegas.constraint()) > 1e-12 * size
        assert broken.sum() == (0 if heads == 1 else 50)
    np.testing.assert_allclose(np.linalg.det(omegas.matrix()), omegas.constraint(), atol=1e-14)


def test_spectral_form_equals_both_others_for_gd_plus_plus(seed):
    X, y, *_ = prompt(seed)
    G = gram_matrix(seed)
    omegas = diag_weights(seed, 4, 3).omegas()
    weights = GDPlusPlus(omegas.xx, omegas.yx)
    s, V = np.linalg.eigh(G[:-1, :-1])
    m, f = spectral_form(weights, jnp.asarray(s))
    w_star = np.linalg.solve(G[:-1, :-1], G[:-1, -1])
    w = np.einsum("ij,lj,j->li", V, f, V.T @ w_star)
    # w* and the eigenbasis are known to about the condition number times a rounding.
    assert difference(w, token_form(weights, X, y, jnp.eye(4)).predictions) < 1e-10
    trace = gram_form(weights, jnp.asarray(G))
    assert difference(w, -trace.R[:, -1, :-1]) < 1e-10
    assert difference(np.einsum("ij,lj,kj->lik", V, m, V), trace.R[:, :-1, :-1]) < 1e-12


def test_queries_are_answered_alone_and_change_nothing(seed):
    X, y, *_ = prompt(seed)
    weights, queries = full_weights(seed, 7, 3), np.asarray(queries_of(seed))
    together = token_form(weights, X, y, jnp.asarray(queries))
    # Five copies of one query: the program of five queries is compiled already.
    alone = token_form(weights, X, y, jnp.asarray(np.repeat(queries[2:3], 5, axis=0)))
    assert difference(alone.queries[:, 0], together.queries[:, 2]) < 1e-14
    assert difference(alone.context, together.context) < 1e-14


def test_the_dtype_of_the_inputs_is_kept_and_float32_agrees_to_its_precision(seed):
    X, y, query, *_ = prompt(seed)
    weights = full_weights(seed, 7, 3)
    single = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf), "float32"), (weights, X, y))
    tokens = token_form(*single, jnp.asarray(np.asarray(query)[None], "float32"))
    assert tokens.context.dtype == tokens.predictions.dtype == "float32"
    reference = token_form(weights, X, y, queries_of(seed))
    assert reference.context.dtype == "float64"
    assert 1e-9 < difference(tokens.context, reference.context) < 1e-4


def test_a_population_is_a_leading_axis(seed):
    G = jnp.asarray(gram_matrix(seed))
    members = [full_weights(seed + i, 7, 3) for i in range(4)]
    population = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *members)
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
        run(full_weights(other, 7, 3), jnp.asarray(gram_matrix(other)))
    assert len(traced) == 1


def test_a_chosen_spectrum_is_met(seed):
    s = jnp.array([1e-3, 0.5, 2.0, 1e3])
    X = context_with_spectrum(jax.random.key(seed), s, 9)
    # Squared singular values are known to the condition number, 1e6, times some roundings.
    np.testing.assert_allclose(np.linalg.svd(X)[1][::-1] ** 2, s, rtol=1e-12 * 1e6)
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
