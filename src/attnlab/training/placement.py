"""Members on one device or sharded over several: every device runs its own, none communicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

MEMBERS = "members"


def mesh_of(devices: Sequence[Any] | None) -> Mesh | None:
    """The mesh of several devices; None for one device or none given."""
    if devices is None or len(devices) == 1:
        return None
    return Mesh(np.asarray(devices), (MEMBERS,))


def place(tree: PyTree, mesh: Mesh | None, shared: bool = False) -> PyTree:
    """A tree on the devices, sharded by its first axis unless it is `shared` by all members.

    Where the devices do not divide the members, copies of the last member fill them up.
    """
    if mesh is None:
        return jax.tree.map(jnp.asarray, tree)
    if shared:
        return jax.device_put(tree, NamedSharding(mesh, PartitionSpec()))
    sharding = NamedSharding(mesh, PartitionSpec(MEMBERS))

    def spread(leaf: Any) -> Array:
        leaf = jnp.asarray(leaf)
        filled = np.minimum(np.arange(-(-len(leaf) // mesh.size) * mesh.size), len(leaf) - 1)
        return jax.device_put(leaf[filled] if len(filled) > len(leaf) else leaf, sharding)

    return jax.tree.map(spread, tree)


def first(tree: PyTree, count: int) -> PyTree:
    """The first `count` members: without the copies that fill up the devices."""
    return jax.tree.map(lambda leaf: leaf if len(leaf) == count else leaf[:count], tree)


def over_members(
    one: Callable[..., Any], mesh: Mesh | None, axes: tuple[int | None, ...]
) -> Callable[..., Any]:
    """`one` over the members' axis.

    `axes` has 0 for an argument that every member has of its own, and None for a shared one.
    """
    run = jax.vmap(one, in_axes=axes)
    if mesh is None:
        return run
    specs = tuple(PartitionSpec() if axis is None else PartitionSpec(MEMBERS) for axis in axes)
    return jax.shard_map(
        run, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(MEMBERS), check_vma=False
    )
