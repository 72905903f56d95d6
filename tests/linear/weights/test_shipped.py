"""The shipped networks: packed and read back whole, and chosen by their recorded loss."""

import numpy as np
import pytest

from attnlab.errors import AttnlabError, UserError
from attnlab.linear.models.network import Network
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study import shipped_table, tails
from attnlab.linear.study.table_1 import LAWS
from attnlab.linear.weights.shipped import shipped, write_shipped


def _file(path, **losses):
    """A file with networks of two layers on U(0, 5), and their recorded losses by run."""
    rng, tensors, recorded = np.random.default_rng(0), {}, {}
    for run, loss in losses.items():
        name = f"uniform:5/{run.removeprefix('run')}/2"
        tensors[f"{name}/P"], tensors[f"{name}/Q"] = rng.standard_normal((2, 2, 1, 4, 4))
        recorded[name] = loss if isinstance(loss, list) else [loss, 0.1, 9.0]
    write_shipped(path, tensors, {"card": "a card", "losses": recorded})
    return tensors


def test_a_file_keeps_every_bit_and_says_how_it_was_made(tmp_path):
    given = _file(tmp_path / "packed", run0=0.2, run1=0.1)
    held = shipped(tmp_path / "packed")
    assert held.laws == ["uniform:5"]
    assert held.runs("uniform:5") == [0, 1]
    assert held.depths("uniform:5", 1) == [2]
    weights = held.weights("uniform:5", 1, 2)
    assert np.array_equal(weights.P, given["uniform:5/1/2/P"])
    assert np.array_equal(weights.Q, given["uniform:5/1/2/Q"])
    assert held.best_run("uniform:5", 2) == 1
    assert held.provenance == {"card": "a card"}


def test_other_networks_have_another_digest(tmp_path):
    for name, losses in (("a", {"run0": 0.2}), ("b", {"run0": 0.2}), ("c", {"run0": 0.3})):
        _file(tmp_path / name, **losses)
    same, again, other = (shipped(tmp_path / name).digest("uniform:5") for name in "abc")
    assert same == again != other


def test_a_lower_loss_with_a_heavy_tail_is_not_the_best(tmp_path):
    _file(tmp_path / "packed", run0=0.5, run1=[0.6, 0.05, 9.0])
    # 0.6 + 3 x 0.05 is below 0.5 + 3 x 0.1
    assert shipped(tmp_path / "packed").best_run("uniform:5", 2) == 1


def test_a_lower_loss_that_extremes_make_up_is_not_the_best(tmp_path):
    _file(tmp_path / "packed", run0=0.5, run1=[0.1, 0.01, 9.0, 4e7])
    held = shipped(tmp_path / "packed")
    assert held.best_run("uniform:5", 2) == 0
    assert (held.extremes("uniform:5", 0, 2), held.extremes("uniform:5", 1, 2)) == (0.0, 4e7)


def test_no_best_network_with_noise_has_a_heavy_tail():
    held = shipped()
    for law in LAWS[1:]:
        for depth in range(1, 8):
            run = held.best_run(law, depth)
            loss = held.recorded_loss(law, run, depth)[0]
            assert held.extremes(law, run, depth) <= tails.STEADY * loss, (law, depth)


def test_what_is_no_such_file_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "text").write_text("no networks")
    with pytest.raises(AttnlabError, match="cannot be read"):
        shipped(tmp_path / "text")
    with pytest.raises(UserError, match="There is no shipped network uniform:5/0/99"):
        shipped().weights("uniform:5", 0, 99)
    with pytest.raises(
        UserError, match=r"^There is no shipped network of 99 layers on 'uniform:5'"
    ):
        shipped().network("uniform:5", 99)
    with pytest.raises(
        UserError, match=r"^noise must be one of categorical:1,3, .*, got 'fixed:1'"
    ):
        shipped().network("fixed:1", 2)


def test_every_shipped_network_is_whole_and_has_its_provenance():
    held = shipped()
    assert {"command", "card", "versions", "seconds", "date"} <= set(held.provenance)
    for law in held.laws:
        for run in held.runs(law):
            for depth in held.depths(law, run):
                weights = held.weights(law, run, depth)
                assert weights.P.shape == weights.Q.shape == (depth, 1, 11, 11)
                assert np.isfinite(weights.P).all()
                assert np.isfinite(held.recorded_loss(law, run, depth)).all()


def test_the_table_of_the_study_is_that_of_the_file():
    held = shipped()
    assert set(shipped_table.DIGESTS) == set(held.laws) == set(LAWS)
    for law, digest in shipped_table.DIGESTS.items():
        assert held.digest(law) == digest
        assert tuple(held.runs(law)) == shipped_table.RUNS
    assert shipped_table.HEAT_MAP_DEPTH in held.depths("categorical:1,3", 0)


def test_the_study_counts_every_extreme_that_adds_a_twentieth_to_the_loss():
    held, heavy = shipped(), {}
    for law in held.laws:
        for depth in range(1, 8):
            run = held.best_run(law, depth)
            share = held.extremes(law, run, depth) / held.recorded_loss(law, run, depth)[0]
            if share > tails.STEADY:
                heavy[law, depth] = share
    assert pytest.approx(heavy, rel=0.01) == shipped_table.EXTREMES


def test_a_network_of_the_collection_has_its_problem_and_its_loss():
    held = shipped()
    network = held.network(Uniform(5), 4)
    assert isinstance(network, Network)
    assert (network.family, network.depth) == ("AXIS", 4)
    assert network.problem == NoisyRegression(10, 20, Uniform(5))
    run = held.best_run("uniform:5", 4)
    assert network.about["run"] == run
    assert network.loss.value == held.recorded_loss("uniform:5", run, 4)[0]
    assert len(repr(held)) < 100
    assert len(repr(network)) < 200
    assert held._repr_html_().count("<tr>") == 1 + len(LAWS)
