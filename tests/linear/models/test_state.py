import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.linear.models import state
from attnlab.linear.models.transformer import gram_form, implicit_weights, token_form
from attnlab.linear.models.weights import Omegas
from tests.linear.prompts import diag_weights, difference, full_weights, gram_matrix, prompt

pytestmark = pytest.mark.usefixtures("double_precision")

DEPTH, HEADS = 4, 2  # one shape for all networks, so that one program serves them all


def gram_of(seed, n=9):
    return jnp.asarray(gram_matrix(seed, n=n))


@pytest.mark.parametrize("n", [9, 2])
def test_the_state_describes_every_token_of_every_layer(seed, n):
    # n = 2 < d: Theorem 4.1 has no condition on the context.
    X, y, query, *_ = prompt(seed, n=n)
    weights = full_weights(seed, DEPTH, HEADS)
    tokens = token_form(weights, X, y, query[None])
    M, u, w, a = map(np.asarray, state.implicit_states(weights, gram_of(seed, n)))
    X, y, query = map(np.asarray, (X, y, query))
    x_i = np.einsum("lab,ib->lia", M, X) + np.einsum("i,la->lia", y, u)
    y_i = np.einsum("l,i->li", a, y) - np.einsum("la,ia->li", w, X)
    assert difference(x_i, tokens.context[..., :-1]) < 1e-12
    assert difference(y_i, tokens.context[..., -1]) < 1e-12
    assert difference(M @ query, tokens.queries[:, 0, :-1]) < 1e-12
    assert difference(w @ query, tokens.predictions[:, 0]) < 1e-12


def test_the_recursion_equals_the_product_of_the_layers(seed):
    weights, G = full_weights(seed, DEPTH, HEADS), gram_of(seed)
    R = gram_form(weights, G).R
    states = state.implicit_states(weights, G)
    assert difference(states.matrix(), R) < 1e-12
    assert difference(state.from_product(R).matrix(), R) == 0
    assert difference(states.w, implicit_weights(weights, G)) < 1e-12


def test_lemma_4_3_as_printed_is_wrong_from_the_second_layer_on(seed):
    weights, G = full_weights(seed, DEPTH, HEADS), gram_of(seed)
    right, printed = (form(weights, G) for form in (state.implicit_states, state.printed_states))
    np.testing.assert_allclose(printed.M[1], right.M[1], rtol=1e-12)  # w^0 = 0 hides the sign
    # M'' differs by exactly 2 b w^T with the second layer's b and the first layer's w.
    S = jax.tree.map(lambda leaf: leaf[1], weights).increment(gram_form(weights, G).G[1])
    expected = 2 * np.outer(S[:-1, -1], right.w[1])
    np.testing.assert_allclose(printed.M[2] - right.M[2], expected, rtol=1e-9, atol=1e-12)
    assert np.abs(expected).max() > 0


@pytest.mark.parametrize("n", [9, 3])
def test_alpha_follows_the_corrected_lemma_and_not_the_printed_one(seed, n):
    weights, G = diag_weights(seed, DEPTH, HEADS), gram_of(seed, n)
    trace, context = gram_form(weights, G), state.least_squares(G)
    states = state.from_product(trace.R)
    true = trace.G[:, :-1, -1]
    corrected = jax.vmap(state.alpha, (0, None))(states, context)
    printed = jax.vmap(state.printed_alpha, (0, None))(states, context)
    assert difference(corrected, true) < 1e-11
    # The two agree where a = 1 or u = 0, and differ by (a - 1) u <w*, Sigma (a w* - w)> elsewhere.
    assert difference(printed[:1], true[:1]) < 1e-11
    a, u, w = (np.asarray(part) for part in (states.a, states.u, states.w))
    Sigma, w_star, _ = map(np.asarray, context)
    gap = (a[:, None] * w_star - w) @ Sigma @ w_star
    expected = ((a - 1) * gap)[:, None] * u
    np.testing.assert_allclose(printed - true, expected, rtol=1e-7, atol=1e-10)
    assert np.abs(expected).max() > 1e-8


@pytest.mark.parametrize(("n", "heads"), [(9, 1), (3, HEADS)])
def test_the_momentum_form_is_exact_for_every_diagonal_model(seed, n, heads):
    weights, G = diag_weights(seed, DEPTH, heads), gram_of(seed, n)
    states, context = state.implicit_states(weights, G), state.least_squares(G)
    before = jax.tree.map(lambda leaf: leaf[:-1], states)
    form = state.momentum_form(weights, G)
    step = jax.vmap(state.momentum_step, (0, 0, None))
    u, w = step(form, before, context)
    assert difference(u, states.u[1:]) < 1e-11
    assert difference(w, states.w[1:]) < 1e-11


def heavy_ball(d, beta, eta):
    """Heavy-ball momentum on 1/2 ||y - X w||^2, u' = (1 - beta) u + gradient, w' = w - eta u.

    In terms of the momentum form (a = 1): Lambda = beta I, Gamma = -I, s = 0, Pi = 0, Phi = eta I.
    """
    one, zero = np.eye(d), np.zeros(())
    return state.MomentumForm(*map(jnp.asarray, (beta * one, -one, zero, 0 * one, eta * one)))


def test_heavy_ball_is_a_momentum_form_that_solves_least_squares(seed):
    context = state.least_squares(gram_of(seed, 60))
    largest = float(np.linalg.eigvalsh(context.Sigma)[-1])
    form = heavy_ball(4, beta=0.5, eta=0.25 / largest)
    here = state.from_product(jnp.eye(5))
    for _ in range(400):
        u, w = state.momentum_step(form, here, context)
        here = here._replace(u=u, w=w)
    np.testing.assert_allclose(here.w, context.w, rtol=1e-9)
    for matrix, scale in ((form.Lambda, 0.5), (form.Gamma, -1.0)):
        assert state.isotropic_part(matrix) == (scale, 0)


def test_a_layer_with_only_omega_yx_is_a_plain_gradient_step(seed):
    zero = jnp.zeros(2)
    form = state.momentum_form(Omegas(zero, zero, zero - 0.01, zero), gram_of(seed))
    assert np.abs(form.Lambda).max() == 0
    assert np.abs(form.Gamma).max() == 0
    c, rest = state.isotropic_part(form.Pi)
    np.testing.assert_allclose(c, [-0.01, -0.01])
    np.testing.assert_allclose(rest, 0, atol=1e-7)
