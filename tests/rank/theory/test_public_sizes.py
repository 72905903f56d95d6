"""Published transformers choose H r = d, and so their forms are far from the identity."""

import pytest

from attnlab.rank.theory.public_sizes import PUBLIC_SIZES


def test_public_sizes_follow_the_habit_but_for_one():
    shares = {name: size.share for name, size in PUBLIC_SIZES.items()}
    assert shares.pop("Gemma-3-4B") == 0.8
    assert set(shares.values()) == {1.0}
    assert PUBLIC_SIZES["LLaMA-65B"].least_angle == pytest.approx(82.82, abs=0.005)
