"""The FULL networks that ship, and what the page of the study says about them."""

import re

import numpy as np
import pytest

from attnlab.errors import AttnlabError, UserError
from attnlab.linear.study.table_1 import DEPTHS, LAWS, PAPER
from attnlab.linear.weights.full import GROWN_FROM, full_networks, write_full
from tests.docs.markdown_pages import ROOT

FIVE = [0, 1, 2, 3, 4]
GROWN = [GROWN_FROM + start for start in FIVE]


def test_every_law_and_depth_has_five_networks_of_each_kind_with_all_entries_free():
    held = full_networks()
    for law in LAWS:
        for depth in DEPTHS:
            assert held.seeds(law, depth) == FIVE + (GROWN if depth > 1 else [])
    for seed in (FIVE[0], GROWN[0]):
        weights = held.weights("uniform:5", 7, seed)
        assert weights.P.shape == weights.Q.shape == (7, 1, 11, 11)
        # No entry is exactly 0: nothing was left out by construction.
        assert all((np.asarray(part) != 0).all() for part in (weights.P, weights.Q))
    assert held.seeds("uniform:5", 8) == FIVE
    assert held.seeds("uniform:5", 4, "printed") == FIVE


def test_the_best_of_ten_has_the_least_loss_plus_three_standard_errors_without_a_tail():
    held = full_networks()
    for law in LAWS:
        ranks = {seed: held.selection(law, 7, seed) for seed in FIVE + GROWN}
        finite = {seed: rank for seed, rank in ranks.items() if rank is not None}
        assert held.best(law, 7) == best_of(held, law, 7, finite)


def test_a_network_comes_with_its_problem_and_its_loss():
    held = full_networks()
    best = held.network("uniform:5", 7)
    assert best.problem is not None
    assert best.loss is not None
    assert (best.family, best.depth, best.problem.d, best.problem.n) == ("FULL", 7, 10, 20)
    assert best.loss.value == held.record("uniform:5", 7, held.best("uniform:5", 7))["loss"]
    assert held.network("uniform:5", 4, recipe="printed").about["steps"] == 200_000


def best_of(held, law, depth, seeds):
    """The seed of least selection without a heavy tail."""
    return min(seeds, key=lambda s: (not held.steady(law, depth, s), held.selection(law, depth, s)))


def test_the_page_has_the_recorded_numbers():
    held = full_networks()
    text = (ROOT / "docs" / "linear.md").read_text(encoding="utf-8")
    row = r"^\| (\d) \| (\d+)(?:; (\d+))? of 50 \| (0\..*) \|$"
    table = re.findall(row, text, re.MULTILINE)
    assert [int(row[0]) for row in table] == list(DEPTHS)
    for depth, *counts, rest in table:
        depth, cells = int(depth), rest.split(" | ")
        kinds = [FIVE, GROWN] if depth > 1 else [FIVE]
        for seeds, count in zip(kinds, counts, strict=False):
            assert sum(held.steady(law, depth, s) for law in LAWS for s in seeds) == int(count)
        laws = ("uniform:5", "categorical:1,3")
        for law, shown, paper in zip(laws, cells[::2], cells[1::2], strict=True):
            for seeds, number in zip(kinds, shown.split("; "), strict=True):
                best = best_of(held, law, depth, seeds)
                assert held.steady(law, depth, best)
                digits = len(number.partition(".")[2])
                assert abs(float(number) - held.record(law, depth, best)["loss"]) <= 10.0**-digits
            assert float(paper) == PAPER["FULL", depth, law]


def test_the_page_says_which_networks_have_fewer_steps_than_the_papers():
    held = full_networks()
    fewer = {
        (law, depth)
        for law in LAWS
        for depth in DEPTHS
        if {held.record(law, depth, seed)["steps"] for seed in FIVE} != {200_000}
    }
    named = ("uniform:0", "uniform:2", "categorical:1,3")
    assert fewer == {("categorical:1,3", 5), *((law, 7) for law in named)}
    steps = [held.record(law, depth, 0)["steps"] for law, depth in fewer]
    assert (min(steps), max(steps)) == (70_000, 90_000)
    text = (ROOT / "docs" / "linear.md").read_text(encoding="utf-8")
    assert "five on all but $\\{1, 3\\}$, six on all laws, and seven on all but $U(0, 0)$, " in text
    for law in LAWS:
        for depth in DEPTHS[1:]:
            assert {held.record(law, depth, seed)["steps"] for seed in GROWN} == {8_000 * depth}


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
