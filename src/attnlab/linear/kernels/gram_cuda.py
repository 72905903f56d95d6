"""The loss and gradient of `gram` as one GPU kernel, with a group of threads per sequence.

The kernel is `cuda/full_network.cu`: the matrices of all layers stay on the chip, and a thread has
one row of each. It needs nvcc and serves one head and d <= 15. It stays for its speed on a GPU,
which `benchmarks/linear_gpu.py` measures; its test is `gram.loss_and_gradient`.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.linear.kernels.cuda import compiled
from attnlab.linear.models.weights import FullWeights

LARGEST_SIDE, DEEPEST = 16, 16
GROUPS = 4096
"""Groups of threads that fill a GPU; each sums the gradients of its sequences."""
FEWEST = 256
"""Groups of each member of a population: with fewer the GPU is half empty at the end."""


@jax.jit
def loss_and_gradient(
    weights: FullWeights,
    G: Float[Array, "batch p p"] | Float[Array, "members batch p p"],
    targets: Float[Array, "batch d"] | Float[Array, "members batch d"],
) -> tuple[Float[Array, " members"], FullWeights]:
    """`gram.loss_and_gradient` of a population, which is the first axis of `weights`.

    All members have the same sequences, or each has its own along the first axis of G and targets.
    """
    members, layers, heads, p, _ = weights.P.shape
    if heads != 1 or layers > DEEPEST or p > LARGEST_SIDE:
        raise UserError(
            f"The fused kernel serves one head, {DEEPEST} layers and d = {LARGEST_SIDE - 1} at "
            f"most, got {heads} heads, {layers} layers and d = {p - 1}."
        )
    G, targets = (part if G.ndim == 4 else part[None] for part in (G, targets))
    batch = G.shape[1]
    slots = min(batch, max(GROUPS // members, FEWEST))
    name = compiled.target("full_network.cu", "full_loss_and_gradient", G.dtype, SIDE=p)
    shapes = [(members, slots), (members, slots, layers, 2, p, p)]
    call = jax.ffi.ffi_call(name, [jax.ShapeDtypeStruct(shape, G.dtype) for shape in shapes])
    rows = [(0, 0)] * 3 + [(0, -p % 4)]  # a row is read four numbers at a time
    factors = [jnp.pad(part[:, :, 0], rows) for part in (weights.P, weights.Q)]
    loss, gradient = (part.sum(1) / batch for part in call(*factors, G, targets))
    dP, dQ = jnp.moveaxis(gradient, 2, 0)
    return loss, jax.vmap(FullWeights)(dP[:, :, None], dQ[:, :, None])
