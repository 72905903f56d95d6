"""Loss and gradient of a population of FULL networks in C++, for processors.

The kernel is `native/full_network.cpp`. It draws the sequences of `training.batches.draw_batch` by
itself, from the same key and with the same bits, because on a processor JAX takes longer to draw
them than the kernel takes for the networks. It is compiled for this processor by the system's C++
compiler, serves float32, one head and d <= 15, and stays for its speed, which
`benchmarks/linear_native.py` measures against JAX. Its test is plain JAX.
"""

import ctypes
import hashlib
import warnings
from functools import lru_cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32

from attnlab.errors import UserError
from attnlab.linear.kernels import compiled
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.batches import NoiseTable

FOLDER = Path(__file__).parent / "native"
SOURCE, SYMBOL = "full_network.cpp", "full_network_loss_and_gradient"
FOR_THIS_PROCESSOR = ("c++", "-O3", "-std=c++17", "-march=native")
COMMAND = (*FOR_THIS_PROCESSOR, "-fno-math-errno", "-shared", "-fPIC", "-w")
LARGEST_SIDE = 16
USUAL_GENERATOR = "threefry2x32"
SLOWER = "FULL networks are trained without their C++ kernel, which is several times faster."
_registered: set[str] = set()  # JAX takes a name once in a process
MOST_NUMBERS = 2**32  # of a batch: the kernel counts them in 32 bits


def serves(weights: FullWeights, problem: NoisyRegression, batch: int) -> bool:
    """Whether the kernel computes such networks on this machine; it is compiled to find out."""
    if jax.default_backend() != "cpu" or not _usual_generator():
        return False
    heads, side = weights.P.shape[-3], weights.P.shape[-1]
    numbers = batch * (problem.n + 2) * side
    fitting = heads == 1 and side <= LARGEST_SIDE and numbers < MOST_NUMBERS
    return fitting and weights.P.dtype == jnp.float32 and _target(side) is not None


def loss_and_gradient(
    weights: FullWeights,
    key: UInt32[Array, "2"],
    noise: NoiseTable,
    problem: NoisyRegression,
    batch: int,
    query: bool = False,
) -> tuple[Float[Array, " members"], FullWeights]:
    """The mean of 1/2 ||w^L(G) - w||^2 of every member, and its gradient in the weights.

    Parameters
    ----------
    weights
        The population, with the members as first axis.
    key
        The data of the key of the batch, from which `draw_batch` draws the same sequences.
    noise
        The noise law of every member.
    problem, batch
        Dimension, context and variances of the sequences, and how many there are.
    query
        Whether 1/2 <w^L(G) - w, x>^2 at the query x of a sequence takes the place of its loss.
    """
    P, Q = (part[:, :, 0] for part in (weights.P, weights.Q))
    name = _target(P.shape[-1])
    assert name is not None
    shapes = [P.shape[:1], P.shape, Q.shape]
    call = jax.ffi.ffi_call(name, [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes])
    scale = jnp.sqrt(problem.variances(jnp.float32))
    keys = jax.random.key_data(jax.random.split(jax.random.wrap_key_data(key)))
    sizes = {"batch": np.int64(batch), "n": np.int64(problem.n), "query": np.int64(query)}
    loss, dP, dQ = call(P, Q, keys, *noise, scale, **sizes)
    return loss, jax.vmap(FullWeights)(dP[:, :, None], dQ[:, :, None])


def _usual_generator() -> bool:
    """Whether `jax.random` uses its default generator, which the kernel repeats.

    A release of JAX without one of the two options has no other choice than its default.
    """
    generator = getattr(jax.config, "jax_default_prng_impl", USUAL_GENERATOR)
    return generator == USUAL_GENERATOR and getattr(jax.config, "jax_threefry_partitionable", True)


@lru_cache
def _target(side: int) -> str | None:
    """The name under which `jax.ffi.ffi_call` finds the kernel; None where it does not compile.

    The first time that it does not, a warning says why.
    """
    try:
        # What the compiler knows of this processor: a cache folder may be shared by several.
        macros = compiled.run([*FOR_THIS_PROCESSOR, "-x", "c++", "-dM", "-E", "/dev/null"], SOURCE)
        known = hashlib.sha256(macros.encode()).hexdigest()
        found = compiled.library(FOLDER, SOURCE, (*COMMAND, f"-DSIDE={side}"), known)
        name = f"{SYMBOL}_{found.stem}"
        if name not in _registered:
            function = ctypes.CDLL(str(found))[SYMBOL]
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform="cpu")
            _registered.add(name)
    except (UserError, OSError) as error:
        warnings.warn(f"{SLOWER} {error}", RuntimeWarning, stacklevel=2)
        return None
    return name
