"""The GD++ and DIAG networks that ship: what the file holds, and that its losses are theirs."""

from __future__ import annotations

import pytest

from attnlab import linear
from attnlab.errors import UserError
from attnlab.linear.study.table_1 import DEPTHS, LAWS
from attnlab.linear.weights.diagonal import diagonal_networks

Z = 5.0  # two comparisons


def test_every_law_and_depth_of_both_families_is_there():
    held = diagonal_networks()
    for family in ("gd++", "diag"):
        assert held.laws(family) == sorted(LAWS)
        assert {tuple(held.depths(family, law)) for law in LAWS} == {DEPTHS}


@pytest.mark.parametrize("family", ["gd++", "diag"])
def test_a_recorded_loss_is_that_of_fresh_sequences(family):
    network = diagonal_networks().network(family, "uniform:5", 2)
    assert network.depth == 2
    found = linear.loss(network, network.problem, 4096, seed=1)
    error = (found.standard_error**2 + network.loss.standard_error**2) ** 0.5
    assert abs(found.value - network.loss.value) < Z * error


def test_an_unknown_network_gets_a_sentence():
    with pytest.raises(UserError, match="no shipped network diag/uniform:99/1"):
        diagonal_networks().network("diag", "uniform:99", 1)
