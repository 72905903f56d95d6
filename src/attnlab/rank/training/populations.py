"""How a population of encoders or layers is trained and evaluated in this paper.

AdamW without weight decay, betas (.9, .95), linear warm-up over 5% of the steps, then a cosine to
0; fresh prompts at every step unless `replay` is given. Each model is evaluated on held-out
batches, the same for all and in float32; the least training loss is kept as the paper's figures
show it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from attnlab.rank.training.losses import EncoderLoss, LayerLoss, held_out_losses
from attnlab.stats import Estimate
from attnlab.training.flat_weights import FlatLoss, flatten
from attnlab.training.options import TrainingOptions
from attnlab.training.outcome import Trained
from attnlab.training.population import member_keys, train
from attnlab.training.schedule import Betas, Schedule, adam, equal_members, scheduled_rate

WARMUP = 0.05  # of the steps
BETAS = Betas(0.9, 0.95)
CHUNK = 100  # steps; the paper's epoch, over whose batches it averages the training loss
HELD_OUT = 256  # batches of held-out prompts


@dataclass(frozen=True, repr=False)
class Population:
    """Trained models, stacked, with what training did and their errors on held-out prompts.

    The error of a member that diverged is infinite; `trained.status` says what happened.
    """

    models: Any
    trained: Trained
    errors: tuple[Estimate, ...]

    def __len__(self) -> int:
        return len(self.errors)

    def member(self, index: int) -> Any:
        """One of the models."""
        return jax.tree.map(lambda leaf: leaf[index], self.models)

    @property
    def weights(self) -> int:
        """Numbers in one model."""
        return sum(leaf[0].size for leaf in jax.tree.leaves(self.models))

    def __repr__(self) -> str:
        return f"Population({', '.join(map(str, self.errors))})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{i}</td><td>{error}</td><td>{status}</td></tr>"
            for i, (error, status) in enumerate(zip(self.errors, self.trained.status, strict=True))
        )
        head = "<tr><th>member</th><th>held-out error</th><th>status</th></tr>"
        return f"<table>{head}{rows}</table>"


def train_population(
    loss: EncoderLoss | LayerLoss,
    start: Any,
    keys: tuple[PRNGKeyArray, PRNGKeyArray],
    steps: int,
    rate: float,
    *,
    replay: int = 0,
    chunk: int = CHUNK,
    **watched: Any,
) -> Population:
    """Train stacked models and evaluate them on held-out prompts.

    Parameters
    ----------
    loss
        Problem and batch size.
    start
        The models at the start, stacked.
    keys
        Key of the training prompts, and key of the held-out ones.
    steps, rate
        Training steps, and the peak of the learning rate.
    replay
        Number of batches that are used again and again; 0 for a fresh stream.
    chunk
        Steps over which the reported losses are averaged.
    watched
        progress, checkpoint, stop and devices of `attnlab.training.population.train`.
    """
    members, for_training, for_test = len(jax.tree.leaves(start)[0]), *keys
    # One vector compiles faster; on a GPU it would be joined and cut at every step.
    layout, given = flatten(start) if jax.default_backend() == "cpu" else (None, start)
    trained = train(
        loss if layout is None else FlatLoss(loss, layout),
        given,
        equal_members(members, schedule(rate, steps), BETAS, jnp.float32),
        member_keys(for_training, members),
        adam,
        steps=steps,
        options=TrainingOptions(
            chunk=min(chunk, steps), rate=scheduled_rate, replay=replay, fast_compile=True
        ),
        **watched,
    )
    weights = jax.tree.map(np.asarray, trained.params)
    models = weights if layout is None else layout.model(weights)
    exact = replace(loss, in_float32=True) if isinstance(loss, EncoderLoss) else loss
    values = np.asarray(held_out_losses(exact, HELD_OUT, models, for_test), float)
    values[list(trained.stopped)] = np.inf
    return Population(models, trained, tuple(map(Estimate.of, values)))


def schedule(rate: float, steps: int) -> Schedule:
    """Linear warm-up to `rate` over a twentieth of the steps, then a cosine to 0."""
    return Schedule(rate, WARMUP * steps, steps, 0.0)
