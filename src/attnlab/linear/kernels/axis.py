"""Answers of many axis networks on many sequences, and their Jacobian in the weights.

On a GPU with nvcc these are the kernels of `cuda/axis_network.cu`, with one thread per sequence.
They stay for their speed: the search of `attnlab.linear.training.fresh_sample` spends its time
here. Elsewhere the answers are `jax.vmap` of `final_weights`, which is also the test of the
kernels. The sequences are the last axis.
"""

import itertools
from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from attnlab.linear.kernels.cuda import compiled
from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.models.transformer import final_weights

DEEPEST = 16
"""The most layers that the kernels can hold."""


@partial(jax.jit, static_argnames="kernel")
def answers(
    weights: AxisWeights, G: Float[Array, "sequences p p"], kernel: bool | None = None
) -> Float[Array, "members d sequences"]:
    """w^L of every network (the first axis of `weights`) on every sequence.

    `kernel` says whether to call the compiled kernel; it is called where there is one by default.
    """
    if _chosen(kernel, weights):
        return _call_answers(weights, packed(G)[None], keep=False)[0]
    each = jax.vmap(partial(_one, weights), out_axes=-1)
    return each(G)


@partial(jax.jit, static_argnames="kernel")
def answers_and_jacobian(
    weights: AxisWeights, G: Float[Array, "members sequences p p"], kernel: bool | None = None
) -> tuple[Float[Array, "members d sequences"], Float[Array, "members numbers d sequences"]]:
    """w^L of every network on sequences of its own, and its derivative in the network's numbers.

    The numbers are in the order of `ravel_pytree` of one network.
    """
    if _chosen(kernel, weights):
        w, states = _call_answers(weights, jax.vmap(packed)(G), keep=True)
        return w, _call_jacobian(weights, states)
    return jax.vmap(_with_jacobian)(weights, G)


def numbers(weights: AxisWeights) -> Float[Array, "members numbers"]:
    """All weights of every network, as one row per network."""
    return jax.vmap(lambda one: ravel_pytree(one)[0])(weights)


def from_numbers(like: AxisWeights, theta: Float[Array, "members numbers"]) -> AxisWeights:
    """The networks with these numbers, with the shapes of the networks `like`."""
    _, unravel = ravel_pytree(jax.tree.map(lambda leaf: leaf[0], like))
    return jax.vmap(unravel)(theta)


def packed(G: Float[Array, "sequences p p"]) -> Float[Array, "packed sequences"]:
    """The lower halves of symmetric matrices by rows, with the sequences as the last axis."""
    rows, columns = np.tril_indices(G.shape[-1])
    return G[:, rows, columns].T


def _chosen(kernel: bool | None, weights: AxisWeights) -> bool:
    fits = weights.p_rest.shape[1] <= DEEPEST
    return fits and (compiled.available() if kernel is None else kernel)


def _one(weights: AxisWeights, G: Float[Array, "p p"]) -> Float[Array, "members d"]:
    return jax.vmap(lambda one: _answer(one, G))(weights)


def _answer(weights: AxisWeights, G: Float[Array, "p p"]) -> Float[Array, " d"]:
    # On a GPU unrolled layers need half as many kernel launches; elsewhere they only cost time to
    # compile.
    return final_weights(weights, G, unroll=jax.default_backend() == "gpu")


def _with_jacobian(weights: AxisWeights, G: Float[Array, "sequences p p"]) -> tuple[Array, Array]:
    theta, unravel = ravel_pytree(weights)
    d = G.shape[-1] - 1

    def one(G: Array) -> tuple[Array, Array]:
        w, back = jax.vjp(lambda theta: _answer(unravel(theta), G), theta)
        return w, jax.vmap(back)(jnp.eye(d, dtype=theta.dtype))[0].T

    return jax.vmap(one, out_axes=-1)(G)


def _by_layer(weights: AxisWeights) -> Float[Array, "members layers numbers"]:
    """p, p_rest, q and q_rest of every layer, as one row per layer."""
    members, layers = weights.p_rest.shape
    parts = (weights.p, weights.p_rest, weights.q, weights.q_rest)
    return jnp.concatenate([part.reshape(members, layers, -1) for part in parts], axis=2)


def _kernel(
    symbol: str, weights: AxisWeights, lowers: Float[Array, "*some packed sequences"]
) -> tuple[str, int]:
    """The name of a kernel for these networks and packed matrices, and the matrices' d."""
    side = next(p for p in itertools.count(2) if p * (p + 1) // 2 == lowers.shape[-2])
    sizes = {"SIDE": side, "AXES": weights.axes, "DEEPEST": DEEPEST}
    return compiled.target("axis_network.cu", symbol, lowers.dtype, **sizes), side - 1


def _call_answers(
    weights: AxisWeights, G: Float[Array, "some packed sequences"], keep: bool
) -> Sequence[Array]:
    """w, and G before every layer if `keep` is set."""
    members, layers = weights.p_rest.shape
    name, d = _kernel("axis_answers", weights, G)
    shapes = [(members, d, G.shape[2]), (members if keep else 0, layers, *G.shape[1:])]
    results = [jax.ShapeDtypeStruct(shape, G.dtype) for shape in shapes]
    return jax.ffi.ffi_call(name, results)(_by_layer(weights), G)


def _call_jacobian(
    weights: AxisWeights, states: Float[Array, "members layers packed sequences"]
) -> Float[Array, "members numbers d sequences"]:
    members, layers, _, sequences = states.shape
    name, d = _kernel("axis_jacobian", weights, states)
    given = _by_layer(weights)
    shape = jax.ShapeDtypeStruct((members, given[0].size, d, sequences), states.dtype)
    J = jax.ffi.ffi_call(name, shape)(given, states)
    by_layer = J.reshape(members, layers, 2, -1, d, sequences)
    parts = (by_layer[:, :, i, part] for i in (0, 1) for part in (slice(None, -1), slice(-1, None)))
    return jnp.concatenate([part.reshape(members, -1, d, sequences) for part in parts], axis=1)
