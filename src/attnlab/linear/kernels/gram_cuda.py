"""The loss and gradient of `gram` as one GPU kernel, with a group of threads per sequence.

The kernel is `cuda/full_network.cu`: the matrices of all layers stay on the chip, and a thread
computes a 4 x 4 tile of each. It needs nvcc and serves one head and d <= 15. It stays for its speed
on a GPU, which `benchmarks/linear_gpu.py` measures; its test is `gram.loss_and_gradient`.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.linear.kernels.cuda import compiled
from attnlab.linear.models.weights import FullWeights

LARGEST_SIDE, DEEPEST = 16, 16
MULTIPROCESSORS, SHARED_BYTES, BLOCK_BYTES = 132, 228 * 1024, 227 * 1024
"""Of a Hopper GPU, by which the number of groups is chosen; others compute the same more slowly."""
WARPS = 3  # of a block, at most


def slots_of(members: int, batch: int, layers: int, p: int, bytes_per_number: int) -> int:
    """Groups of threads per member, each of which sums the gradients of its sequences.

    As many as the GPU holds at once, so that none waits for another to end. They fill whole
    blocks: as many warps, each of which works at several groups at once, as leave the least of a
    multiprocessor's memory unused.
    """
    tiles = -(-p // 4)
    together, matrix = 32 // tiles**2, (4 * tiles) ** 2
    group = (2 * layers + 5) * matrix + (2 * layers + 2) * 4 * tiles + 32
    fitting = {}
    for warps in range(1, WARPS + 1):
        block = (2 * layers * matrix + warps * together * group) * bytes_per_number
        if block <= BLOCK_BYTES:
            fitting[warps] = SHARED_BYTES // (block + 1024)
    warps = max(fitting, key=lambda warps: (warps * fitting[warps], warps), default=1)
    blocks = MULTIPROCESSORS * fitting.get(warps, 1) // members
    whole = warps * together
    return whole * max(1, min(blocks, -(-batch // whole)))


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
    slots = slots_of(members, batch, layers, p, G.dtype.itemsize)
    name = compiled.target("full_network.cu", "full_loss_and_gradient", G.dtype, SIDE=p)
    added = -p % 4  # four numbers are read at a time
    shapes = [(members, slots), (members, slots, layers, 2, p + added, p + added)]
    call = jax.ffi.ffi_call(name, [jax.ShapeDtypeStruct(shape, G.dtype) for shape in shapes])
    padding = [(0, 0), (0, 0), (0, added), (0, added)]
    factors = [jnp.pad(part[:, :, 0], padding) for part in (weights.P, weights.Q)]
    loss, gradient = (part.sum(1) / batch for part in call(*factors, G, targets))
    dP, dQ = jnp.moveaxis(gradient[..., :p, :p], 2, 0)
    return loss, jax.vmap(FullWeights)(dP[:, :, None], dQ[:, :, None])
