"""The memory of a training of encoders: what is kept for the derivative, and where."""

import dataclasses

from attnlab.lab.task import attempt
from attnlab.rank.study.cells import encoder
from attnlab.rank.study.encoder_memory import needs_of_encoders
from attnlab.rank.study.questions_encoder import EncoderRun

PAPER = EncoderRun(d=64, N=16, rank=8, layers=3, mlp=0, batch=256, seeds=5, products="auto")


def test_a_weight_per_pair_of_points_and_head_is_kept_for_every_member_and_layer():
    heads, pairs = 8, 16 * 16
    weights = 4 * 3 * heads * pairs * 256 * 5
    of_points = 4 * 3 * 16 * (4 * 64) * 256 * 5
    needs = needs_of_encoders(PAPER)
    assert needs.host_bytes == needs.device_bytes == weights + of_points


def test_the_kernels_of_a_gpu_keep_no_weights():
    many = dataclasses.replace(PAPER, rank=1, width_multiplier=64, matmul="bfloat16")
    needs = needs_of_encoders(many)
    weights = 4 * 3 * 64 * 64 * 16 * 16 * 256 * 5
    assert needs.host_bytes - needs.device_bytes == weights
    without = dataclasses.replace(many, matmul="float32")
    assert needs_of_encoders(without).device_bytes == needs.host_bytes


def test_what_no_machine_holds_is_refused_before_anything_is_drawn():
    found = attempt(encoder(dataclasses.replace(PAPER, N=2**14)))
    assert found.mistake
    assert found.error.startswith("The numbers of rank_encoder need 33,")
    assert "GB of memory" in found.error
    assert found.error.endswith("width_multiplier, N, batch or seeds must be smaller.")
