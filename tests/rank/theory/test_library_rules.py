"""The rules of two libraries at sizes where their layers are known."""

import pytest

from attnlab.rank.theory.library_rules import pytorch_rank, xformers_rank


@pytest.mark.parametrize("rule", [pytorch_rank, xformers_rank])
def test_the_default_rank_is_the_width_divided_by_the_heads(rule):
    assert rule(512, 8) == 64
    assert rule(512, 7) is None  # both refuse heads that do not divide d


def test_only_one_of_the_libraries_takes_a_width_of_the_keys():
    assert pytorch_rank(512, 8, 1024) is None
    assert xformers_rank(512, 8, 1024) == 128
    assert xformers_rank(512, 8, 12) is None  # 12 keys cannot be divided among 8 heads
