"""`attnlab read FILE`: what it prints, writes and refuses."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from attnlab.linear.models.files import load_linear, save_linear
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import Categorical, Fixed, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.reading.reader import Options, ReadingWarning, problem_of
from attnlab.linear.theory.constructions import step_adaptation_network

SMALL = ("--samples", "64")
NOTES = pytest.mark.filterwarnings("always::attnlab.linear.reading.reader.ReadingWarning")


@pytest.fixture
def folder(tmp_path):
    """Networks and other things to read: one shape each, so that little is compiled."""
    law = Categorical((0, 3))
    network = step_adaptation_network(-2e-3, -0.02, jnp.float32)
    save_linear(tmp_path / "network.safetensors", network, d=3, n=8, noise=law, loss=0.5)
    save_linear(tmp_path / "bare.safetensors", network)
    save_linear(tmp_path / "strange.safetensors", network, d=3, n=8, noise="gamma:2")
    full = network.full(3)
    save_linear(tmp_path / "full.safetensors", full, n=8, noise=law)
    noisy = [
        part + 0.01 * jax.random.normal(key, part.shape, part.dtype)
        for key, part in zip(jax.random.split(jax.random.key(0)), vars(full).values(), strict=True)
    ]
    save_linear(tmp_path / "random.safetensors", FullWeights(*noisy), n=8, noise=law)
    other = {"wte.weight": np.zeros((4, 2), np.float32)}
    (tmp_path / "gpt.safetensors").write_bytes(safetensors.numpy.save(other, {"format": "pt"}))
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "full.safetensors").read_bytes()[:-9])
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("mine")
    return tmp_path


def test_a_reading_tells_what_was_built(main, folder):
    ended = main("read", "network.safetensors", *SMALL)
    assert (ended.code, ended.err) == (0, "")
    file, *lines = ended.out.splitlines()
    assert file == "network.safetensors"
    assert lines[0].startswith(
        "DIAG, free omegas, 2 layers, read at d = 3, n = 8, noise categorical:0,3: loss "
    )
    assert lines[2].startswith("layer 1: mixes y into x, which multiplies later steps by ")
    assert lines[3].startswith("layer 2: gradient step 0.0")
    assert "x from sigma 0 to 3" in lines[3]
    assert "The file says that it was trained to the loss 0.5." in lines
    for title in ("Weights", "What the layers do", "Momentum form at σ=3", "By noise level"):
        assert title in lines
    assert any(line.split() == ["1", "0", "-0.002", "0", "0"] for line in lines)
    assert any(line.split()[:2] == ["heavy", "ball"] for line in lines)
    assert "\x1b" not in ended.out


def test_json_is_the_whole_reading_and_the_seed_decides_it(main, folder):
    first, again, other = (
        main("read", "network.safetensors", "--json", *SMALL, "--seed", seed) for seed in (3, 3, 4)
    )
    document = json.loads(first.out)
    assert document["about"]["loss"] == 0.5
    assert document["omegas"]["xy"] == [pytest.approx(-2e-3), 0]
    assert [level["sigma"] for level in document["levels"]] == [0, 3]
    assert document["layers"][1]["levels"][0]["step"]["samples"] == 64
    assert first.out == again.out != other.out


def test_export_and_figures_are_written_whole(main, folder):
    ended = main(
        "read", "full.safetensors", *SMALL, "--export", "network.py", "--figures", "pictures"
    )
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[-2:] == ["Export: network.py", "Figures: pictures/index.html"]
    assert "Its layers are diagonal, to rounding." in ended.out
    page = (folder / "pictures" / "index.html").read_text()
    names = ("omegas", "steps", "profile", "filter", "matrices")
    for name in names:
        svg = (folder / "pictures" / "figures" / f"reading-{name}.svg").read_text()
        assert svg.startswith("<svg")
        assert f'src="figures/reading-{name}.svg"' in page
    assert page.count('class="spec"') == len(names)
    assert "layer 2: gradient step" in page
    assert "http" not in page.split("<script type")[0]
    scope = {}
    exec((folder / "network.py").read_text(), scope)
    with jax.enable_x64(True):
        weights, _ = load_linear(folder / "full.safetensors", float)
        np.testing.assert_array_equal(scope["P"], weights.P)


def test_a_network_that_is_not_diagonal_is_told_so(main, folder):
    ended = main("read", "random.safetensors", *SMALL)
    assert ended.code == 0, ended.err
    assert "layer off" in ended.out
    assert "It is NOT diagonal" in ended.out


@NOTES
def test_outside_of_what_it_was_trained_on_there_is_a_note(main, folder):
    # The notes come before the reading, which this mistake saves.
    options = ("--noise", "uniform:5", "--n", "9", "--export", "notes.txt")
    ended = main("read", "network.safetensors", *options)
    assert ended.code == 2
    assert ended.err.splitlines()[:-1] == [
        "attnlab: note: n = 9 is not what the network was trained on, 8.",
        "attnlab: note: noise uniform:5 reaches outside of categorical:0,3, which the network was "
        "trained on.",
    ]


def test_the_problem_is_the_files_unless_the_options_say_otherwise(folder):
    about = {"d": 3, "n": 8, "noise": "uniform:2"}
    path = Path("network.safetensors")
    found = problem_of(path, Options(), None, about)
    assert found == NoisyRegression(3, 8, Uniform(2))
    found = problem_of(path, Options(noise="categorical:1,2"), None, about)  # and no note
    assert found.noise == Categorical((1, 2))
    found = problem_of(path, Options(n=5, d=3, noise="fixed:1"), 3, {})
    assert found == NoisyRegression(3, 5, Fixed(1))
    for law in ("uniform:3", "fixed:2.5"):
        with pytest.warns(ReadingWarning, match="reaches outside of uniform:2"):
            problem_of(path, Options(noise=law), None, about)


MISTAKES = {
    "read": ("Missing FILE", "'attnlab read --help'"),
    "read nowhere.safetensors": ("There is no file: nowhere.safetensors",),
    "read foreign": ("The folder foreign holds no .safetensors file",),
    "read notes.txt": ("notes.txt is not a whole safetensors file",),
    "read cut.safetensors": ("cut.safetensors is not a whole safetensors file", "truncated"),
    "read network.safetensors --heads 4": ("--heads says nothing about", "a linear transformer"),
    "read network.safetensors --layers 1 2": ("--layers says nothing about network.safetensors",),
    "read bare.safetensors": ("bare.safetensors does not say its d; give --d N.",),
    "read bare.safetensors --d 3": ("bare.safetensors does not say its n; give --n N.",),
    "read bare.safetensors --d 3 --n 8": ("does not say its noise law; give --noise LAW.",),
    "read strange.safetensors": ("'gamma:2'", "give --noise LAW"),
    "read full.safetensors --d 5": ("--d must be that of the weights of full.safetensors, 3, got",),
    "read network.safetensors --n 0": ("--n must be an integer of at least 1, got 0.",),
    "read network.safetensors --n few": ("--n must be an integer, got 'few'.",),
    "read network.safetensors --d -1": ("--d must be an integer of at least 1, got -1.",),
    "read network.safetensors --noise loud": ("--noise must be", "uniform:HIGH", "'loud'"),
    "read network.safetensors --noise fixed:-1": ("sigma must be", "-1"),
    "read network.safetensors --samples 1": ("--samples must be an integer of at least 2, got 1.",),
    "read network.safetensors --seed -1": ("seed must be an integer of at least 0, got -1.",),
    "read network.safetensors --samples many": ("--samples must be an integer, got 'many'",),
    "read network.safetensors --figures foreign": ("foreign holds something other than a report",),
    "read network.safetensors --figures notes.txt": ("notes.txt is a file",),
    "read network.safetensors --export notes.txt": ("must end in .py, got notes.txt",),
    "read network.safetensors --export no/where.py": ("no does not exist",),
}


@pytest.mark.parametrize("typed", MISTAKES)
@pytest.mark.usefixtures("folder")
def test_a_mistake_is_one_sentence_and_changes_nothing(refused, typed):
    refused(typed, MISTAKES[typed])
