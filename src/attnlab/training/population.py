"""The population trainer: many members in one compiled program, whatever they learn.

A member is its weights, its own data and hyperparameters, and the key of its batches; the loss and
the optimiser are written for one member and one step. Steps run in chunks, and chunks that take
long in pieces (`pieces`); between two of them the host reports progress and saves a checkpoint, and
after a chunk it reads what the guard did. The key of step t is fold_in(key, t), so nothing random
depends on either.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from attnlab import arguments
from attnlab.errors import Stopped, UserError
from attnlab.training.checkpoint import Checkpoint, Snapshot, as_checkpoint
from attnlab.training.fingerprint import describe, fingerprint
from attnlab.training.guard import traced
from attnlab.training.history import History
from attnlab.training.member import Memory, State, Trace, begin
from attnlab.training.options import TrainingOptions
from attnlab.training.outcome import Event, Trained, statuses
from attnlab.training.pieces import Chunks, Reached, axis
from attnlab.training.placement import first, mesh_of, over_members, place
from attnlab.training.program import Clock, Loss, MemberFunctions, Optimiser

Progress = Callable[[int, int, float], None]
TRACE = {f"trace/{name}" for name in Trace._fields}  # the arrays of a chunk under way


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
    options: TrainingOptions | None = None,
    progress: Progress | None = None,
    reached: Callable[[int, int], None] | None = None,
    checkpoint: Checkpoint | Path | str | None = None,
    stop: Callable[[], bool] | None = None,
    devices: Sequence[Any] | None = None,
) -> Trained:
    """Train every member for `steps` steps: params <- params + factor rate update.

    An update that is not finite is skipped, and a member that diverges is restored (`Guard`). One
    program is compiled for the shapes, the chunk and the functions: pass the same functions (or
    frozen dataclasses that can be called) and put numbers into `members`, and a sweep over them
    compiles once.

    Parameters
    ----------
    loss
        `loss(params, key, member)`: the loss of one member on the batch of one key.
    params
        The weights at the start: a tree of floating-point arrays with the members as first axis.
    members
        The members' own data and hyperparameters: a tree of arrays with the same first axis.
    key
        One key per member, or a single key whose batches all members share: what `loss` draws
        from the key alone is then drawn once.
    optimiser
        An optax optimiser, or a function that builds one from a member's traced values.
    steps
        Steps in all.
    options
        Chunk, learning rate, score, clipping, averages, guard and replay.
    progress
        Called as `progress(step, steps, mean loss)` after every chunk.
    reached
        Called as `reached(step, steps)` after every piece of a chunk, before a snapshot is saved.
    checkpoint
        A path, or an object that keeps snapshots (`checkpoint.Checkpoint`). A run that was killed
        continues from the last snapshot, bit for bit; a snapshot of another run is refused.
    stop
        Called between pieces of chunks. Where it returns True the run saves a snapshot and raises
        `Stopped`.
    devices
        Devices over which the members are sharded; None for the default device.

    Raises
    ------
    Stopped
        If `stop` returned True before the last step; the checkpoint holds the run so far.
    """
    steps, options = arguments.integer("steps", steps, 1), options or TrainingOptions()
    count = _count(params, members, key)
    functions = MemberFunctions(
        loss,
        optimiser,
        options.rate,
        options.evaluate,
        averaged=options.average is not None,
        clips=not np.isposinf(options.clip).all(),
    )
    dtype = jnp.result_type(*jax.tree.leaves(params))
    controls = traced(options.guard, options.clip, options.average, count, dtype)
    keeper, configuration = as_checkpoint(checkpoint), {}
    if keeper is not None:
        configuration = _configuration(functions, steps, options, params, members, key, controls)

    mesh = mesh_of(devices)
    params, members, controls = (place(tree, mesh) for tree in (params, members, controls))
    keys = place(key, mesh, shared=not key.ndim)
    chunks = Chunks(functions, options, mesh, members, keys, controls)
    at = Reached(0, *_begin(functions, mesh, params, members, keys))
    history = History.empty(-(-steps // options.chunk), count, at.state.lowest.dtype)
    held = None if keeper is None else keeper.load()
    if held is not None:
        like = _saved(at, key, history, count)
        if held.arrays.keys() >= TRACE:
            like |= _under_way(0, first(chunks.empty_trace(at.state), count))
        tree = held.tree(like, configuration, str(keeper))
        arrays = {name: np.array(array) for name, array in tree["history"].items()}
        history = History(arrays, [Event.read(record) for record in held.notes])
        parts = (place(tree.get(name), mesh) for name in ("state", "memory", "trace"))
        at = Reached(int(tree.get("step", history.step)), *parts)

    while history.step < steps and history.active:
        clock = Clock(*(np.int32(value) for value in (history.step, steps, options.replay)))
        at = chunks.advance(at, clock, history.diverged)
        before, means = history.chunks, []
        for report in jax.device_get([first(report, count) for report in at.reports]):
            end = min(history.step + options.chunk, steps)
            history.record(report, end)
            seen = report.loss[np.isfinite(report.loss)]
            means.append((end, float(seen.mean()) if seen.size else math.inf))
        over = history.step == steps or not history.active
        stopping = not over and stop is not None and stop()
        if reached is not None:
            reached(at.step, steps)
        passed = range(before + 1, history.chunks + 1) or (before,)
        if keeper is not None and (over or stopping or any(map(keeper.due, passed))):
            saved = _saved(at, key, history, count)
            if at.trace is not None:
                saved |= _under_way(at.step, first(at.trace, count))
            notes = [event.record() for event in history.events]
            keeper.save(Snapshot.of(jax.device_get(saved), configuration, notes))
        if progress is not None:
            for end, mean in means:
                progress(end, steps, mean)
        if stopping:
            raise Stopped(at.step, steps, None if keeper is None else str(keeper))
    return _trained(first(at.state, count), first(at.memory, count), history)


def _trained(state: State, memory: Memory, history: History) -> Trained:
    return Trained(
        params=state.now.params,
        best=memory.best,
        averaged=state.now.average,
        best_score=np.asarray(memory.best_score),
        best_step=np.asarray(memory.best_step),
        ends=history.column("ends"),
        losses=history.column("losses"),
        scores=history.column("scores"),
        events=tuple(history.events),
        status=statuses(len(memory.best_step), history.step, history.events),
    )


@functools.partial(jax.jit, static_argnames=("functions", "mesh"))
def _begin(functions, mesh, params, members, keys):
    def one(params, member, key):
        return begin(functions, params, member, key)

    return over_members(one, mesh, (0, 0, axis(keys)))(params, members, keys)


def _count(params: PyTree, members: PyTree, key: Any) -> int:
    """The number of members, if all that is given agrees on it."""
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


def _configuration(
    functions: MemberFunctions,
    steps: int,
    options: TrainingOptions,
    params: PyTree,
    members: PyTree,
    key: Array,
    controls: PyTree,
) -> Mapping[str, Any]:
    """What is to be computed, as a checkpoint carries it."""
    sizes = {"steps": steps, "chunk": options.chunk, "replay": options.replay}
    digests = {"params": params, "members": members, "key": key, "controls": controls}
    return {
        **{name: describe(part) for name, part in vars(functions).items()},
        **sizes,
        "members": len(controls.clip),
        **{f"digest of {name}": fingerprint(tree) for name, tree in digests.items()},
    }


def _saved(at: Reached, key: Array, history: History, count: int) -> dict[str, PyTree]:
    return {
        "state": first(at.state, count),
        "memory": first(at.memory, count),
        "key": jax.random.key_data(key),
        "history": history.arrays,
    }


def _under_way(step: int, trace: Trace) -> dict[str, PyTree]:
    """What a snapshot inside of a chunk has beyond one between two chunks."""
    return {"step": np.asarray(step, np.int64), "trace": trace}
