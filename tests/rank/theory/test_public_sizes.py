"""Most published transformers choose H r = d, and so their forms are far from the identity."""

import pytest

from attnlab.rank.theory.public_sizes import PUBLIC_SIZES


def test_public_sizes_follow_the_habit_but_for_four():
    shares = {name: size.share for name, size in PUBLIC_SIZES.items()}
    others = {name: shares.pop(name) for name in ("Gemma-3-4B", "PaLM-540B", "T5-3B", "T5-11B")}
    assert others == {
        "Gemma-3-4B": 0.8,
        "PaLM-540B": pytest.approx(2 / 3),
        "T5-3B": 4.0,
        "T5-11B": 16.0,
    }
    assert set(shares.values()) == {1.0}
    assert PUBLIC_SIZES["LLaMA-65B"].least_angle == pytest.approx(82.82, abs=0.005)
