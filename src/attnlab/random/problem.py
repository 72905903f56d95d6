"""Single-index regression in context: prompts of labelled pairs and one query.

Source: Demir, Dogan (arXiv 2509.15152). x ~ N(0, I_d/d), xi ~ N(0, I_d), y = s(xi^T x) + eps with
eps ~ N(0, rho). A model sees a prompt only through H = x_{l+1} b^T with
b = [(d/l) sum_i y_i x_i, (1/l) sum_i y_i^2], so that many prompts are kept as pairs (x_{l+1}, b):
H has rank one. Prompt i is computed from row i of a stream of random words (`philox`), on the host
and on an accelerator by the same lines, so that neither the number of prompts nor the size of a
block nor the device changes any of them beyond rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.maths.hermite import Activation, activation_function
from attnlab.random.philox import (
    CHUNK,
    HostWords,
    Key,
    Stream,
    device_words,
    host_normals,
    key_of,
    key_of_jax,
    row_normals,
)
from attnlab.random.prompts import FullPrompt, Prompts

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray

TasksOf = Literal["pool", "fresh"]
Split = Literal["train", "test"]
STREAMS: dict[tuple[Split, TasksOf], Stream] = {
    ("train", "pool"): Stream.TRAIN_POOL,
    ("train", "fresh"): Stream.TRAIN_FRESH,
    ("test", "pool"): Stream.TEST_POOL,
    ("test", "fresh"): Stream.TEST_FRESH,
}


@dataclass(frozen=True)
class SingleIndexRegression:
    """A distribution over prompts: labels y = s(xi^T x) + noise, with a task xi for each prompt.

    Parameters
    ----------
    d
        Dimension of an input.
    length
        Labelled pairs in a prompt, l.
    tasks
        Task vectors in the training pool, k; None for a fresh task for each prompt.
    target
        The link function s: a name or a callable.
    noise
        Variance of the label noise, rho.
    """

    d: int
    length: int
    tasks: int | None
    target: Activation = "linear"
    noise: float = 0.01

    def __post_init__(self) -> None:
        arguments.integer("d", self.d, 1)
        arguments.integer("length", self.length, 1)
        if self.tasks is not None:
            arguments.integer("tasks", self.tasks, 1)
        activation_function(self.target)
        object.__setattr__(self, "noise", arguments.non_negative("noise", self.noise))

    @property
    def directions(self) -> int:
        """d (d + 1), the number of entries of H."""
        return self.d * (self.d + 1)

    def memory_needed(self, count: int) -> float:
        """Bytes that `count` prompts need: the pool, the prompts, and a chunk while it is drawn."""
        pool = 16.0 * (self.tasks or 0) * self.d
        words = self._words(True)
        return pool + 8.0 * count * (2 * self.d + 3) + 64.0 * min(max(CHUNK, words), count * words)

    def sample(self, key: PRNGKeyArray) -> FullPrompt:
        """Draw one prompt with a fresh task, as float32 arrays of JAX.

        A prompt of the pool has the same law, over the draw of the pool.
        """
        return _sampler(self)(key)

    def pool(self, seed: int) -> Float[np.ndarray, "k d"] | None:
        """The task vectors of the pool, None where every prompt has a task of its own."""
        if self.tasks is None:
            return None
        return host_normals(key_of(seed), Stream.POOL, 0, self.tasks, self.d, dtype=np.float64)

    def prompts(
        self,
        count: int,
        *,
        seed: int,
        tasks: TasksOf = "pool",
        split: Split = "train",
        block: int = 4096,
    ) -> Iterator[Prompts]:
        """Prompts in blocks, in float64.

        Parameters
        ----------
        count
            How many; fewer prompts are the first ones of more.
        seed
            Seed of the pool and of the prompts.
        tasks
            Whether tasks come from the pool or are fresh.
        split
            Training and test prompts are different draws.
        block
            At most so many prompts per block, which changes none of them.
        """
        count, block = arguments.integer("count", count, 0), arguments.integer("block", block, 1)
        tasks = arguments.one_of("tasks", tasks, ("pool", "fresh"))
        stream = STREAMS[arguments.one_of("split", split, ("train", "test")), tasks]
        key, pool = key_of(seed), self.pool(seed) if tasks == "pool" else None
        for start in range(0, count, block):
            yield self._host_prompts(key, stream, start, min(block, count - start), pool)

    def all_prompts(self, count: int, *, seed: int, tasks: TasksOf, split: Split) -> Prompts:
        """The same prompts in one piece of count (2 d + 3) numbers."""
        count = arguments.integer("count", count, 1)
        return next(self.prompts(count, seed=seed, tasks=tasks, split=split, block=count))

    def draws(self, seed: int, counts: Sequence[tuple[TasksOf, Split, int]]) -> list[Prompts]:
        """So many prompts of each kind, each in one piece."""
        return [
            self.all_prompts(count, seed=seed, tasks=tasks, split=split)
            for tasks, split, count in counts
        ]

    def device_draws(
        self, key: Any, counts: Sequence[tuple[TasksOf, Split, int]], pool: Any, dtype: Any
    ) -> list[Prompts]:
        """The same prompts by JAX, those of one kind of task together."""
        import jax.numpy as jnp

        found: dict[int, Prompts] = {}
        sources: tuple[tuple[Any, TasksOf], ...] = ((pool, "pool"), (None, "fresh"))
        for source, own in sources:
            kinds = [i for i, (tasks, _, _) in enumerate(counts) if tasks == own]
            if not kinds:
                continue
            sizes = [counts[i][2] for i in kinds]
            rows = np.concatenate([np.arange(size) for size in sizes])
            streams = np.repeat([int(STREAMS[counts[i][1], own]) for i in kinds], sizes)
            words = device_words(key, streams, 0, rows, self._words(source is None))
            drawn = self._from_words(jnp, words, source, dtype)
            cuts = np.cumsum(sizes)[:-1]
            parts = zip(*(jnp.split(values, cuts) for values in drawn), strict=True)
            found.update(zip(kinds, (Prompts(*each) for each in parts), strict=True))
        return [found[i] for i in range(len(counts))]

    def full_prompts(self, count: int, *, seed: int, tasks: TasksOf = "pool") -> FullPrompt:
        """`count` prompts with every x_i written out: the definition, for oracles and tokens."""
        count = arguments.integer("count", count, 1)
        tasks = arguments.one_of("tasks", tasks, ("pool", "fresh"))
        pool = self.pool(seed) if tasks == "pool" else None
        width = self._words(pool is None, full=True)
        words = HostWords(key_of(seed), Stream.FULL_PROMPTS, 0, 0, width).take(count)
        return self._full_prompts(np, words, pool, np.float64)

    def _words(self, fresh: bool, full: bool = False) -> int:
        """Words per prompt: two normals each, and then those of the task or one that picks it."""
        return -(-self._normals(full) // 2) + (-(-self.d // 2) if fresh else 1)

    def _normals(self, full: bool) -> int:
        d, length = self.d, self.length
        return (d + 1) * (length + 1) if full else 2 * d + 2 * length + 1

    def _task(self, xp: Any, words: Any, pool: Any, dtype: Any) -> Any:
        """A fresh task from the words, or the pool's at (the first word's upper half) k / 2^32."""
        if pool is None:
            return row_normals(xp, words, self.d, dtype)
        half = np.uint64(32)
        place = ((words[..., 0] >> half) * np.uint64(len(pool))) >> half
        return xp.asarray(pool, dtype)[place.astype(np.int64)]

    def _host_prompts(self, key: Key, stream: Stream, start: int, count: int, pool: Any) -> Prompts:
        """Prompts start .. start + count in float64, a few at a time so that they stay in cache."""
        words = self._words(pool is None)
        source, step = HostWords(key, stream, 0, start, words), max(CHUNK // words, 1)
        shapes = ((count, self.d), (count, self.d + 1), (count,), (count,))
        found = Prompts(*(np.empty(shape) for shape in shapes))
        for at in range(0, count, step):
            part = self._from_words(np, source.take(min(step, count - at)), pool, np.float64)
            for whole, values in zip(found, part, strict=True):
                whole[at : at + step] = values
        return found

    def _from_words(self, xp: Any, words: Any, pool: Any, dtype: Any) -> Prompts:
        """The prompts of rows of words, by NumPy or JAX.

        Given its task, a context enters b through u_i = xi^T x_i and, orthogonally to xi, through
        a Gaussian of variance sum_i y_i^2 / d: 2 l + d numbers are drawn for it and not l d.
        """
        d, length, target = self.d, self.length, activation_function(self.target)
        width = self._normals(False)
        half = -(-width // 2)
        normals = row_normals(xp, words[..., :half], width, dtype)
        task = self._task(xp, words[..., half:], pool, dtype)
        noise = math.sqrt(self.noise) * normals[..., 2 * d + length :]
        query = normals[..., :d] / math.sqrt(d)
        signal = (task * query).sum(-1)
        label = target(signal) + noise[..., length]
        norm = (task * task).sum(-1)[..., None]
        u = normals[..., 2 * d : 2 * d + length] * xp.sqrt(norm / d)
        y = target(u) + noise[..., :length]
        g = normals[..., d : 2 * d]
        g = g - (g * task).sum(-1)[..., None] / norm * task
        squares = (y * y).sum(-1)[..., None]
        along = (y * u).sum(-1)[..., None] / norm * task
        first = d / length * (along + xp.sqrt(squares / d) * g)
        memory = xp.concatenate([first, squares / length], axis=-1)
        return Prompts(query, memory, label, signal)

    def _full_prompts(self, xp: Any, words: Any, pool: Any, dtype: Any) -> FullPrompt:
        d, length, target = self.d, self.length, activation_function(self.target)
        width = self._normals(True)
        half = -(-width // 2)
        normals = row_normals(xp, words[..., :half], width, dtype)
        task = self._task(xp, words[..., half:], pool, dtype)
        x = normals[..., : d * (length + 1)].reshape(*words.shape[:-1], length + 1, d)
        x = x / math.sqrt(d)
        noise = math.sqrt(self.noise) * normals[..., d * (length + 1) :]
        y = target((x * task[..., None, :]).sum(-1)) + noise
        return FullPrompt(x[..., :-1, :], y[..., :-1], x[..., -1, :], y[..., -1], task)


@lru_cache(maxsize=64)
def _sampler(problem: SingleIndexRegression) -> Callable[[PRNGKeyArray], FullPrompt]:
    """`problem.sample` as one compiled program."""
    import jax
    import jax.numpy as jnp

    def sample(key: PRNGKeyArray) -> FullPrompt:
        with jax.enable_x64(True):  # for 64-bit random words
            width = problem._words(fresh=True, full=True)
            words = device_words(key_of_jax(key), Stream.FULL_PROMPTS, 0, 0, width)
            return problem._full_prompts(jnp, words, None, jnp.float32)

    return jax.jit(sample)
