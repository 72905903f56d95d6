"""GD++ and DIAG by Adam: the chain rule, the families, the kernel, and starts near DIAG."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from attnlab.linear.kernels.cuda import compiled
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import DiagWeights
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training import diagonal_networks, full_loss
from attnlab.linear.training.diagonal_networks import as_full, start_near, train_diagonal
from attnlab.linear.training.full_loss import mean_loss
from attnlab.linear.training.full_networks import FullRecipe
from tests.linear.kernels.cuda_on_host import needs_compiler

PROBLEM, LAW = NoisyRegression(3, 8), Uniform(2)
RECIPE = FullRecipe(batch=32, learning_rate=1e-2, scale=0.1, warmup=0.0, final=1.0, clip=None)
SIZES = {"seeds": 2, "steps": 12, "held_out": 64, "chunk": 4}


@functools.cache
def plainly_trained():
    return train_diagonal(PROBLEM, LAW, 2, RECIPE, **SIZES)


def network(seed, depth=2):
    p_x, p_y, q_x, q_y = 0.2 * np.random.default_rng(seed).standard_normal((4, depth, 1))
    return DiagWeights(p_x, p_y, q_x, q_y)


def sequences(seed, count=16):
    tokens = np.random.default_rng(seed).standard_normal((count, 8, 4)) / 3
    return jnp.asarray(np.einsum("bni,bnj->bij", tokens, tokens)), jnp.asarray(tokens[:, 0, :3])


def test_the_gradient_is_that_of_the_diagonal_network_itself():
    G, targets = sequences(0)
    weights = jax.tree.map(jnp.asarray, network(1))

    def own(weights):
        answers = jax.vmap(final_weights, (None, 0))(weights, G)
        return jnp.square(answers - targets).sum(1).mean() / 2

    ours = jax.value_and_grad(lambda weights: mean_loss(as_full(weights, 1.0, 3), G, targets))
    for one, other in zip(
        jax.tree.leaves(ours(weights)),
        jax.tree.leaves(jax.value_and_grad(own)(weights)),
        strict=True,
    ):
        assert np.allclose(one, other, rtol=1e-3, atol=1e-5)


def test_networks_stay_in_their_family_and_learn():
    trained, full = plainly_trained()
    assert trained.losses.shape == (3, 4)
    for part in (full.P, full.Q):
        x, y = np.asarray(part)[:, :, 0, :3, :3], np.asarray(part)[:, :, 0, 3]
        assert np.array_equal(x, x[..., :1, :1] * np.eye(3))
        assert not y[..., :3].any()
    q_y = np.asarray(full.Q)[:, :, 0, 3, 3]
    assert not q_y[:2].any()  # GD++
    assert q_y[2:].all()  # DIAG
    assert (trained.losses[-1] < trained.losses[0]).all()


@needs_compiler
def test_the_fused_kernel_trains_the_same_diagonal_networks(monkeypatch):
    monkeypatch.setattr(full_loss.gram_native, "serves", lambda *given: False)
    jax.clear_caches()
    plain, _ = train_diagonal(PROBLEM, LAW, 2, RECIPE, **SIZES)
    monkeypatch.setattr(compiled, "available", lambda: True)
    used = []
    kernel = full_loss.gram_cuda.loss_and_gradient
    monkeypatch.setattr(
        full_loss.gram_cuda,
        "loss_and_gradient",
        lambda *given: used.append(1) or kernel(*given),
    )
    jax.clear_caches()
    fused, _ = train_diagonal(PROBLEM, LAW, 2, RECIPE, **SIZES)
    jax.clear_caches()
    assert used
    assert np.allclose(plain.losses, fused.losses, rtol=1e-3)


def test_a_start_near_diag_is_that_network_and_something_off_the_diagonal(monkeypatch):
    G, _ = sequences(2)
    diag = network(3)
    begin = start_near(diag, LAW, 2, 3)
    off = np.asarray(begin.P) * (1 - np.eye(4))
    assert 0 < np.abs(off).max() < 6 * diagonal_networks.NEAR
    assert not np.array_equal(off[0], off[1])
    monkeypatch.setattr(diagonal_networks, "NEAR", 0.0)
    exact = jax.tree.map(lambda part: part[0], start_near(diag, LAW, 1, 3))
    norms = [np.linalg.norm(np.asarray(part), axis=(2, 3)) for part in (exact.P, exact.Q)]
    assert np.allclose(*norms, rtol=1e-5)
    for gram in G[:4]:
        found, wanted = final_weights(exact, gram), final_weights(diag, gram)
        assert np.allclose(found, wanted, rtol=1e-4, atol=1e-5)
