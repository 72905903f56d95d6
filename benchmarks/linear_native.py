"""The C++ kernel that trains FULL on a processor, against JAX, measured in one run.

    python benchmarks/linear_native.py [rounds]

prints the time of loss and gradient of five FULL networks on 2,048 sequences of the paper's
problem, drawing them included: by the C++ kernel `gram_native` and by plain JAX, called in turn.
Ratios are medians over `rounds` (9 unless given).
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

from attnlab.linear.kernels import gram_native
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.batches import draw_batch, noise_tables, with_noise
from linear import BATCH, D, N, timed, turns

MEMBERS, DEPTHS = 5, (1, 4, 7)
PROBLEM = NoisyRegression(D, N)
TABLE = noise_tables([Uniform(5)] * MEMBERS, np.float32)


def plain_loss(weights, G, targets):
    w = jax.vmap(final_weights, (None, 0))(weights, G)
    return jnp.square(w - targets).sum(1).mean() / 2


@jax.jit
def by_jax(weights, key):
    """Loss and gradient of all members, on sequences that JAX draws."""
    drawn = draw_batch(PROBLEM, key, BATCH, jnp.float32)

    def one(member, law):
        sequences = drawn.G, drawn.w, drawn.u
        G = jax.vmap(lambda G, w, u: with_noise(G, w, law.quantile(u)))(*sequences)
        return jax.value_and_grad(plain_loss)(member, G, drawn.w)

    return jax.vmap(one)(weights, TABLE)


def by_kernel(weights, key):
    data = jax.random.key_data(key)
    return gram_native.loss_and_gradient(weights, data, TABLE, PROBLEM, BATCH)


def main() -> None:
    key = jax.random.key(0)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    steps = {"plain JAX": by_jax, "gram_native": jax.jit(by_kernel)}
    print(f"{MEMBERS} networks, {BATCH} sequences, d={D}, n={N}, float32, jax {jax.__version__}")
    for depth in DEPTHS:
        shape = (MEMBERS, depth, 1, D + 1, D + 1)
        P, Q = 0.003 * np.random.default_rng(0).standard_normal((2, *shape)).astype(np.float32)
        weights = jax.vmap(FullWeights)(jnp.asarray(P), jnp.asarray(Q))
        if not gram_native.serves(weights, PROBLEM, BATCH):
            sys.exit("gram_native does not compile here.")
        exact = steps["plain JAX"](weights, key)[0]
        for name, step in steps.items():
            off = np.abs(np.asarray(step(weights, key)[0]) / exact - 1).max()
            assert off < 1e-4, (name, off)
        calls = {
            name: lambda s=step, w=weights: timed(s, w, key)[0] for name, step in steps.items()
        }
        spent = turns(calls, rounds)
        own = spent["gram_native"]
        print(
            f"{depth} layers: "
            + ", ".join(
                f"{name} {1e3 * np.median(times[:, 0]):.1f} ms wall, "
                f"{1e3 * np.median(times[:, 1]):.1f} ms processor "
                f"({np.median(times / own, axis=0)[1]:.1f}x)"
                for name, times in spent.items()
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
