"""The loss of FULL networks on drawn sequences, and where its gradient is computed.

Source: Vladymyrov et al. (arXiv 2402.14180). The loss is the paper's, at one query per sequence, or
1/2 ||w^L - w||^2, its mean over the query, so that its gradient has the same expectation. The loss
of a population is computed by a fused kernel on a GPU with nvcc (`kernels.gram_cuda`, without the
loss at a query), by one that also draws the sequences on a processor with a C++ compiler
(`kernels.gram_native`), and by plain JAX elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.linear.kernels import gram_cuda, gram_native
from attnlab.linear.kernels.cuda import compiled
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.batches import NoiseTable, draw_batch, with_noise
from attnlab.linear.training.recipes import RegressionMember

OVERFLOW = 1e30  # what a loss that is not finite counts as: float32 can still add such numbers
Gradient = tuple[Float[Array, ""], FullWeights]


@dataclass(frozen=True)
class FullLoss:
    """The mean of 1/2 ||w^L - w||^2 over a batch drawn from one key, with the member's noise.

    With `query` it is 1/2 <w^L - w, x>^2 for one query x per sequence, the paper's loss, which has
    the same mean for inputs of variance 1.
    """

    problem: NoisyRegression
    batch: int
    query: bool = False

    def __call__(
        self, weights: FullWeights, key: Any, member: RegressionMember
    ) -> Float[Array, ""]:
        of_batch = _of_batches(self.problem, self.batch, self.query)
        return _drawn_loss(of_batch, weights, jax.random.key_data(key), member.noise)


@dataclass(frozen=True)
class HeldOutLoss:
    """The loss of one member on sequences that are the same at every evaluation."""

    problem: NoisyRegression
    samples: int
    seed: int = 0

    def __call__(self, weights: FullWeights, member: RegressionMember) -> Float[Array, ""]:
        # With a constant key the compiler would draw the sequences itself, which is slow.
        hidden = jax.lax.optimization_barrier(jax.random.key_data(jax.random.key(self.seed)))
        key = jax.random.wrap_key_data(hidden)
        return FullLoss(self.problem, self.samples)(weights, key, member)


@jax.custom_vjp
def mean_loss(
    weights: FullWeights, G: Float[Array, "batch p p"], targets: Float[Array, "batch d"]
) -> Float[Array, ""]:
    """The mean of 1/2 ||w^L(G) - target||^2; `OVERFLOW` where it is not finite.

    Its gradient is NaN there, so that the trainer skips the update.
    """
    return _forward(weights, G, targets)[0]


def _forward(weights: FullWeights, G: Array, targets: Array) -> Gradient:
    return _finite(*_loss_and_gradient(weights, G, targets))


def _finite(loss: Array, gradient: FullWeights) -> Gradient:
    """`OVERFLOW` and a gradient of NaN where the loss is not finite."""
    finite = jnp.isfinite(loss)
    gradient = jax.tree.map(lambda part: jnp.where(finite, part, jnp.nan), gradient)
    return jnp.where(finite, loss, OVERFLOW).astype(loss.dtype), gradient


def _backward(gradient: FullWeights, cotangent: Array) -> tuple[FullWeights, None, None]:
    return jax.tree.map(lambda part: cotangent * part, gradient), None, None


mean_loss.defvjp(_forward, _backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _drawn_loss(
    of_batch: Callable[..., Gradient], weights: FullWeights, key: Array, noise: NoiseTable
) -> Float[Array, ""]:
    """`mean_loss` on the sequences that `of_batch` draws from the data of a key."""
    return _forward_drawn(of_batch, weights, key, noise)[0]


def _forward_drawn(
    of_batch: Callable[..., Gradient], weights: FullWeights, key: Array, noise: NoiseTable
) -> Gradient:
    return _finite(*of_batch(weights, key, noise))


_drawn_loss.defvjp(_forward_drawn, lambda _, *given: _backward(*given))


@lru_cache(maxsize=64)
def _of_batches(problem: NoisyRegression, batch: int, query: bool) -> Callable[..., Gradient]:
    """Loss and gradient on a batch, from the weights, the data of its key and a noise law."""

    def plain(weights: FullWeights, key: Array, noise: NoiseTable) -> Gradient:
        drawn = draw_batch(problem, jax.random.wrap_key_data(key), batch, weights.P.dtype)

        def noisy(G: Array, w: Array, u: Array) -> Array:
            return with_noise(G, w, noise.quantile(u))

        G = jax.vmap(noisy)(drawn.G, drawn.w, drawn.u)
        if query:
            return loss_at_queries(weights, G, drawn.w, drawn.query)
        return _loss_and_gradient(weights, G, drawn.w)

    found = jax.custom_batching.custom_vmap(plain)

    @found.def_vmap
    def of_population(size: int, batched: Any, weights: FullWeights, key: Array, noise: Any):
        own_weights, own_key, own_noise = batched
        if own_key or not gram_native.serves(weights, problem, batch):
            axes = jax.tree.map(lambda own: 0 if own else None, tuple(batched))
            result = jax.vmap(plain, axes, axis_size=size)(weights, key, noise)
        else:
            weights = _own(size, weights, own_weights)
            noise = _own(size, noise, own_noise)
            result = gram_native.loss_and_gradient(weights, key, noise, problem, batch, query)
        return result, jax.tree.map(lambda _: True, result)

    return found


def _plain(weights: FullWeights, G: Array, targets: Array) -> Gradient:
    def loss(weights: FullWeights) -> Array:
        w = jax.vmap(final_weights, (None, 0))(weights, G)
        return jnp.square(w - targets).sum(1).mean() / 2

    return jax.value_and_grad(loss)(weights)


def loss_at_queries(
    weights: FullWeights,
    G: Float[Array, "batch p p"],
    targets: Float[Array, "batch d"],
    queries: Float[Array, "batch d"],
) -> Gradient:
    """The mean of 1/2 <w^L(G) - target, query>^2, and its gradient."""

    def loss(weights: FullWeights) -> Array:
        w = jax.vmap(final_weights, (None, 0))(weights, G)
        return jnp.square(((w - targets) * queries).sum(1)).mean() / 2

    return jax.value_and_grad(loss)(weights)


_loss_and_gradient = jax.custom_batching.custom_vmap(_plain)


@_loss_and_gradient.def_vmap
def _of_population(
    size: int, batched: Any, weights: FullWeights, G: Array, targets: Array
) -> tuple[Any, Any]:
    weights, G, targets = _own(size, (weights, G, targets), tuple(batched))
    fused = compiled.available() and weights.P.shape[2] == 1
    together = gram_cuda.loss_and_gradient if fused else jax.vmap(_plain)
    found = together(weights, G, targets)
    return found, jax.tree.map(lambda _: True, found)


def _own(size: int, tree: Any, batched: Any) -> Any:
    """A tree of which every member has its own copy."""

    def one(part: Array, is_own: bool) -> Array:
        return part if is_own else jnp.broadcast_to(part, (size, *part.shape))

    return jax.tree.map(one, tree, batched)
