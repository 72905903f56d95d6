"""The population trainer: many members in one compiled program, whatever they learn.

A member is its weights, its own data and hyperparameters, and the key of its batches; the loss and
the optimiser are written for one member and one step. Steps run in chunks inside of one program;
between chunks the host shows progress, writes a checkpoint and reads what the guard did. The key of
step t is fold_in(key, t), so nothing random depends on the chunks.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from attnlab import arguments
from attnlab.compiling import LIGHT, is_light
from attnlab.errors import UserError
from attnlab.training import checkpoint as checkpoints
from attnlab.training.guard import Guard, traced
from attnlab.training.member import Clock, Loss, Optimiser, Program, begin, chunk
from attnlab.training.outcome import Event, Trained, events_of, statuses

Progress = Callable[[int, int, float], None]
MEMBERS = "members"


def member_keys(key: Array, members: int) -> Array:
    """fold_in(key, i) for every member i: a larger population begins with the same keys."""
    return jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(members))


def train(
    loss: Loss,
    params: PyTree,
    members: PyTree,
    key: Array,
    optimiser: Optimiser,
    *,
    steps: int,
    chunk: int = 100,
    rate: Callable[[Any, Any], Any] | None = None,
    evaluate: Callable[[Any, Any], Any] | None = None,
    clip: Any = math.inf,
    average: Any | None = None,
    guard: Guard | None = None,
    replay: int = 0,
    progress: Progress | None = None,
    checkpoint: Path | str | None = None,
    save_every: int = 1,
    devices: Sequence[Any] | None = None,
    lightly: bool = False,
) -> Trained:
    """Train every member for `steps` steps: params <- params + factor rate update.

    `loss(params, key, member)` is the loss of one member on the batch of one key. `params` and
    `members` are trees whose arrays have the members as their first axis. `key` is one key for
    each member, or a single key whose batches all share: what `loss` draws from the key alone is
    then drawn once. `optimiser` is an optax optimiser or a function of the member that makes one
    from its traced values; `rate(member, step)` multiplies its update. The gradient is clipped to
    the global norm `clip`; an update that is not finite is skipped. `average` is the decay of
    averaged weights, 1 for the mean of all steps. `evaluate(params, member)` is the held-out score
    at the end of every chunk, with its randomness fixed by itself. With `replay` the same batches
    come round again. `clip`, `average` and the guard's numbers may have one value a member.

    One program is compiled for the shapes, `chunk` and the functions; pass the same functions (or
    frozen dataclasses that can be called) and numbers through `members`, and a sweep compiles once.
    With `checkpoint` a run that was killed continues where the file ends, bit for bit. `devices`
    shards the members over several devices; copies of the last member fill them up. `lightly`
    saves compile time on a CPU (`attnlab.compiling`) and suits short runs.
    """
    steps = arguments.integer("steps", steps, 1)
    chunk = arguments.integer("chunk", chunk, 1)
    replay = arguments.integer("replay", replay, 0)
    save_every = arguments.integer("save_every", save_every, 1)
    count = _count(params, members, key)
    program = Program(loss, optimiser, rate, evaluate, average is not None)
    controls = traced(guard or Guard(), clip, average, count, _dtype(params))
    mesh = None if devices is None else Mesh(np.asarray(devices), (MEMBERS,))
    if mesh is not None and mesh.size == 1:
        mesh = None

    params, members, controls = (_place(tree, mesh) for tree in (params, members, controls))
    keys = _place(key, mesh) if key.ndim else _place(key, mesh, shared=True)
    state, memory = _begin(program, mesh, params, members, keys)
    dtype = state.lowest.dtype
    chunks = -(-steps // chunk)
    history = {
        "ends": np.zeros(chunks, np.int64),
        "losses": np.full((chunks, count), np.nan, dtype),
        "scores": np.full((chunks, count), np.nan, dtype),
        "active": np.ones(count, np.bool_),
        "done": np.zeros((), np.int64),
    }
    events: list[Event] = []
    configuration = {}
    if checkpoint is not None:
        configuration = {
            **{name: checkpoints.describe(part) for name, part in vars(program).items()},
            **{"steps": steps, "chunk": chunk, "replay": replay, "members": count},
            **{
                f"digest of {name}": checkpoints.fingerprint(_first(tree, count))
                for name, tree in (("params", params), ("members", members))
            },
            "digest of key": checkpoints.fingerprint(key),
            "digest of controls": checkpoints.fingerprint(_first(controls, count)),
        }
        if Path(checkpoint).exists():
            like = _saved(state, memory, key, history, count)
            held, notes = checkpoints.load(checkpoint, like, configuration)
            state, memory = (_place(held[name], mesh) for name in ("state", "memory"))
            history, events = held["history"], [Event.read(record) for record in notes]

    done = int(history["done"])
    step = int(history["ends"][done - 1]) if done else 0
    advance = _advance_lightly if lightly and is_light() else _advance
    while step < steps and history["active"].any():
        stop = min(step + chunk, steps)
        clock = Clock(*(np.int32(value) for value in (step, stop, replay)))
        state, memory, report = advance(
            program, chunk, mesh, state, memory, members, keys, controls, clock
        )
        report = jax.device_get(_first(report, count))
        events += events_of(report, step)
        history["ends"][done] = step = stop
        history["losses"][done], history["scores"][done] = report.loss, report.score
        history["active"] = report.active
        done += 1
        history["done"] = np.asarray(done)
        last = step == steps or not report.active.any()
        if checkpoint is not None and (done % save_every == 0 or last):
            saved = jax.device_get(_saved(state, memory, key, history, count))
            notes = [event.record() for event in events]
            checkpoints.save(checkpoint, saved, configuration, notes)
        if progress is not None:
            seen = report.loss[np.isfinite(report.loss)]
            progress(step, steps, float(seen.mean()) if seen.size else math.inf)

    state, memory = _first(state, count), _first(memory, count)
    return Trained(
        params=state.now.params,
        best=memory.best,
        averaged=state.now.average,
        best_score=np.asarray(memory.best_score),
        best_step=np.asarray(memory.best_step),
        ends=history["ends"][:done],
        losses=history["losses"][:done],
        scores=history["scores"][:done],
        events=tuple(events),
        status=statuses(count, step, events),
    )


@partial(jax.jit, static_argnames=("program", "mesh"))
def _begin(program, mesh, params, members, keys):
    def one(params, member, key):
        return begin(program, params, member, key)

    return _over_members(one, mesh, 0, keys.ndim)(params, members, keys)


def _chunk_of_all(program, length, mesh, state, memory, members, keys, controls, clock):
    def one(state, memory, member, controls, key, clock):
        return chunk(program, length, state, memory, member, key, controls, clock)

    many = _over_members(one, mesh, 1, keys.ndim)
    return many(state, memory, members, controls, keys, clock)


_advance = jax.jit(_chunk_of_all, static_argnames=("program", "length", "mesh"))
_advance_lightly = jax.jit(
    _chunk_of_all, static_argnames=("program", "length", "mesh"), compiler_options=LIGHT
)


def _over_members(one: Callable[..., Any], mesh: Mesh | None, shared: int, own_keys: int) -> Any:
    """`one` over the members' axis: of all arguments but the last `shared`, and of their keys."""

    def many(*given):
        parts = len(given) - shared - 1
        axes = (0,) * parts + (0 if own_keys else None,) + (None,) * shared
        run = jax.vmap(one, in_axes=axes)
        if mesh is None:
            return run(*given)
        specs = tuple(PartitionSpec() if axis is None else PartitionSpec(MEMBERS) for axis in axes)
        # Members never meet, so every device runs its own; there is nothing to communicate.
        spread = jax.shard_map(
            run, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(MEMBERS), check_vma=False
        )
        return spread(*given)

    return many


def _count(params: PyTree, members: PyTree, key: Any) -> int:
    leaves = jax.tree.leaves(params)
    shapes = {np.shape(leaf)[:1] for leaf in leaves + jax.tree.leaves(members)}
    if not leaves or len(shapes) != 1 or shapes == {()} or shapes == {(0,)}:
        raise UserError(
            "params and members must be arrays that all have the members as their first axis, "
            f"got {sorted(shapes)} as first axes."
        )
    if not all(jnp.issubdtype(jnp.result_type(leaf), jnp.floating) for leaf in leaves):
        raise UserError("params must hold floating-point arrays only.")
    (count,) = shapes.pop()
    typed = isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    if not typed or key.shape not in ((), (count,)):
        got = f"an array of shape {key.shape}" if typed else repr(key)
        raise UserError(f"key must be one jax.random.key or {count} of them, got {got}.")
    return count


def _dtype(params: PyTree) -> Any:
    return jnp.result_type(*jax.tree.leaves(params))


def _place(tree: PyTree, mesh: Mesh | None, shared: bool = False) -> PyTree:
    """On the devices, with copies of the last member where they do not divide the members."""
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


def _first(tree: PyTree, count: int) -> PyTree:
    return jax.tree.map(lambda leaf: leaf if len(leaf) == count else leaf[:count], tree)


def _saved(state: PyTree, memory: PyTree, key: Array, history: PyTree, count: int) -> PyTree:
    return {
        "state": _first(state, count),
        "memory": _first(memory, count),
        "key": jax.random.key_data(key),
        "history": history,
    }
