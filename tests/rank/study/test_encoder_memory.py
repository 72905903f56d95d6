"""The memory of a training of encoders: what is kept for the derivative, and where."""

import dataclasses

import jax
import pytest

from attnlab.lab.task import attempt
from attnlab.memory import GB
from attnlab.rank.models import head_products
from attnlab.rank.models.encoder_init import initialise
from attnlab.rank.problem import SelfNeighbours
from attnlab.rank.study import encoder_memory
from attnlab.rank.study.cells import encoder
from attnlab.rank.study.encoder_memory import needs_of_encoders
from attnlab.rank.study.grids import PANELS, figure_1_cells, figure_4
from attnlab.rank.study.questions_encoder import EncoderRun
from attnlab.rank.training.losses import EncoderLoss
from tests.rank.quickly import quickly

SMALL = EncoderRun(d=16, N=64, rank=2, layers=2, width_multiplier=4, mlp=32, batch=16, seeds=2)
PAPER = EncoderRun(d=64, N=16, rank=8, layers=3, mlp=0, batch=256, seeds=5, products="auto")


def reserved(config):
    """Bytes that XLA reserves for the losses and derivatives of all members."""
    loss = EncoderLoss(SelfNeighbours(config.d, config.N), config.batch)
    keys = jax.random.split(jax.random.key(0), config.seeds)
    models = jax.eval_shape(jax.vmap(lambda key: initialise(config.shape(), key)), keys)
    one = jax.value_and_grad(lambda model, key: loss(model, key, None))
    program = quickly(jax.vmap(one)).lower(models, keys).compile()
    return program.memory_analysis().temp_size_in_bytes


@pytest.mark.parametrize("block", [head_products.BLOCK, 1 << 19], ids=["whole", "in blocks"])
def test_what_is_declared_is_what_xla_reserves_within_a_factor_of_two(monkeypatch, block):
    monkeypatch.setattr(head_products, "BLOCK", block)
    monkeypatch.setattr(encoder_memory, "LITTLE", 0)
    assert 0.5 < needs_of_encoders(SMALL).host_bytes / reserved(SMALL) < 2


def test_weights_in_blocks_do_not_grow_with_heads_or_layers():
    many = dataclasses.replace(PAPER, N=256, rank=1, width_multiplier=64)
    more = dataclasses.replace(many, width_multiplier=128, layers=6)
    weights = [4 * 256 * config.shape().heads * 256**2 for config in (many, more)]
    assert min(weights) > head_products.BLOCK
    assert encoder_memory._weights(many) == encoder_memory._weights(more)
    assert encoder_memory._weights(many) <= 4 * 5 * head_products.BLOCK


def test_every_encoder_of_the_paper_fits_on_one_card():
    cells = [*figure_1_cells("paper", 0)]
    cells += [cell for N in PANELS["paper"].lengths for cell in figure_4("paper", N, 0)]
    most = max(cells, key=lambda cell: needs_of_encoders(cell.config).device_bytes)
    assert (most.config.N, most.config.rank) == (256, 1)
    assert needs_of_encoders(most.config).device_bytes < 130 * GB


def test_what_no_machine_holds_is_refused_before_anything_is_drawn():
    found = attempt(encoder(dataclasses.replace(PAPER, N=2**16)))
    assert found.mistake
    assert found.error.startswith("The numbers of rank_encoder need 22,")
    assert "GB of memory" in found.error
    assert found.error.endswith("width_multiplier, N, batch or seeds must be smaller.")
