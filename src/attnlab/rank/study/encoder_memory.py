"""The memory that a training of encoders takes, from its configuration."""

from __future__ import annotations

from attnlab.lab.needs import Needs
from attnlab.memory import LITTLE
from attnlab.rank.study.questions_encoder import EncoderRun

NUMBER = 4  # bytes in float32


def needs_of_encoders(config: EncoderRun) -> Needs:
    """What the derivative keeps of every layer, for all members and sequences of a batch.

    That is H weights per pair of points, and per point the queries, keys, values and outputs of all
    heads and the perceptron. The kernels for a GPU keep no weights of attention.
    """
    shape = config.shape()
    sequences = NUMBER * config.layers * config.seeds * config.batch
    weights = float(sequences * shape.heads * config.N**2)
    points = float(sequences * config.N * (4 * shape.heads * shape.rank + config.mlp))
    on_gpu = points if weights > LITTLE and _in_kernels(config) else weights + points
    return Needs(weights + points, on_gpu, "width_multiplier, N, batch or seeds")


def _in_kernels(config: EncoderRun) -> bool:
    from attnlab.rank.kernels.row_encoder import serves

    return serves(config.shape(), config.batch, config.N)
