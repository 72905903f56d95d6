"""FULL networks: every entry of P and Q free, trained by Adam from random weights.

Source: Vladymyrov et al. (arXiv 2402.14180), which trains by Adam at rate 1e-4 with 2,048 sequences
per step for 200,000 steps, and names neither the weights at the start nor any clipping. The loss
is that of `full_loss`. All members of a population have the same inputs and differ in the noise, as
in `batches`.

A deep network overflows on rare sequences. An update that is not finite is skipped, and of each
member the weights with the least loss on held-out sequences at the end of a chunk are kept. The
recipe "printed" does neither, as in the paper.
"""

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from attnlab import arguments
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import Fixed, NoiseLaw
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.batches import noise_tables
from attnlab.linear.training.fixed_sample import draw
from attnlab.linear.training.full_loss import FullLoss, HeldOutLoss
from attnlab.linear.training.recipes import RegressionMember, small_random
from attnlab.training.guard import Guard
from attnlab.training.options import TrainingOptions
from attnlab.training.outcome import Trained
from attnlab.training.population import train
from attnlab.training.schedule import Betas, Schedule, adam, scheduled_rate

WORST = 1e-3  # the share of sequences that is left out of the body of a loss
STEADY = 0.05  # of the mean, the largest standard error without a heavy tail
EVALUATION_SEED = 1_000_003  # of the sequences of `evaluate`, which no training uses
FINITE_ONLY = Guard(limit=math.inf, good=math.inf)  # restores no member; updates are still checked


@dataclass(frozen=True)
class FullRecipe:
    """How FULL is trained.

    Parameters
    ----------
    scale
        Standard deviation of every entry at the start.
    learning_rate, warmup, final
        The largest rate, the fraction of the steps over which it rises, and the rate at the last
        step as a fraction of the largest, reached along a cosine.
    clip
        The largest norm of a gradient; None for no clipping.
    batch
        Sequences per step.
    literal
        Whether a sequence counts by its loss at one query, the weights of the last step are kept,
        and a member is lost at its first update that is not finite, as in the paper. Otherwise its
        loss is averaged over the query, the weights of least held-out loss are kept, and updates
        that are not finite are skipped.
    """

    scale: float = 0.003
    learning_rate: float = 1e-4
    warmup: float = 0.02
    final: float = 0.0
    clip: float | None = 0.5
    batch: int = 2048
    literal: bool = False

    def __post_init__(self) -> None:
        for name in ("scale", "learning_rate", "warmup", "final"):
            arguments.non_negative(name, getattr(self, name))
        if self.clip is not None:
            arguments.positive("clip", self.clip)
        arguments.integer("batch", self.batch, 1)


RECIPES = {
    "clipped": FullRecipe(),
    # Of every depth of `full_growth`.
    "grown": FullRecipe(scale=0.004, learning_rate=1e-3),
    # The paper's; it does not say from which weights it starts.
    "printed": FullRecipe(warmup=0.0, final=1.0, clip=None, literal=True),
}


def recipe_of(name: str) -> FullRecipe:
    """The recipe of this name: "printed" where it begins so, and else "clipped"."""
    return RECIPES["printed" if name.startswith("printed") else "clipped"]


def start(
    laws: Sequence[NoiseLaw],
    seeds: int,
    depth: int,
    d: int,
    scale: float,
    layers: int | None = None,
) -> FullWeights:
    """The random weights of every law and seed, the seeds of one law next to each other.

    They depend on the law, the seed and the depth, and not on what else is trained with them.
    There are `depth` layers of them, or as many as `layers` says.
    """
    keys = jnp.concatenate([starting_keys(law.name, seeds, depth) for law in laws])
    count = depth if layers is None else layers
    return small_random("full", keys, count, d, scale=scale, dtype=np.float32)


def starting_keys(name: str, seeds: int, depth: int) -> Array:
    """One key per seed for the weights at the start, by a name and the depth."""
    return jnp.stack(
        [
            jax.random.fold_in(
                jax.random.fold_in(jax.random.key(seed), depth), zlib.crc32(name.encode())
            )
            for seed in range(seeds)
        ]
    )


def train_full(
    problem: NoisyRegression,
    laws: Sequence[NoiseLaw],
    depth: int,
    recipe: FullRecipe,
    *,
    seeds: int,
    steps: int,
    seed: int = 0,
    held_out: int = 32_768,
    chunk: int = 1000,
    begin: FullWeights | None = None,
    **watched: Any,
) -> Trained:
    """Train FULL networks of one depth on every law, from `seeds` random starts each.

    Parameters
    ----------
    problem
        The problem, whose noise law is replaced by `laws`.
    laws, seeds
        Member i has law i // seeds and the start i % seeds.
    depth
        The number of layers.
    recipe, steps
        How they are trained, and for how many steps.
    seed
        The seed of the sequences, which all members share.
    held_out, chunk
        Sequences by which the weights of a member are chosen, after every `chunk` steps.
    begin
        The weights at the start, in the order of the members, in place of random ones.
    watched
        `progress`, `checkpoint` and `stop` of `attnlab.training.population.train`.
    """
    # Compiled programs are kept for the problem, so its unused noise law must always be the same.
    problem = replace(problem, noise=Fixed(0))
    if begin is None:
        begin = start(laws, seeds, depth, problem.d, recipe.scale)
    return train(
        FullLoss(problem, recipe.batch, recipe.literal),
        begin,
        equal_members([law for law in laws for _ in range(seeds)], recipe, steps),
        jax.random.fold_in(jax.random.key(seed), depth),
        adam,
        steps=steps,
        options=options_of(recipe, chunk, HeldOutLoss(problem, held_out)),
        **watched,
    )


def kept(trained: Trained, recipe: FullRecipe) -> PyTree:
    """The weights of every member that a recipe keeps; NaN for one that is lost."""
    if not recipe.literal:
        return trained.best
    lost = np.zeros(len(trained.status), bool)
    lost[[event.member for event in trained.events]] = True
    return jax.tree.map(
        lambda part: np.where(lost.reshape(-1, *[1] * (np.ndim(part) - 1)), np.nan, part),
        trained.params,
    )


def equal_members(laws: Sequence[NoiseLaw], recipe: FullRecipe, steps: int) -> RegressionMember:
    """Members that are trained by one recipe, each on its own law."""

    def column(value: float) -> Float[Array, " members"]:
        return jnp.full(len(laws), value, jnp.float32)

    rates = Schedule(recipe.learning_rate, recipe.warmup * steps, steps, recipe.final)
    return RegressionMember(
        noise_tables(laws, np.float32),
        Schedule(*map(column, rates)),
        Betas(column(0.9), column(0.999)),
    )


def options_of(recipe: FullRecipe, chunk: int, evaluate: Callable[..., Any]) -> TrainingOptions:
    """How a population is trained by a recipe; `evaluate` is the loss on held-out sequences."""
    return TrainingOptions(
        chunk=chunk,
        rate=scheduled_rate,
        evaluate=evaluate,
        clip=math.inf if recipe.clip is None else recipe.clip,
        guard=FINITE_ONLY,
    )


@dataclass(frozen=True)
class LossTail:
    """A mean loss over fresh sequences, and how much of it a few of them carry.

    `body` is the mean without the worst 0.1% of the sequences, and `share` is what these carry of
    the sum of all. Where a sequence overflows the network has diverged, and all but the body and
    the count of such sequences is infinite or None.
    """

    loss: float
    standard_error: float
    body: float
    largest: float
    share: float
    overflowed: int
    samples: int

    @property
    def diverged(self) -> bool:
        return self.overflowed > 0

    @property
    def steady(self) -> bool:
        """Whether there is no heavy tail: a standard error of at most 5% of the mean."""
        return not self.diverged and self.standard_error <= STEADY * self.loss

    @property
    def cautious(self) -> float | None:
        """Mean plus three standard errors, by which starts are ranked; None if it diverged.

        A heavy tail shows in the standard error before it shows in the mean.
        """
        return None if self.diverged else self.loss + 3 * self.standard_error

    def record(self) -> dict[str, Any]:
        """As JSON, which has no infinity."""
        return {name: value if np.isfinite(value) else None for name, value in asdict(self).items()}


def loss_tail(losses: Float[np.ndarray, " samples"]) -> LossTail:
    """The tail of the losses of single sequences, which may be infinite or NaN."""
    losses = np.sort(np.where(np.isfinite(losses), losses, np.inf).astype(np.float64))
    count = len(losses)
    worst = max(1, round(WORST * count))
    body = losses[: count - worst]
    mean_of_body = float(body.mean()) if np.isfinite(body).all() else math.inf
    overflowed = int(np.isinf(losses).sum())
    if overflowed:
        return LossTail(math.inf, math.inf, mean_of_body, math.inf, 1.0, overflowed, count)
    unit = float(losses[-1]) or 1.0  # squares overflow long before the losses do
    scaled = losses / unit
    error = unit * float(scaled.std(ddof=1)) / math.sqrt(count)
    share = float(scaled[count - worst :].sum() / (scaled.sum() or 1.0))
    mean = unit * float(scaled.mean())
    return LossTail(mean, error, mean_of_body, float(losses[-1]), share, 0, count)


def evaluate(
    weights: FullWeights, problem: NoisyRegression, law: NoiseLaw, samples: int
) -> list[LossTail]:
    """The adjusted losses of networks along the first axis, in double precision.

    All networks of a law are evaluated on the same sequences, which no training uses.
    """
    with jax.enable_x64(True):
        sample = draw(replace(problem, noise=law), jax.random.key(EVALUATION_SEED), samples)
        G, oracle = jnp.asarray(sample.G), jnp.asarray(sample.oracle)
        count = len(weights.P)
        found = []
        for i in range(count):
            one = jax.tree.map(lambda part, i=i: jnp.asarray(part[i], G.dtype), weights)
            found.append(loss_tail(np.asarray(_adjusted(one, G, oracle))))
    return found


@jax.jit
def _adjusted(weights: FullWeights, G: Array, oracle: Array) -> Array:
    w = jax.vmap(final_weights, (None, 0))(weights, G)
    return jnp.square(w - oracle).sum(1) / 2
