"""Heavy tails by the printed recipe and by ours: the exact test behind the claim."""

from math import comb

import numpy as np
import pytest

from attnlab.linear.study.claims_printed_tails import Pair, chances
from attnlab.stats import LEVEL


def test_the_law_of_a_pair_is_that_of_drawing_without_replacement():
    law = Pair("", 5, 5, 5, 1).law()
    assert law.sum() == pytest.approx(1)
    assert law[5] == pytest.approx(comb(5, 5) * comb(5, 1) / comb(10, 6))
    # At least one of the printed networks is among the six: there are five others.
    assert law[0] == 0


def test_where_all_or_none_have_a_tail_nothing_is_left_to_chance():
    assert Pair("", 5, 5, 5, 5).law().tolist() == [0, 0, 0, 0, 0, 1]
    assert Pair("", 5, 0, 5, 0).law().tolist() == [1]


def test_pairs_add_up(seed):
    """Against drawing the networks of both pairs at random."""
    pairs = [Pair("", 5, 5, 5, 0), Pair("", 5, 4, 5, 2)]
    random = np.random.default_rng(seed)
    counts = np.zeros(11)
    draws = 20_000
    for _ in range(draws):
        total = 0
        for pair in pairs:
            steady = np.arange(10) < pair.steady
            total += random.permutation(steady)[: pair.printed].sum()
        counts[total] += 1
    found = np.zeros(11)
    found[: len(chances(pairs))] = chances(pairs)
    np.testing.assert_allclose(counts / draws, found, atol=5 * 0.5 / np.sqrt(draws))


def test_five_networks_of_one_pair_cannot_decide():
    assert chances([Pair("", 5, 5, 5, 0)])[5] > LEVEL
    assert chances([Pair("", 5, 5, 5, 0)] * 3)[15] <= LEVEL
