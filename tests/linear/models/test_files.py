"""Weights survive a file to the last bit, and every broken file is one sentence."""

import json

import jax
import numpy as np
import pytest
import safetensors.numpy

from attnlab.errors import UserError
from attnlab.linear.models.file_headers import FORMAT
from attnlab.linear.models.files import load_linear, save_linear
from attnlab.linear.models.weights import family_of
from attnlab.linear.noise import Categorical
from attnlab.linear.theory.constructions import gradient_descent_network
from tests.linear.prompts import diag_weights, full_weights

pytestmark = pytest.mark.usefixtures("double_precision")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "network.safetensors"


def same(left, right):
    assert type(left) is type(right)
    for one, other in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_family_comes_back_as_it_was(seed, path, dtype):
    diag = diag_weights(seed, 3, 2)
    networks = full_weights(seed, 2, 3), diag, diag.omegas(), gradient_descent_network(2, 0.1)
    for weights in networks:
        weights = jax.tree.map(lambda part: np.asarray(part, dtype), weights)
        save_linear(path, weights, n=20, noise=Categorical((1, 3)), loss=0.25, steps=[1, 2])
        found, about = load_linear(path)
        same(found, weights)
        family = family_of(weights)
        assert about == {
            "version": 1,
            "family": family,
            "depth": weights.depth,
            "n": 20,
            "noise": "categorical:1,3",
            "loss": 0.25,
            "steps": [1, 2],
        }
    assert list(path.parent.iterdir()) == [path]  # nothing left beside it


def test_the_precision_is_the_files_unless_another_one_is_wanted(seed, path):
    weights = full_weights(seed, 2, 1)
    save_linear(path, weights)
    found, _ = load_linear(path, np.float32)
    same(found, jax.tree.map(lambda part: np.asarray(part, np.float32), weights))
    with jax.enable_x64(False):  # NumPy arrays keep float64 where JAX has none
        found, _ = load_linear(path)
    same(found, jax.tree.map(np.asarray, weights))


def test_saved_weights_are_bytes_that_another_library_reads(seed, path):
    weights = diag_weights(seed, 2, 1)
    save_linear(path, weights)
    arrays = safetensors.numpy.load_file(path)
    assert sorted(arrays) == ["p_x", "p_y", "q_x", "q_y"]
    np.testing.assert_array_equal(arrays["q_y"], weights.q_y)


def arrays_of(weights, **changed):
    return {name: np.asarray(part) for name, part in vars(weights).items()} | changed


def write(path, arrays, about=None, format=FORMAT):
    metadata = {"format": format, "about": json.dumps(about)} if format else None
    path.write_bytes(safetensors.numpy.save(arrays, metadata=metadata))


REFUSED = "{path} is not a whole safetensors file: "
GOOD = {"version": 1, "family": "FULL"}
BROKEN = {
    "nothing": (lambda path, a: None, "There is no file: {path}; give a safetensors file."),
    "folder": (lambda path, a: path.mkdir(), "Is a directory: {path}; give a safetensors file."),
    "empty": (lambda path, a: path.write_bytes(b""), f"{REFUSED}it has 0 bytes."),
    "text": (lambda path, a: path.write_text("hello world" * 9), f"{REFUSED}its first 8 bytes"),
    "zip": (lambda path, a: path.write_bytes(b"PK\x03\x04" + bytes(99)), REFUSED),
    "header": (
        lambda path, a: path.write_bytes((9).to_bytes(8, "little") + b"{ bogus }"),
        f"{REFUSED}its header is not JSON.",
    ),
    "list": (
        lambda path, a: path.write_bytes((8).to_bytes(8, "little") + b'{"a":[]}'),
        f"{REFUSED}its header has no dtype, shape and data_offsets for 'a'.",
    ),
    "foreign": (
        lambda path, a: write(path, {"wte.weight": a["P"]}, format="pt"),
        "{path} is not a linear transformer of attnlab: 1 tensors of the format 'pt' (wte.weight).",
    ),
    "unnamed": (
        lambda path, a: write(path, {f"h.{i}": a["P"] for i in range(9)}, format=None),
        "{path} is not a linear transformer of attnlab: 9 tensors (h.0, h.1, h.2, h.3, ...).",
    ),
    "about": (lambda path, a: write(path, a), "{path} is damaged: it does not describe the net"),
    "later": (
        lambda path, a: write(path, a, GOOD | {"version": 7}),
        "{path} has version 7 of the format; accepted is 1.",
    ),
    "family": (
        lambda path, a: write(path, a, GOOD | {"family": "MLP"}),
        "{path} holds the family 'MLP'; accepted are 'FULL', 'DIAG', 'DIAG, free omegas', 'GD++'.",
    ),
    "missing": (
        lambda path, a: write(path, {"P": a["P"]}, GOOD),
        f"{{path}} lacks Q: it holds 1 tensors of the format '{FORMAT}' (P).",
    ),
    "shape": (
        lambda path, a: write(path, a | {"Q": a["Q"][:1]}, GOOD),
        "{path} is damaged: P and Q must both have shape (layers, heads, d + 1, d + 1), got "
        "(2, 1, 5, 5) and (1, 1, 5, 5).",
    ),
    "integers": (
        lambda path, a: write(path, a | {"Q": np.zeros(3, int)}, GOOD),
        "Q in {path} must be float32 or float64 (F32, F64), got I64.",
    ),
    "half": (
        lambda path, a: write(path, a | {"P": a["P"].astype(np.float16)}, GOOD),
        "P in {path} must be float32 or float64 (F32, F64), got F16.",
    ),
    "mixture": (
        lambda path, a: write(path, a | {"P": a["P"].astype(np.float32)}, GOOD),
        "{path} mixes float32 and float64; accepted is one of them throughout.",
    ),
    "no layers": (
        lambda path, a: write(path, a | {"P": a["P"][:0]}, GOOD),
        "P in {path} must not be empty, got the shape (0, 1, 5, 5).",
    ),
    "nan": (
        lambda path, a: write(
            path, a | {"P": np.where(a["P"] == a["P"].max(), np.nan, a["P"])}, GOOD
        ),
        "P in {path} must hold finite numbers only, got NaN or infinity in 1 of 50 entries.",
    ),
    "depth": (
        lambda path, a: write(path, a, GOOD | {"depth": 3}),
        "{path} says depth = 3 but its weights have depth = 2.",
    ),
    "d": (
        lambda path, a: write(path, a, GOOD | {"d": 9}),
        "{path} says d = 9 but its weights have d = 4.",
    ),
    "n": (
        lambda path, a: write(path, a, GOOD | {"n": -1}),
        "n of {path} must be an integer of at least 1, got -1.",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_one_sentence(seed, path, what, unchecked):
    make, sentence = BROKEN[what]
    make(path, arrays_of(full_weights(seed, 2, 1)))
    with pytest.raises(UserError) as refused:
        load_linear(path)
    assert str(refused.value).startswith(sentence.format(path=path))


def test_a_file_cut_anywhere_is_refused(seed, path):
    save_linear(path, diag_weights(seed, 2, 1), n=20)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(UserError, match=r"is not a whole safetensors file: [^\n]*\.$"):
            load_linear(path)
    path.write_bytes(whole[:-3])
    with pytest.raises(UserError, match=rf"promises {len(whole)} bytes, it has {len(whole) - 3}"):
        load_linear(path)


def test_what_cannot_be_saved_is_refused_and_leaves_the_old_file(seed, path, unchecked):
    good = diag_weights(seed, 2, 1)
    save_linear(path, good, n=20)
    before = path.read_bytes()
    bad = jax.tree.map(lambda part: np.where(np.arange(2)[:, None], part, np.inf), good)
    wrong = {
        "p_x in .* must hold finite numbers only": (bad, {}),
        "weights must be one of FullWeights": (3, {}),
        "depth must be the weights' own, 2": (good, {"depth": 5}),
        "about must hold what JSON can represent": (good, {"note": object()}),
        "about must hold what JSON can represent, got .*nan": (good, {"loss": float("nan")}),
        "says d = 3 but its weights have d = 4": (full_weights(seed, 1, 1), {"d": 3}),
        "p_x must be float32 or float64": (jax.tree.map(lambda p: np.asarray(p, int), good), {}),
    }
    for sentence, (weights, about) in wrong.items():
        with pytest.raises(UserError, match=sentence):
            save_linear(path, weights, **about)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(UserError, match=r"nowhere does not exist; give a file in a folder"):
        save_linear(path.parent / "nowhere" / "network.safetensors", good)
