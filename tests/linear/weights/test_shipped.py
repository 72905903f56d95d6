"""The shipped networks: packed and read back whole, chosen by their recorded loss, never silent."""

import numpy as np
import pytest

from attnlab.errors import AttnlabError, UserError
from attnlab.linear.weights import shipped as reference
from scripts.pack_axis_networks import pack


def _npz(path, **losses):
    rng = np.random.default_rng(0)
    arrays = {}
    for run, loss in losses.items():
        name = f"uniform:5/{run.removeprefix('run')}/2"
        arrays[f"{name}/P"], arrays[f"{name}/Q"] = rng.standard_normal((2, 2, 1, 4, 4))
        arrays[f"{name}/loss"] = np.array([loss, 0.1, 9.0])
    np.savez(path, **arrays)
    return arrays


def test_packing_keeps_every_bit_and_says_how_it_was_made(tmp_path):
    given = _npz(tmp_path / "full.npz", run0=0.2, run1=0.1)
    target = tmp_path / "packed.safetensors"
    assert pack(tmp_path / "full.npz", target, {"card": "a card"}) == 2
    assert reference.laws(target) == ["uniform:5"]
    assert reference.runs("uniform:5", target) == [0, 1]
    assert reference.depths("uniform:5", 1, target) == [2]
    network = reference.network("uniform:5", 1, 2, target)
    assert np.array_equal(network.P, given["uniform:5/1/2/P"])
    assert np.array_equal(network.Q, given["uniform:5/1/2/Q"])
    assert reference.best_run("uniform:5", 2, target) == 1
    assert reference.shipped(target).provenance == {"card": "a card"}


def test_other_networks_have_another_digest(tmp_path):
    files = []
    for name, losses in (("a", {"run0": 0.2}), ("b", {"run0": 0.2}), ("c", {"run0": 0.3})):
        _npz(tmp_path / f"{name}.npz", **losses)
        files.append(tmp_path / f"{name}.safetensors")
        pack(tmp_path / f"{name}.npz", files[-1], {})
    same, again, other = (reference.digest("uniform:5", file) for file in files)
    assert same == again != other


def test_a_loss_that_overflowed_is_never_the_best(tmp_path):
    _npz(tmp_path / "full.npz", run0=np.inf, run1=3.0)
    pack(tmp_path / "full.npz", tmp_path / "packed", {})
    assert reference.best_run("uniform:5", 2, tmp_path / "packed") == 1


def test_a_lower_loss_with_a_heavy_tail_is_not_the_best(tmp_path):
    arrays = _npz(tmp_path / "full.npz", run0=0.5, run1=0.6)
    arrays["uniform:5/1/2/loss"][1] = 0.05  # 0.6 + 3 x 0.05 is below 0.5 + 3 x 0.1
    np.savez(tmp_path / "tail.npz", **arrays)
    pack(tmp_path / "tail.npz", tmp_path / "packed", {})
    assert reference.best_run("uniform:5", 2, tmp_path / "packed") == 1


def test_what_is_no_such_file_is_refused_in_one_sentence(tmp_path):
    arrays = _npz(tmp_path / "full.npz", run0=0.2)
    arrays["uniform:5/0/2/P"] = arrays["uniform:5/0/2/P"][:1]
    np.savez(tmp_path / "short.npz", **arrays)
    with pytest.raises(UserError, match=r"must have P and Q of shape \(2, heads"):
        pack(tmp_path / "short.npz", tmp_path / "packed", {})
    (tmp_path / "text").write_text("no networks")
    with pytest.raises(AttnlabError, match="cannot be read"):
        reference.shipped(tmp_path / "text")
    with pytest.raises(UserError, match="There is no reference network uniform:5/0/99"):
        reference.network("uniform:5", 0, 99)


def test_every_shipped_network_is_whole_and_has_its_provenance():
    held = reference.shipped()
    assert {"command", "card", "versions", "seconds", "date"} <= set(held.provenance)
    for law in reference.laws():
        for run in reference.runs(law):
            for depth in reference.depths(law, run):
                network = reference.network(law, run, depth)
                assert network.P.shape == network.Q.shape == (depth, 1, 11, 11)
                assert np.isfinite(network.P).all()
                assert np.isfinite(reference.recorded_loss(law, run, depth)).all()
