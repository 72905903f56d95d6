import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.linear.models import state
from attnlab.linear.models.transformer import gram_form, implicit_weights, token_form
from attnlab.linear.models.weights import Omegas
from attnlab.linear.problem import gram
from tests.linear.prompts import diag_weights, full_weights, prompt

pytestmark = pytest.mark.usefixtures("double_precision")


def difference(left, right):
    """The largest difference relative to the largest entry."""
    return float(jnp.abs(left - right).max() / jnp.abs(right).max())


@pytest.mark.parametrize(("n", "heads", "depth"), [(9, 1, 3), (2, 2, 4), (30, 3, 2)])
def test_the_state_describes_every_token_of_every_layer(seed, n, heads, depth):
    # n = 2 < d: Theorem 4.1 asks nothing of the context.
    X, y, query, *_ = prompt(seed, n=n)
    weights = full_weights(seed, depth, heads)
    tokens = token_form(weights, X, y, query[None])
    M, u, w, a = state.implicit_states(weights, gram(X, y))
    x_i = jnp.einsum("lab,ib->lia", M, X) + jnp.einsum("i,la->lia", y, u)
    y_i = jnp.einsum("l,i->li", a, y) - jnp.einsum("la,ia->li", w, X)
    assert difference(x_i, tokens.context[..., :-1]) < 1e-12
    assert difference(y_i, tokens.context[..., -1]) < 1e-12
    assert difference(jnp.einsum("lab,b->la", M, query), tokens.queries[:, 0, :-1]) < 1e-12
    assert difference(jnp.einsum("la,a->l", w, query), tokens.predictions[:, 0]) < 1e-12


def test_the_recursion_equals_the_product_of_the_layers(seed):
    X, y, *_ = prompt(seed)
    weights, G = full_weights(seed, 5, 2), gram(X, y)
    R = gram_form(weights, G).R
    states = state.implicit_states(weights, G)
    assert difference(states.matrix(), R) < 1e-12
    assert difference(state.from_product(R).matrix(), R) == 0
    assert difference(states.w, implicit_weights(weights, G)) < 1e-12


def test_lemma_4_3_as_printed_is_wrong_from_the_second_layer_on(seed):
    X, y, *_ = prompt(seed)
    weights, G = full_weights(seed, 3, 1), gram(X, y)
    right, printed = (form(weights, G) for form in (state.implicit_states, state.printed_states))
    np.testing.assert_array_equal(printed.M[1], right.M[1])  # w^0 = 0 hides the sign
    # M'' differs by exactly 2 b w^T with the second layer's b and the first layer's w.
    S = jax.tree.map(lambda leaf: leaf[1], weights).increment(gram_form(weights, G).G[1])
    expected = 2 * jnp.outer(S[:-1, -1], right.w[1])
    np.testing.assert_allclose(printed.M[2] - right.M[2], expected, rtol=1e-9, atol=1e-12)
    assert jnp.abs(expected).max() > 0


@pytest.mark.parametrize("n", [9, 3])
def test_alpha_follows_the_corrected_lemma_and_not_the_printed_one(seed, n):
    X, y, *_ = prompt(seed, n=n)
    weights, G = diag_weights(seed, 4, 2), gram(X, y)
    trace, context = gram_form(weights, G), state.ols(G)
    states = state.from_product(trace.R)
    true = trace.G[:, :-1, -1]
    corrected = jax.vmap(state.alpha, (0, None))(states, context)
    printed = jax.vmap(state.printed_alpha, (0, None))(states, context)
    assert difference(corrected, true) < 1e-11
    # The two agree where a = 1 or u = 0, and differ by (a - 1) u <w*, Sigma (a w* - w)> elsewhere.
    assert difference(printed[:1], true[:1]) < 1e-11
    gap = jnp.einsum(
        "la,ab,b->l", states.a[:, None] * context.w[None] - states.w, context.Sigma, context.w
    )
    expected = ((states.a - 1) * gap)[:, None] * states.u
    np.testing.assert_allclose(printed - true, expected, rtol=1e-7, atol=1e-10)
    assert jnp.abs(expected).max() > 1e-8


@pytest.mark.parametrize(("n", "heads"), [(9, 1), (9, 3), (3, 2)])
def test_the_momentum_form_is_exact_for_every_diagonal_model(seed, n, heads):
    X, y, *_ = prompt(seed, n=n)
    weights, G = diag_weights(seed, 5, heads), gram(X, y)
    states, context = state.implicit_states(weights, G), state.ols(G)
    before = jax.tree.map(lambda leaf: leaf[:-1], states)
    form = state.momentum_form(weights, G)
    step = jax.vmap(state.momentum_step, (0, 0, None))
    u, w = step(form, before, context)
    assert difference(u, states.u[1:]) < 1e-11
    assert difference(w, states.w[1:]) < 1e-11


def test_heavy_ball_is_a_momentum_form_that_solves_least_squares(seed):
    X, y, *_ = prompt(seed, n=60)
    G = gram(X, y)
    context = state.ols(G)
    largest = float(jnp.linalg.eigvalsh(context.Sigma)[-1])
    form = state.heavy_ball(4, beta=0.5, eta=0.25 / largest)
    here = state.from_product(jnp.eye(5))
    for _ in range(400):
        u, w = state.momentum_step(form, here, context)
        here = here._replace(u=u, w=w)
    np.testing.assert_allclose(here.w, context.w, rtol=1e-9)
    for matrix, scale in ((form.Lambda, 0.5), (form.Gamma, -1.0)):
        assert state.isotropic_part(matrix) == (scale, 0)


def test_a_layer_with_only_omega_yx_is_a_plain_gradient_step(seed):
    X, y, *_ = prompt(seed)
    zero = jnp.zeros(2)
    form = state.momentum_form(Omegas(zero, zero, zero - 0.01, zero), gram(X, y))
    assert jnp.abs(form.Lambda).max() == 0
    assert jnp.abs(form.Gamma).max() == 0
    c, rest = state.isotropic_part(form.Pi)
    np.testing.assert_allclose(c, [-0.01, -0.01])
    np.testing.assert_allclose(rest, 0, atol=1e-7)
