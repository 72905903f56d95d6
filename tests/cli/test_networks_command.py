"""Networks by name: `attnlab weights`, and `attnlab read` of a name and of a cell's key."""

import json
import re

import numpy as np
import pytest

from attnlab.lab.catalog import load_studies
from attnlab.lab.network_names import find_network, shipped_networks
from attnlab.linear.models.files import load_linear
from attnlab.linear.weights.shipped import shipped
from tests.lab.command_line import STUDIES

TRAINED = (
    "--d", "2", "--n", "4", "--depth", "2", "--noise", "uniform:1", "--starts", "2",
    "--screening", "16", "--fitted", "64", "--pool", "128", "--tail", "4", "--rounds", "1",
    "--fresh", "64", "--sequences", "64", "--family", "gd++",
)  # fmt: skip


def test_shipped_networks_have_names_and_are_found_through_their_study():
    known = shipped_networks(load_studies(["linear"]))
    assert "linear/axis/uniform-5/7" in known
    assert "linear/regressor/d10-n20" in known
    assert all(name.startswith("linear/") for name in known)
    assert "run" in known["linear/axis/uniform-5/7"].about


def test_a_named_network_is_the_shipped_one(tmp_path):
    network = find_network("linear/axis/uniform-5/7", load_studies(["linear"]), None)
    network.save(tmp_path / "network.safetensors")
    weights, about = load_linear(tmp_path / "network.safetensors")
    held = shipped()
    expected = held.weights("uniform:5", held.best_run("uniform:5", 7), 7)
    np.testing.assert_array_equal(weights.P, expected.P)
    assert (about["noise"], about["n"]) == ("uniform:5", 20)


def test_a_network_that_a_cell_trained_is_listed_and_read_by_its_key(main):
    ran = main("run", "linear_training", *TRAINED)
    assert ran.code == 0, ran.err
    found = re.search(r"^Weights: (\S+) \(attnlab read ([0-9a-f]{12})\)$", ran.out, re.MULTILINE)
    assert found is not None
    assert re.search(r"GD\+\+ +2 ", ran.out)  # every depth, not the first row alone
    listed = main("weights", found[2])
    assert listed.code == 0, listed.err
    assert re.search(rf"{found[2]}[0-9a-f]+/2 +GD\+\+, 2 layers, noise uniform:1", listed.out)
    ended = main("read", f"{found[2]}/1", "--samples", "16", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert document["file"] == f"{found[2]}/1"
    assert len(document["layers"]) == 1
    assert document["problem"]["noise"] == "uniform:1"


def test_weights_of_a_study_that_cannot_read_them_are_said_to_be_there(main, filled):
    listed = main("weights", "--studies-dir", str(STUDIES)).out
    keys = re.findall(r"([0-9a-f]{32}) +toy_vector: weights", listed)
    assert len(keys) == 2
    ended = main("read", keys[0][:8])
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "a cell of kind toy_vector, whose study does not say how to read them" in ended.err


def test_the_best_run_stands_for_all_unless_a_prefix_is_given(main):
    assert "linear/axis/uniform-5/7/" not in main("weights").out
    assert "linear/axis/uniform-5/7/" in main("weights", "linear/axis/uniform-5/7").out


@pytest.mark.parametrize("name", ["linear/regressor/d4-n16"])
def test_a_regressors_network_is_read_in_its_own_units(main, name):
    ended = main("read", name, "--samples", "64", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert document["loss"]["value"] < 10
    assert document["levels"][0]["overflowed"] == 0
