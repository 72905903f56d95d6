"""The FULL networks that ship, and what the page of the study says about them."""

import re

import numpy as np
import pytest

from attnlab.errors import AttnlabError, UserError
from attnlab.linear.study.table_1 import DEPTHS, LAWS, PAPER
from attnlab.linear.weights.full import full_networks, write_full
from tests.docs.markdown_pages import ROOT

FIVE = [0, 1, 2, 3, 4]


def test_every_law_and_depth_has_five_networks_with_all_entries_free():
    held = full_networks()
    for law in LAWS:
        for depth in DEPTHS:
            assert held.seeds(law, depth) == FIVE
    weights = held.weights("uniform:5", 7, 0)
    assert weights.P.shape == weights.Q.shape == (7, 1, 11, 11)
    # No entry is exactly 0: nothing was left out by construction.
    assert all((np.asarray(part) != 0).all() for part in (weights.P, weights.Q))
    assert held.seeds("uniform:5", 8) == FIVE
    assert held.seeds("uniform:5", 4, "printed") == FIVE


def test_the_best_of_five_is_the_least_loss_plus_three_standard_errors():
    held = full_networks()
    for law in LAWS:
        ranks = {seed: held.selection(law, 7, seed) for seed in FIVE}
        finite = {seed: rank for seed, rank in ranks.items() if rank is not None}
        assert held.best(law, 7) == min(finite, key=finite.__getitem__)


def test_a_network_comes_with_its_problem_and_its_loss():
    held = full_networks()
    best = held.network("uniform:5", 7)
    assert best.problem is not None
    assert best.loss is not None
    assert (best.family, best.depth, best.problem.d, best.problem.n) == ("FULL", 7, 10, 20)
    assert best.loss.value == held.record("uniform:5", 7, held.best("uniform:5", 7))["loss"]
    assert held.network("uniform:5", 4, recipe="printed").about["steps"] == 200_000


def test_the_page_has_the_recorded_numbers():
    held = full_networks()
    text = (ROOT / "docs" / "linear.md").read_text(encoding="utf-8")
    row = r"^\| (\d) \| ([\d,]+)(?: and ([\d,]+))? \| (\d+) of (\d+) \| (.*) \|$"
    table = re.findall(row, text, re.MULTILINE)
    assert [int(row[0]) for row in table] == list(DEPTHS)
    for depth, steps, others, steady, trained, rest in table:
        depth, cells = int(depth), rest.split(" | ")
        found = [held.steady(law, depth, seed) for law in LAWS for seed in FIVE]
        assert (sum(found), len(found)) == (int(steady), int(trained))
        laws = {"uniform:5": steps, "categorical:1,3": others or steps}
        for (law, count), shown, paper in zip(laws.items(), cells[::2], cells[1::2], strict=True):
            best = held.best(law, depth)
            record = held.record(law, depth, best)
            assert record["steps"] == int(count.replace(",", ""))
            number, _, tail = shown.partition(" ")
            digits = len(number.partition(".")[2])
            assert abs(float(number) - record["loss"]) <= 10.0**-digits
            assert bool(tail) != held.steady(law, depth, best)
            assert float(paper) == PAPER["FULL", depth, law]


def test_what_is_not_there_is_named(tmp_path):
    held = full_networks()
    with pytest.raises(UserError, match=r"^There is no FULL network clipped/uniform:5/9/0 in "):
        held.weights("uniform:5", 9, 0)
    with pytest.raises(UserError, match=r"^There is no FULL network of 9 layers on 'uniform:5'"):
        held.best("uniform:5", 9)
    with pytest.raises(AttnlabError, match=r"^The FULL networks .* cannot be read"):
        full_networks(tmp_path / "none.safetensors")
    other = tmp_path / "other.safetensors"
    write_full(other, {"a/P": np.zeros((1, 2, 2))}, {}, {})
    assert repr(full_networks(other)) == "FullNetworks(0 networks on 0 noise laws)"
