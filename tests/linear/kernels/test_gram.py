import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.kernels import gram_cuda
from attnlab.linear.kernels.gram import loss_and_gradient
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import FullWeights
from tests.linear.kernels.cuda_on_host import needs_compiler
from tests.linear.prompts import full_weights, gram_matrix

pytestmark = pytest.mark.usefixtures("double_precision")


BATCH, D = 37, 4
"""Not a multiple of the SIMD width, so that padding is needed."""


@jax.jit
def oracle(weights, G, targets):
    """Automatic differentiation of the plain form."""

    def loss(weights):
        w = jax.vmap(final_weights, (None, 0))(weights, G)
        return jnp.sum((w - targets) ** 2) / (2 * len(G))

    return jax.value_and_grad(loss)(weights)


def batch_of(seed):
    G = np.stack([gram_matrix(100 * seed + i) for i in range(BATCH)])
    targets = np.random.default_rng(seed).standard_normal((BATCH, D))
    return jnp.asarray(G), jnp.asarray(targets)


def difference(left, right):
    """The largest error of any leaf, relative to that leaf's largest entry."""
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    arrays = [(np.asarray(a), np.asarray(b)) for a, b in pairs]
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in arrays)


def test_one_layer_has_the_gradient_of_the_quadratic(seed):
    """w = -(P's last row) G Q without its last entry: loss and slopes written out in NumPy."""
    G, targets = batch_of(seed)
    weights = full_weights(seed, 1, 1)
    loss, gradient = loss_and_gradient(weights, G, targets)
    row, Q = np.asarray(weights.P[0, 0, -1]), np.asarray(weights.Q[0, 0])
    residual = -np.einsum("a,nab,bc->nc", row, G, Q)[:, :D] - np.asarray(targets)
    np.testing.assert_allclose(loss, np.sum(residual**2) / (2 * BATCH), rtol=1e-12)
    dP = np.zeros((D + 1, D + 1))
    dP[-1] = -np.einsum("nc,nab,bc->a", residual, G, Q[:, :D]) / BATCH
    dQ = np.zeros((D + 1, D + 1))
    dQ[:, :D] = -np.einsum("nc,a,nab->bc", residual, row, G) / BATCH
    np.testing.assert_allclose(gradient.P[0, 0], dP, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(gradient.Q[0, 0], dQ, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("heads", "depth"), [(1, 3), (2, 2)])
def test_loss_and_gradient_are_those_of_the_plain_form(seed, heads, depth):
    G, targets = batch_of(seed)
    weights = full_weights(seed, depth, heads)
    expected = oracle(weights, G, targets)
    found = loss_and_gradient(weights, G, targets, chunk=16)
    assert difference(found, expected) < 1e-10


def test_float32_is_kept_and_rounds_as_the_plain_form_does(seed):
    G, targets = batch_of(seed)
    weights = full_weights(seed, 3, 1)
    single = jax.tree.map(lambda part: jnp.asarray(np.asarray(part, "f4")), (weights, G, targets))
    rounded = loss_and_gradient(*single, chunk=16)
    assert {leaf.dtype for leaf in jax.tree.leaves(rounded)} == {jnp.dtype("float32")}
    same = jax.tree.map(lambda part: jnp.asarray(np.asarray(part, "f8")), single)
    exact = loss_and_gradient(*same, chunk=16)
    # Nine products a layer, of d + 1 terms each, and every term may be off by one rounding.
    assert 1e-9 < difference(rounded, exact) < 3 * 9 * (D + 1) * jnp.finfo("float32").eps


def test_the_gradient_is_the_slope_of_the_plain_loss(seed):
    G, targets = batch_of(seed)
    weights, towards = full_weights(seed, 3, 1), full_weights(seed + 7, 3, 1)
    _, gradient = loss_and_gradient(weights, G, targets, chunk=16)
    slope = np.vdot(gradient.P, towards.P) + np.vdot(gradient.Q, towards.Q)
    step = 1e-5
    ends = [
        float(oracle(jax.tree.map(lambda w, v, h=h: w + h * v, weights, towards), G, targets)[0])
        for h in (step, -step)
    ]
    # Central differences: the third derivative times step^2, and rounding over step.
    assert abs((ends[0] - ends[1]) / (2 * step) - slope) < 1e-6 * max(1, abs(slope))


def test_a_population_is_a_leading_axis(seed):
    G, targets = batch_of(seed)
    members = [full_weights(seed + i, 1, 1) for i in range(2)]
    population = jax.tree.map(lambda *parts: jnp.asarray(np.stack(parts)), *members)
    together = jax.vmap(loss_and_gradient, (0, None, None))(population, G, targets)
    for i, member in enumerate(members):
        one = jax.tree.map(lambda part, i=i: part[i], together)
        assert difference(one, loss_and_gradient(member, G, targets)) < 1e-12


def test_a_prompt_that_is_nan_is_not_hidden():
    G, targets = batch_of(0)
    weights = full_weights(0, 3, 1)
    for broken in (G.at[0, 0, 0].set(jnp.nan), G.at[5, 1, 2].set(jnp.nan)):
        loss, gradient = loss_and_gradient(weights, broken, targets, chunk=16)
        assert jnp.isnan(loss)
        assert jnp.isnan(gradient.P).any()


def test_products_are_not_computed_twice_on_a_cpu():
    """XLA would merge them; the branches that keep them apart are in what it compiles."""
    if jax.default_backend() != "cpu":
        pytest.skip("only a CPU needs the branches")
    compiled = loss_and_gradient.lower(full_weights(0, 1, 1), *batch_of(0)).compile().as_text()
    # G Q and T; row; dl/dS, P^T dl/dS
    assert compiled.count(" conditional(") == 5


@needs_compiler
@pytest.mark.parametrize("depth", [1, 3])
def test_the_fused_kernel_computes_the_same(seed, depth, monkeypatch):
    monkeypatch.setattr(gram_cuda, "MULTIPROCESSORS", 1)  # so that a group has several sequences
    monkeypatch.setattr(gram_cuda, "WARPS", 1)
    G, targets = batch_of(seed)
    members = [full_weights(seed + i, depth, 1) for i in range(2)]
    population = jax.tree.map(lambda *parts: jnp.stack(parts), *members)
    together = gram_cuda.loss_and_gradient(population, G, targets)
    for i, member in enumerate(members):
        one = jax.tree.map(lambda part, i=i: part[i], together)
        assert difference(one, oracle(member, G, targets)) < 1e-10


@needs_compiler
def test_the_fused_kernel_computes_the_same_where_every_member_has_its_own_sequences(seed):
    own = [batch_of(seed + 10 * i) for i in range(3)]
    members = [full_weights(seed + i, 2, 1) for i in range(3)]
    population = jax.tree.map(lambda *parts: jnp.stack(parts), *members)
    G, targets = (jnp.stack(parts) for parts in zip(*own, strict=True))
    together = gram_cuda.loss_and_gradient(population, G, targets)
    for i, member in enumerate(members):
        one = jax.tree.map(lambda part, i=i: part[i], together)
        assert difference(one, oracle(member, *own[i])) < 1e-10


@pytest.mark.usefixtures("unchecked")
def test_what_the_fused_kernel_does_not_serve_is_named():
    wide = jax.vmap(FullWeights)(*[jnp.zeros((1, 1, 1, 17, 17))] * 2)
    with pytest.raises(UserError, match=r"^The fused kernel serves one head, 16 layers and d = 15"):
        gram_cuda.loss_and_gradient(wide, jnp.zeros((2, 17, 17)), jnp.zeros((2, 16)))


def test_wrong_shapes_are_named(unchecked):
    weights = full_weights(0, 1, 1)
    with pytest.raises(UserError, match=r"^G and targets must have shapes \(batch, 5, 5\) and \(b"):
        loss_and_gradient(weights, jnp.zeros((3, 4, 4)), jnp.zeros((3, 3)))
