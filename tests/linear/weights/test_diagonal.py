"""The GD++ and DIAG networks that ship: what the file holds, and that its losses are theirs."""

from __future__ import annotations

import numpy as np
import pytest
from scripts.pack_diagonal_networks import main, pack, runs_of

from attnlab import linear
from attnlab.errors import UserError
from attnlab.lab.store import Store
from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.study.questions_networks import TrainedLossRow
from attnlab.linear.study.table_1 import DEPTHS, LAWS
from attnlab.linear.weights.collection import write_collection
from attnlab.linear.weights.diagonal import FORMAT, diagonal_networks

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


class TwoFamilies:
    """A store with every run on U(0, 2), of which run 3 is the best; without the others."""

    root = "two families"

    def rows(self, cell):
        if cell.config.noise != "uniform:2":
            return None
        return [
            TrainedLossRow(
                model=cell.config.family,
                layers=depth,
                read=depth,
                sigma=None,
                loss=0.5,
                error=0.01,
                samples=100,
                diagnosis="",
                selection=0.3 if cell.config.run == 3 else 0.4,
                training=0.5,
                iterations=9,
                stopped="converged",
                rounds_used=0,
                tail_holds=True,
            )
            for depth in range(1, cell.config.depth + 1)
        ]

    def weights(self, cell):
        names = ("xx", "yx") if cell.config.family == "gd++" else ("p_x", "p_y", "q_x", "q_y")
        shape = () if cell.config.family == "gd++" else (1,)
        return {
            f"{depth}/{name}": np.full((depth, *shape), cell.config.run + place / 4)
            for depth in range(1, cell.config.depth + 1)
            for place, name in enumerate(names)
        }


def test_the_best_runs_of_a_store_are_packed_and_the_rest_of_the_file_stays(tmp_path):
    target = tmp_path / "diagonal.safetensors"
    before = {name: np.ones((4, 1, 1)) for name in ("diag/uniform:5/1", "diag/uniform:2/1")}
    about = {"machine": "an earlier one", "losses": {key: [0.9, 0.1, 10] for key in before}}
    write_collection(target, before, FORMAT, about)
    runs = runs_of(0, deep=False)
    assert set(runs) == {f"{family}/{law}" for family in ("gd++", "diag") for law in LAWS}
    assert pack(TwoFamilies(), target, runs, DEPTHS) == ["gd++/uniform:2", "diag/uniform:2"]
    held = diagonal_networks.__wrapped__(target)
    assert held.depths("gd++", "uniform:2") == held.depths("diag", "uniform:2") == [*DEPTHS]
    found = held.weights("gd++", "uniform:2", 2)
    assert isinstance(found, GDPlusPlus)
    assert (found.xx.tolist(), found.yx.tolist()) == ([3.0, 3.0], [3.25, 3.25])
    assert held.weights("diag", "uniform:2", 7).q_y.tolist() == [[3.75]] * 7
    assert held.losses["diag/uniform:2/7"] == [0.5, 0.01, 100]
    assert held.weights("diag", "uniform:5", 1).p_x.tolist() == [[1.0]]
    assert held.about["machine"] == "an earlier one"
    assert "diag/uniform:5/1" not in held.about["runs"]
    assert set(held.about["runs"].values()) == {3}


def test_a_store_without_all_runs_of_a_law_is_refused(tmp_path, capsys):
    Store(tmp_path / "store")
    assert main([str(tmp_path / "store"), "--target", str(tmp_path / "diagonal")]) == 2
    assert "must hold all runs of 7 layers of some noise law, got none." in capsys.readouterr().err
