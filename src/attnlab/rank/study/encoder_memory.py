"""The memory that a training of encoders takes, from its configuration.

Everything is counted for one step of all members on one batch. How often the parts are held was
read off what XLA reserves for a step on a processor (`tests/rank/study/test_encoder_memory.py`).
"""

from __future__ import annotations

from attnlab.lab.needs import Needs
from attnlab.memory import LITTLE
from attnlab.rank.study.questions_encoder import EncoderRun

NUMBER, HALF = 4, 2  # bytes in float32 and in bfloat16
REDUCE = "width_multiplier, N, batch or seeds"


def needs_of_encoders(config: EncoderRun) -> Needs:
    """What the derivative keeps of every layer, for all members and sequences of a batch.

    That is per point the queries, keys, values and outputs of all heads and the perceptron, and
    where they are few H weights per pair of points. Many weights are computed in blocks and not
    kept; the kernels for a GPU keep none and hold bfloat16. Drawing the sequences takes a distance
    per pair of points.
    """
    whole = _kept_weights(config) + _of_points(config) + _drawn(config)
    if whole <= LITTLE:
        return Needs(whole, whole, REDUCE)
    from attnlab.rank.kernels.row_encoder import serves

    plain = _weights(config) + _of_points(config) + _drawn(config)
    in_kernels = serves(config.shape(), config.batch, config.N)
    return Needs(plain, _in_kernels(config) if in_kernels else plain, REDUCE)


def _sequences(config: EncoderRun) -> int:
    return config.seeds * config.batch


def _drawn(config: EncoderRun) -> float:
    """The distances of all pairs of points."""
    return float(NUMBER * _sequences(config) * config.N**2)


def _of_points(config: EncoderRun) -> float:
    """Features of every layer, and twice those of one layer for their derivatives."""
    shape = config.shape()
    features = 4 * shape.heads * shape.rank + config.mlp
    return float(NUMBER * _sequences(config) * config.N * features * (config.layers + 2))


def _kept_weights(config: EncoderRun) -> float:
    """Exponentials, weights and their quotient of every layer, and the derivative of one."""
    pairs = _sequences(config) * config.shape().heads * config.N**2
    return float(NUMBER * pairs * (3 * config.layers + 1))


def _weights(config: EncoderRun) -> float:
    """Those of all layers where they are kept, and four times a block where they are not."""
    from attnlab.rank.models import head_products

    shape, N = config.shape(), config.N
    sizes = N, N, config.batch, NUMBER
    member = head_products.weight_bytes(shape.heads, *sizes)
    if head_products.written_out(config.products, N, shape.rank):
        # A processor takes fewer heads at a time than this, a GPU as many.
        block = min(member, max(head_products.BLOCK, head_products.weight_bytes(1, *sizes)))
    elif member <= head_products.BLOCK:
        return _kept_weights(config)
    else:
        heads, rows = head_products.block_of(shape.heads, *sizes)
        block = head_products.weight_bytes(heads, rows, *sizes[1:])
    return 4.0 * config.seeds * block


def _in_kernels(config: EncoderRun) -> float:
    """What the kernels keep and hold, or the evaluation in float32 where that is more.

    They keep the features of the heads in bfloat16, the points before and after every sublayer, and
    on long sequences a number per head and point. The derivative holds the features of one layer
    once more, two numbers per head and point, and the perceptron's hidden layer.
    """
    from attnlab.rank.kernels.row_blocks import in_blocks

    shape = config.shape()
    features, points = 4 * HALF * shape.heads * shape.rank, _sequences(config) * config.N
    heads = NUMBER * shape.heads if in_blocks(config.N) else 0
    of_layer = features + heads + 2 * (NUMBER + HALF) * shape.width
    training = config.layers * of_layer + features + 2 * heads + HALF * config.mlp
    evaluation = 2 * NUMBER * (4 * shape.heads * shape.rank + config.mlp)
    return max(float(points * training), points * evaluation + _weights(config)) + _drawn(config)
