"""Trained models: the encoder of the paper's experiments, and a bare layer in the theory's setting.

A cell trains one configuration as a population of seeds in one program and has a row a seed: the
error on held-out prompts with its standard error, the least training loss as the paper reports it,
and what the heads of the first layer have become. AdamW without decay, betas (.9, .95), linear
warm-up over 5% of the steps, a cosine to 0, fresh prompts at every step unless `replay` is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from attnlab import arguments
from attnlab.compiling import fast_compile
from attnlab.errors import UserError
from attnlab.lab.cell import CellKind, Outcome
from attnlab.rank.models.attention import RankAttention, score_matrices
from attnlab.rank.models.encoder import EncoderShape
from attnlab.rank.models.encoder_init import initialise
from attnlab.rank.problem import Neighbours
from attnlab.rank.study.training import (
    EncoderLoss,
    PairLoss,
    alike,
    angle_and_norm,
    held_out,
    key_seed,
)
from attnlab.rank.theory.upper_bound import best_values, optimised_heads, random_heads
from attnlab.training.flat_weights import FlatLoss, flatten
from attnlab.training.options import TrainingOptions
from attnlab.training.outcome import Trained
from attnlab.training.population import member_keys, train
from attnlab.training.schedule import adam, scheduled_rate

WARMUP = 0.05
CHUNK = 100  # steps; the paper's epoch, over whose batches it averages the training loss
HELD_OUT = 256  # batches of held-out prompts


@dataclass(frozen=True)
class EncoderRun:
    """One configuration of the encoder, trained from several seeds (Figures 1 to 4)."""

    d: int = 16
    """Dimension of the points."""
    N: int = 8
    """Number of points."""
    rank: int = 16
    """Rank r of every head; H = (width / r) * width_multiplier."""
    width_multiplier: int = 1
    """Groups of heads: 1, sqrt(d) or d in the paper."""
    layers: int = 1
    """Blocks L."""
    mlp: int = 64
    """Width of the perceptron; 0 leaves it out."""
    encoding: Literal["none", "additive", "concatenated", "padded"] = "none"
    """Positional encodings."""
    norm: Literal["scalar", "rms", "none"] = "scalar"
    """The norm after attention and perceptron."""
    target: Literal["farthest", "nearest"] = "farthest"
    """Which of the other points every point asks for."""
    steps: int = 1500
    """Training steps."""
    batch: int = 128
    """Sequences a step."""
    rate: float = 0.01
    """Peak of the learning rate."""
    replay: int = 0
    """Batches that come round again, as in the published experiment (100); 0 for a fresh stream."""
    seeds: int = 2
    """Members of the population."""
    matmul: Literal["float32", "tensorfloat32", "bfloat16"] = "float32"
    """Precision of the products with weights."""
    products: Literal["auto", "unrolled", "dot"] = "dot"
    """How the products of the heads are computed: "dot" is fastest for small populations."""
    seed: int = 0
    """Seed of the weights and of the prompts."""

    def problem(self) -> Neighbours:
        return Neighbours(self.d, self.N, self.target)

    def shape(self) -> EncoderShape:
        return EncoderShape(
            self.d,
            self.rank,
            self.layers,
            self.width_multiplier,
            self.mlp,
            self.norm,
            self.encoding,
            length=self.N,
            matmul=self.matmul,
            products=self.products,
        )


@dataclass(frozen=True)
class TrainedRow:
    """One seed. Numbers are None where training lost the member; `status` says how."""

    member: int
    head_count: int
    weights: int  # in the whole model
    test: float | None
    test_error: float | None
    least_training: float | None  # of the means over 100 steps, as the paper's figures show
    last_training: float | None
    angle: float | None  # of K Q^T to the identity in degrees, mean over the first layer's heads
    angle_spread: float | None
    form_norm: float | None
    form_rank: int | None  # largest numerical rank of K Q^T over the first layer's heads
    status: str


def run_encoder(config: EncoderRun) -> Outcome[TrainedRow]:
    shape = config.shape()
    loss = EncoderLoss(config.problem(), arguments.integer("batch", config.batch, 1))
    _check(config)
    keys = jax.random.split(jax.random.key(key_seed(config)), 3)
    start = _initialised(shape, member_keys(keys[0], config.seeds))
    trained = _train(config, loss, start, keys[1])
    return Outcome(_rows(config, trained, loss, keys[2], trained[1].blocks[0].attention))


@dataclass(frozen=True)
class PairRun:
    """A bare sum of heads on the nearest of orthonormal points: the setting of the lower bound."""

    d: int = 8
    """Dimension of the points."""
    rank: int = 1
    """Rank r of every K_h Q_h^T."""
    heads: int = 16
    """Number of heads H; every V_h is a free d x d matrix."""
    start: Literal["random", "construction"] = "random"
    """Random weights, or the optimised rank-1 heads with V_h = c_h I."""
    sharpness: float = 8.0
    """Scale of the scores at the construction, in units of d: infinity would be its hardmax."""
    N: int = 2
    """Number of points."""
    steps: int = 1500
    """Training steps."""
    batch: int = 256
    """Prompts a step."""
    rate: float = 0.01
    """Peak of the learning rate."""
    replay: int = 0
    """Batches that come round again; 0 for a fresh stream."""
    seeds: int = 2
    """Members of the population."""
    seed: int = 0
    """Seed of the weights and of the prompts."""

    def problem(self) -> Neighbours:
        return Neighbours(self.d, self.N, points="orthonormal")


def run_pair(config: PairRun) -> Outcome[TrainedRow]:
    loss = PairLoss(config.problem(), arguments.integer("batch", config.batch, 1))
    arguments.integer("heads", config.heads, 1)
    arguments.one_of("start", config.start, ("random", "construction"))
    if not 1 <= arguments.integer("rank", config.rank, 1) <= config.d:
        raise UserError(f"rank must be an integer from 1 to d = {config.d}, got {config.rank}.")
    if config.start == "construction" and config.rank != 1:
        raise UserError(f"rank must be 1 at the construction, got {config.rank}.")
    _check(config)
    keys = jax.random.split(jax.random.key(key_seed(config)), 3)
    if config.start == "random":
        draws = member_keys(keys[0], config.seeds)
        start = random_pairs(config.heads, config.rank, config.d, draws)
    else:
        layers = [constructed_pair(config, i) for i in range(config.seeds)]
        start = jax.tree.map(lambda *leaves: np.stack(leaves), *layers)
    trained = _train(config, loss, start, keys[1])
    return Outcome(_rows(config, trained, loss, keys[2], trained[1]))


@fast_compile
def random_pairs(H: int, r: int, d: int, keys: Any) -> RankAttention:
    """Heads with normal Q and K and V near I / H, so that training starts at uniform attention."""

    def one(key: Any) -> RankAttention:
        normals = jax.random.normal(key, (H, 2 * r + d, d), jnp.float32)
        Q, K, noise = normals[:, :r], normals[:, r : 2 * r], normals[:, 2 * r :]
        V = jnp.eye(d)[None] / H + noise * (0.1 / d)
        return RankAttention(Q / math.sqrt(r), K, V, None, products="dot")

    return jax.vmap(one)(keys)


def constructed_pair(config: PairRun, member: int) -> RankAttention:
    """The best rank-1 heads that L-BFGS finds, with softmax in the place of their hardmax."""
    heads = optimised_heads(random_heads(config.d, config.heads, key_seed(config) + member))
    size = math.sqrt(config.sharpness * config.d)
    Q, K = (jnp.asarray(size * part, jnp.float32)[:, None] for part in heads)
    values = jnp.asarray(best_values(heads), jnp.float32)
    V = jnp.eye(config.d)[None] * values[:, None, None]
    return RankAttention(Q, K, V, None, products="dot")


@fast_compile
def _initialised(shape: EncoderShape, keys: Any) -> Any:
    return jax.vmap(lambda key: initialise(shape, key, jnp.float32))(keys)


def _check(config: EncoderRun | PairRun) -> None:
    for name in ("steps", "seeds"):
        arguments.integer(name, getattr(config, name), 1)
    arguments.integer("replay", config.replay, 0)
    arguments.positive("rate", config.rate)


def _train(config: EncoderRun | PairRun, loss: Any, start: Any, key: Any) -> tuple[Trained, Any]:
    """What training did, and the trained models."""
    layout, vectors = flatten(start)
    found = train(
        FlatLoss(loss, layout),
        vectors,
        alike(config.rate, config.steps, WARMUP, config.seeds),
        member_keys(key, config.seeds),
        adam,
        steps=config.steps,
        options=TrainingOptions(
            chunk=min(CHUNK, config.steps),
            rate=scheduled_rate,
            replay=config.replay,
            fast_compile=True,
        ),
    )
    return found, layout.model(np.asarray(found.params))


def _rows(
    config: EncoderRun | PairRun, trained: tuple[Trained, Any], loss: Any, key: Any, layers: Any
) -> list[TrainedRow]:
    found, models = trained
    test = np.asarray(held_out(loss, HELD_OUT, models, key), float)
    angles, norms = (np.asarray(a) for a in _forms(layers, config.d))
    sizes = sum(leaf[0].size for leaf in jax.tree.leaves(models))
    rows = []
    for i in range(config.seeds):
        forms = np.asarray(score_matrices(jax.tree.map(lambda leaf, i=i: leaf[i], layers)))
        lost = i in found.stopped
        rows.append(
            TrainedRow(
                member=i,
                head_count=layers.heads,
                weights=sizes,
                test=None if lost else _finite(test[i].mean()),
                test_error=None if lost else _finite(test[i].std(ddof=1) / math.sqrt(HELD_OUT)),
                least_training=_finite(np.nanmin(found.losses[:, i])),
                last_training=None if lost else _finite(found.losses[-1, i]),
                angle=_finite(angles[i].mean()),
                angle_spread=_finite(angles[i].std()),
                form_norm=_finite(norms[i].mean()),
                form_rank=_rank(forms),
                status=found.status[i],
            )
        )
    return rows


@fast_compile
def _forms(layers: Any, d: int) -> Any:
    return jax.vmap(lambda layer: angle_and_norm(layer, d))(layers)


def _rank(forms: np.ndarray) -> int | None:
    return int(np.linalg.matrix_rank(forms).max()) if np.isfinite(forms).all() else None


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


encoder = CellKind("rank_encoder", EncoderRun, TrainedRow, run_encoder, version=2)
pair = CellKind("rank_pair", PairRun, TrainedRow, run_pair, version=2)
