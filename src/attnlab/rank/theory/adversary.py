"""An adversary of the lower bound: generalised heads of rank r, trained to violate it.

Source: the generalised heads of Amsel, Yehudai, Bruna (arXiv 2407.16153), equation (2), on the
nearest of two orthonormal points. phi_h is an MLP of (K_h^T x_1, K_h^T x_2, y) and V_h is free, or
a multiple of the identity for variant (C); everything is trained by Adam on fresh prompts. A
trained error below `rank_lower_bound.lower_bound` would refute the theorem.
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from attnlab import arguments
from attnlab.compiling import fast_compile
from attnlab.errors import UserError
from attnlab.rank.problem import Neighbours
from attnlab.rank.theory.lower_bound import check_head


class GeneralisedHeads(eqx.Module):
    """sum_h V_h X phi_h(K_h^T X, y) for N = 2, one hidden layer in every phi_h.

    phi_h = (sigmoid(s), sigmoid(-s)) with s = m(K^T x_1, K^T x_2, y) - m(K^T x_2, K^T x_1, y): a
    head that treats the points alike, which costs nothing, since the average of any g over the
    exchange of the points has no larger error. `V` has shape (H, d, d), or (H,) for c_h I.
    """

    K: Float[Array, "H d r"]
    V: Float[Array, "H d d"] | Float[Array, " H"]
    inner: Float[Array, "H i w"]
    shift: Float[Array, "H w"]
    outer: Float[Array, "H w"]

    def weights(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, "H N"]:
        """phi_h, which sums to one over the two points."""
        if X.shape != (2, self.K.shape[1]):
            raise UserError(
                f"X must hold 2 points of dimension {self.K.shape[1]}, got shape {X.shape}."
            )
        seen = jnp.einsum("nd,hdr->hnr", X, self.K, precision="highest")
        r = seen.shape[2]
        first, second, asked = self.inner[:, :r], self.inner[:, r : 2 * r], self.inner[:, 2 * r :]
        own = jnp.einsum("hnr,hrw->hnw", seen, first, precision="highest")
        other = jnp.einsum("hnr,hrw->hnw", seen[:, ::-1], second, precision="highest")
        source = jnp.einsum("d,hdw->hw", y, asked, precision="highest")
        hidden = jax.nn.gelu(own + other + (source + self.shift)[:, None, :])
        return jax.nn.softmax(jnp.einsum("hnw,hw->hn", hidden, self.outer, precision="highest"))

    def __call__(self, X: Float[Array, "N d"], y: Float[Array, " d"]) -> Float[Array, " d"]:
        mixed = jnp.dot(self.weights(X, y), X, precision="highest")
        if self.V.ndim == 1:
            return jnp.dot(self.V, mixed, precision="highest")
        return jnp.einsum("hde,he->d", self.V, mixed, precision="highest")


def random_adversary(
    key: PRNGKeyArray,
    d: int,
    r: int,
    heads: int,
    *,
    scalar_values: bool = False,
    width: int = 32,
    dtype: Any = float,
) -> GeneralisedHeads:
    """Heads at initialisation: normal K_h, and V_h near c_h I with c_h alternately about +-1.

    sum_h c_h = 1, which uniform attention needs; opposite signs let sum_h c_h s_h be large though
    every |s_h| <= 1, as the sharp construction for rank 1 does.
    """
    d, r, heads = check_head(d, r, heads)
    width = arguments.integer("width", width, 1)
    shapes = (
        (heads, d, r),
        (heads, 2 * r + d, width),
        (heads, width),
        (heads, width),
        (heads, d, d),
    )
    sizes = [math.prod(shape) for shape in shapes]
    # One call: the generator's code is most of what there is to compile.
    normals = jax.random.normal(key, (sum(sizes),), dtype)
    cuts = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    K, inner, shift, outer, noise = (
        part.reshape(shape) for part, shape in zip(jnp.split(normals, cuts), shapes, strict=True)
    )
    signs = 1 - 2 * (jnp.arange(heads, dtype=dtype) % 2)
    V = signs + (1 - jnp.sum(signs)) / heads
    if not scalar_values:
        V = jnp.eye(d, dtype=dtype)[None] * V[:, None, None] + 0.1 / math.sqrt(d) * noise
    return GeneralisedHeads(K, V, inner, shift, outer / math.sqrt(width))


def train_adversary(
    key: PRNGKeyArray,
    d: int,
    r: int,
    heads: int,
    *,
    scalar_values: bool = False,
    width: int = 32,
    steps: int = 2000,
    batch: int = 512,
    rate: float = 0.01,
    starts: int = 2,
    dtype: Any = float,
) -> GeneralisedHeads:
    """The best of `starts` adversaries trained together, each on its own stream of fresh prompts.

    Adam with a cosine to rate 0; the choice is by the loss over the last tenth of the steps. Its
    error is to be measured on fresh prompts, by `neighbour_error.squared_error`.
    """
    d, r, heads = check_head(d, r, heads)
    problem = Neighbours(d, 2, points="orthonormal")
    steps, batch = arguments.integer("steps", steps, 10), arguments.integer("batch", batch, 1)
    schedule = optax.cosine_decay_schedule(arguments.positive("rate", rate), steps)
    optimiser: Any = optax.adam(schedule)

    def loss(model: GeneralisedHeads, key: PRNGKeyArray) -> Array:
        X, y, target = jax.vmap(problem.prompt)(jax.random.normal(key, (batch, 3, d), dtype))
        return jnp.mean(jnp.sum((target - jax.vmap(model)(X, y)) ** 2, axis=1))

    def run(key: PRNGKeyArray) -> tuple[GeneralisedHeads, Array]:
        start = random_adversary(
            key, d, r, heads, scalar_values=scalar_values, width=width, dtype=dtype
        )

        def step(state: tuple[GeneralisedHeads, Any], t: Array):
            model, memory = state
            value, gradient = jax.value_and_grad(loss)(model, jax.random.fold_in(key, t))
            updates, memory = optimiser.update(gradient, memory)
            return (eqx.apply_updates(model, updates), memory), value

        (model, _), losses = jax.lax.scan(step, (start, optimiser.init(start)), jnp.arange(steps))
        return model, jnp.mean(losses[-(steps // 10) :])

    keys = jax.random.split(key, arguments.integer("starts", starts, 1))
    models, losses = fast_compile(jax.vmap(run))(keys)
    best = int(jnp.argmin(losses))
    return jax.tree.map(lambda leaf: leaf[best], models)
