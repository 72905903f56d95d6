"""Single-index regression in context: prompts of labelled pairs and one query.

Source: Demir, Dogan (arXiv 2509.15152). x ~ N(0, I_d/d), xi ~ N(0, I_d), y = s(xi^T x) + eps with
eps ~ N(0, rho). A model sees a prompt only through H = x_{l+1} b^T with
b = [(d/l) sum_i y_i x_i, (1/l) sum_i y_i^2], so a prompt is kept as the pair (x_{l+1}, b): H has
rank one. Prompts are drawn in fixed small groups with a generator of their own, so that neither
the size of a block nor the number of prompts changes any of them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.maths.hermite import Activation, activation_function

GROUP = 128  # prompts that share a generator
TasksOf = Literal["pool", "fresh"]
Split = Literal["train", "test"]
STREAMS = {("train", "pool"): 1, ("train", "fresh"): 2, ("test", "pool"): 3, ("test", "fresh"): 4}


class Prompts(NamedTuple):
    """n prompts: x_{l+1}, the context's b, the label y_{l+1} and its signal xi^T x_{l+1}.

    They are NumPy's or JAX's arrays, wherever the features will be computed.
    """

    query: Float[Any, "n d"]
    memory: Float[Any, "n e"]
    label: Float[Any, " n"]
    signal: Float[Any, " n"]

    def features(self) -> Float[Any, "n D"]:
        """vec(H) for each prompt, row-major: entry i (d + 1) + j is x_i b_j."""
        return (self.query[:, :, None] * self.memory[:, None, :]).reshape(len(self.label), -1)

    def square_norms(self) -> Float[Any, " n"]:
        """|vec H|^2 = |x|^2 |b|^2."""
        return (self.query**2).sum(1) * (self.memory**2).sum(1)


class Contexts(NamedTuple):
    """n prompts in full: the pairs (x_i, y_i), the query, its label and the task."""

    x: Float[np.ndarray, "n l d"]
    y: Float[np.ndarray, "n l"]
    query: Float[np.ndarray, "n d"]
    label: Float[np.ndarray, " n"]
    task: Float[np.ndarray, "n d"]

    def prompts(self) -> Prompts:
        """The same prompts as (x_{l+1}, b)."""
        _, length, d = self.x.shape
        first = d / length * np.einsum("nl,nld->nd", self.y, self.x)
        memory = np.concatenate([first, (self.y**2).mean(1, keepdims=True)], axis=1)
        return Prompts(self.query, memory, self.label, (self.task * self.query).sum(1))


@dataclass(frozen=True)
class SingleIndexRegression:
    """Dimension d, context length l, a pool of k tasks (None: a fresh task a prompt), s and rho."""

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

    def pool(self, seed: int) -> Float[np.ndarray, "k d"] | None:
        """The task vectors of the pool, None where every prompt has a task of its own."""
        if self.tasks is None:
            return None
        return generator(seed, 0).standard_normal((self.tasks, self.d))

    def prompts(
        self,
        count: int,
        *,
        seed: int,
        tasks: TasksOf = "pool",
        split: Split = "train",
        block: int = 4096,
    ) -> Iterator[Prompts]:
        """`count` prompts in blocks of at most `block`, which changes no prompt.

        Given its task, a context enters b through u_i = xi^T x_i and, orthogonally to xi, through
        a Gaussian of variance sum_i y_i^2 / d: 2 l + d numbers are drawn for it and not l d.
        """
        count, block = arguments.integer("count", count, 0), arguments.integer("block", block, 1)
        source = self._source(seed, tasks)
        stream = STREAMS[split, arguments.one_of("tasks", tasks, ("pool", "fresh"))]
        held: list[Prompts] = []
        ready = 0
        for start in range(0, count, GROUP):
            drawn = self._group(generator(seed, stream, start // GROUP), source)
            held.append(_rows(drawn, 0, min(GROUP, count - start)))
            ready += len(held[-1].label)
            while ready >= block:
                joined = _join(held)
                yield _rows(joined, 0, block)
                held, ready = [_rows(joined, block, ready)], ready - block
        if ready:
            yield _join(held)

    def all_prompts(self, count: int, *, seed: int, tasks: TasksOf, split: Split) -> Prompts:
        """The same prompts in one piece of count (2 d + 3) numbers."""
        return _join(list(self.prompts(count, seed=seed, tasks=tasks, split=split)))

    def draws(self, seed: int, counts: Sequence[tuple[TasksOf, Split, int]]) -> list[Prompts]:
        """So many prompts of each kind, each in one piece."""
        return [
            self.all_prompts(count, seed=seed, tasks=tasks, split=split)
            for tasks, split, count in counts
        ]

    def contexts(self, count: int, *, seed: int, tasks: TasksOf = "pool") -> Contexts:
        """`count` prompts with every x_i written out: the definition, for oracles and tokens."""
        count = arguments.integer("count", count, 1)
        rng, source = generator(seed, 5), self._source(seed, tasks)
        task = self._tasks(rng, source, count)
        x = rng.standard_normal((count, self.length + 1, self.d)) / math.sqrt(self.d)
        noise = math.sqrt(self.noise) * rng.standard_normal((count, self.length + 1))
        y = activation_function(self.target)(np.einsum("nld,nd->nl", x, task)) + noise
        return Contexts(x[:, :-1], y[:, :-1], x[:, -1], y[:, -1], task)

    def _source(self, seed: int, tasks: TasksOf) -> Float[np.ndarray, "k d"] | None:
        return self.pool(seed) if tasks == "pool" else None

    def _tasks(
        self, rng: np.random.Generator, source: Float[np.ndarray, "k d"] | None, count: int
    ) -> Float[np.ndarray, "n d"]:
        if source is None:
            return rng.standard_normal((count, self.d))
        return source[rng.integers(0, len(source), count)]

    def _group(self, rng: np.random.Generator, source: Float[np.ndarray, "k d"] | None) -> Prompts:
        d, length, target = self.d, self.length, activation_function(self.target)
        spread = math.sqrt(self.noise)
        task = self._tasks(rng, source, GROUP)
        query = rng.standard_normal((GROUP, d)) / math.sqrt(d)
        signal = (task * query).sum(1)
        label = target(signal) + spread * rng.standard_normal(GROUP)
        norm = (task**2).sum(1, keepdims=True)
        u = rng.standard_normal((GROUP, length)) * np.sqrt(norm / d)
        y = target(u) + spread * rng.standard_normal((GROUP, length))
        g = rng.standard_normal((GROUP, d))
        g -= (g * task).sum(1, keepdims=True) / norm * task
        squares = (y * y).sum(1, keepdims=True)
        along = (y * u).sum(1, keepdims=True) / norm * task
        first = d / length * (along + np.sqrt(squares / d) * g)
        memory = np.concatenate([first, squares / length], axis=1)
        return Prompts(query, memory, label, signal)


def rescaled(prompts: Prompts, t: Any) -> Prompts:
    """The prompts with b scaled so that |vec H|^2 = t for each: a diagnostic, not a model."""
    scale = (t / prompts.square_norms()) ** 0.5
    return prompts._replace(memory=prompts.memory * scale[:, None])


def generator(seed: int, *path: int) -> np.random.Generator:
    """The generator at a path below a seed: independent of every other path's."""
    seed = arguments.integer("seed", seed, 0)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=path)))


def _rows(prompts: Prompts, start: int, stop: int) -> Prompts:
    return Prompts(*(part[start:stop] for part in prompts))


def _join(parts: list[Prompts]) -> Prompts:
    if len(parts) == 1:
        return parts[0]
    return Prompts(*(np.concatenate(each) for each in zip(*parts, strict=True)))
