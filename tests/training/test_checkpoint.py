"""Checkpoints: a run that was killed ends with the same bits, and no foreign file is used."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import safetensors.numpy

from attnlab.errors import AttnlabError, Stopped, UserError
from attnlab.files import writer_name
from attnlab.training.checkpoint import METADATA, CheckpointFile, Snapshot
from attnlab.training.fingerprint import describe, fingerprint
from attnlab.training.guard import Guard
from attnlab.training.outcome import Event, Trained
from attnlab.training.population import member_keys
from tests.training.members import ADAM, SGD, bowl_score, bowls, run

STEPS, CHUNK = 44, 8  # five whole chunks and a short one
CHUNKS = -(-STEPS // CHUNK)


class Killed(Exception):
    """Stands for a kill between two chunks."""


def save(path: Any, tree: Any, configuration: dict, notes: Any) -> None:
    CheckpointFile(path).save(Snapshot.of(tree, configuration, notes))


def load(path: Any, like: Any, configuration: dict) -> tuple[Any, Any]:
    held = CheckpointFile(path).load()
    assert held is not None
    return held.tree(like, configuration, str(path)), held.notes


def kill_after(chunks: int):
    def progress(step: int, of: int, loss: float) -> None:
        if step >= min(chunks * CHUNK, of):
            raise Killed

    return progress


def noisy_run(seed: int, dtype: Any = np.float32, **options: Any) -> Trained:
    """Adam, averages and a score; one member explodes in chunk 3, one is beyond hope."""
    population = bowls([0.1, 0.02, 1e12, 0.05], 0.3, dtype=dtype)
    population.burst[0] = 21
    given = {"optimiser": ADAM, "average": 0.9, "evaluate": bowl_score, "clip": 5.0}
    given |= {"guard": Guard(limit=1e3, shrink=[1e-7, 0.5, 0.5, 0.5])} | options
    return run(population, STEPS, seed, **given)


def assert_same(one: Trained, other: Trained) -> None:
    assert jax.tree.structure(vars(one)) == jax.tree.structure(vars(other))
    for a, b in zip(jax.tree.leaves(vars(one)), jax.tree.leaves(vars(other)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_run_killed_after_any_chunk_resumes_to_the_same_bits(dtype, seed, tmp_path):
    """The last files are compared byte for byte: optimiser, snapshots, history and events too."""
    with jax.enable_x64(dtype == np.float64):
        plain = noisy_run(seed, dtype)
        whole = tmp_path / "whole"
        assert_same(noisy_run(seed, dtype, checkpoint=whole), plain)
        assert {event.action for event in plain.events} == {"restored", "stopped"}
        assert any(0 < event.step < STEPS and event.member == 0 for event in plain.events)
        reports = []
        for chunks in range(1, CHUNKS + 1):
            file = tmp_path / str(chunks)
            with pytest.raises(Killed):
                noisy_run(seed, dtype, checkpoint=file, progress=kill_after(chunks))
            del reports[:]
            resumed = noisy_run(
                seed, dtype, checkpoint=file, progress=lambda step, *_: reports.append(step)
            )
            assert len(reports) == CHUNKS - chunks
            assert_same(resumed, plain)
            assert file.read_bytes() == whole.read_bytes()
        assert plain.params.dtype == dtype


def test_what_was_not_yet_saved_is_computed_again(seed, tmp_path):
    file = CheckpointFile(tmp_path / "file", every=2)
    with pytest.raises(Killed):
        noisy_run(seed, checkpoint=file, progress=kill_after(3))
    reports = []
    resumed = noisy_run(seed, checkpoint=file, progress=lambda step, *_: reports.append(step))
    assert reports[0] == 3 * CHUNK
    assert_same(resumed, noisy_run(seed))


class InMemory:
    """The least that keeps snapshots: what the laboratory's store will do in its own way."""

    def __init__(self) -> None:
        self.held: bytes | None = None

    def __str__(self) -> str:
        return "in memory"

    def due(self, chunks: int) -> bool:
        return chunks % 100 == 0

    def load(self) -> Snapshot | None:
        return None if self.held is None else Snapshot.from_bytes(self.held, str(self))

    def save(self, snapshot: Snapshot) -> None:
        self.held = snapshot.to_bytes()


def test_a_run_that_is_asked_to_stop_leaves_a_checkpoint_and_continues_to_the_same_bits(seed):
    """A run that is always asked to stop makes one chunk at a time, in whatever keeps it."""
    keeper, steps = InMemory(), []
    for _ in range(CHUNKS - 1):
        with pytest.raises(Stopped, match="on request; in memory continues it") as stopped:
            noisy_run(seed, checkpoint=keeper, stop=lambda: True)
        steps.append(stopped.value.step)
    assert steps == [CHUNK * i for i in range(1, CHUNKS)]
    assert_same(noisy_run(seed, checkpoint=keeper, stop=lambda: True), noisy_run(seed))
    with pytest.raises(Stopped, match="step 8 of 44 on request; nothing is saved"):
        noisy_run(seed, stop=lambda: True)


def test_a_snapshot_has_the_fingerprint_of_its_configuration():
    x = {"x": np.zeros(2)}
    one, same, other = (Snapshot.of(x, {"a": a, "b": 2}) for a in (1, 1, 3))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert Snapshot.from_bytes(one.to_bytes()).fingerprint == one.fingerprint
    assert repr(one) == f"Snapshot({one.fingerprint}, 1 arrays, 16 bytes)"


def test_another_configuration_is_refused_and_the_file_left_alone(tmp_path):
    file = tmp_path / "file"
    noisy_run(0, checkpoint=file)
    before = file.read_bytes()
    keys = member_keys(jax.random.key(5), 4)
    for options, named in (
        ({"seed": 1}, "digest of key"),
        ({"seed": 0, "key": keys}, "digest of key"),
        ({"seed": 0, "clip": 4.0}, "digest of controls"),
        ({"seed": 0, "guard": Guard(limit=99.0)}, "digest of controls"),
        ({"seed": 0, "replay": 3}, "replay"),
        ({"seed": 0, "chunk": 4}, "chunk"),
        ({"seed": 0, "average": None}, "averaged"),
        ({"seed": 0, "optimiser": SGD}, "optimiser"),
    ):
        with pytest.raises(UserError, match=f"another configuration: its {named} is"):
            noisy_run(checkpoint=file, **options)
    assert file.read_bytes() == before


def test_other_shapes_are_refused_and_the_file_left_alone(tmp_path):
    file = tmp_path / "file"
    save(file, {"x": np.zeros((2, 3)), "y": np.zeros(2)}, {}, None)
    before = file.read_bytes()
    x, y = np.zeros((2, 3)), np.zeros(2)
    for like, said in (
        ({"x": x.T, "y": y}, r"has x as float64\[2, 3\], this run as float64\[3, 2\]"),
        ({"x": x, "y": y.astype(np.float32)}, r"has y as float64\[2\], this run as float32\[2\]"),
        ({"x": x, "y": y, "z": y}, r"has no z, where this run has float64\[2\]"),
        ({"x": x}, "has y, which this run has not"),
    ):
        with pytest.raises(UserError, match=said):
            load(file, like, {})
    assert file.read_bytes() == before


@pytest.mark.parametrize("damage", ["truncated", "empty", "bit", "foreign", "folder", "format"])
def test_a_damaged_or_foreign_file_is_refused_and_left_alone(damage, tmp_path):
    file = tmp_path / "file"
    tree = {"x": np.arange(6.0)}
    save(file, tree, {"a": 1}, [])
    data = bytearray(file.read_bytes())
    if damage == "folder":
        file.unlink()
        file.mkdir()
    elif damage == "format":
        document = json.dumps({"format": 99})
        file.write_bytes(safetensors.numpy.save(tree, metadata={METADATA: document}))
    elif damage == "foreign":
        file.write_bytes(safetensors.numpy.save(tree))
    elif damage == "bit":
        data[-3] ^= 1
        file.write_bytes(data)
    else:
        file.write_bytes(b"" if damage == "empty" else data[:-5])
    before = None if damage == "folder" else file.read_bytes()
    said = {"bit": "is damaged", "folder": "cannot be read", "format": "has format 99"}
    with pytest.raises(UserError, match=said.get(damage, "is no whole checkpoint")) as refusal:
        load(file, tree, {"a": 1})
    assert str(file) in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert before is None or file.read_bytes() == before


def test_every_kind_of_array_comes_back_bit_for_bit(tmp_path):
    file = tmp_path / "deep" / "file"
    tree = {
        "float64": np.array([np.nan, -0.0, np.inf, 1 / 3]),
        "bfloat16": np.asarray(jnp.array([1.5, -2.0], jnp.bfloat16)),
        "flags": np.array([True, False]),
        "scalar": np.asarray(7, np.int32),
        "nothing": np.zeros((0, 2), np.float32),
        "nested": (np.arange(3), [np.ones((2, 2), np.uint32).T]),
    }
    save(file, tree, {}, {"said": "so"})
    found, notes = load(file, tree, {})
    assert notes == {"said": "so"}
    assert jax.tree.structure(found) == jax.tree.structure(tree)
    assert fingerprint(found) == fingerprint(tree)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(tree), strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def test_a_fingerprint_sees_every_value_dtype_and_key():
    x = np.zeros(3, np.float32)
    trees = [x, x.astype(np.float64), x.reshape(3, 1), -x, {"x": x}, jax.random.key(0)]
    trees.append(jax.random.key(1))
    assert len({fingerprint(tree) for tree in trees}) == len(trees)


def test_an_optimiser_is_described_by_the_values_it_was_built_with():
    built = [optax.adam(0.1), optax.adam(0.2), optax.adam(0.1, b2=0.99), optax.sgd(0.1)]
    assert len({describe(optimiser) for optimiser in built}) == len(built)
    assert describe(optax.adam(0.1)) == describe(built[0])
    assert describe(bowl_score) == "tests.training.members.bowl_score"


def test_a_full_disk_leaves_the_checkpoint_before_whole(tmp_path, monkeypatch):
    file = tmp_path / "file"
    save(file, {"x": np.zeros(2)}, {}, None)
    before = file.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AttnlabError, match="the disk is full") as refusal:
        save(file, {"x": np.ones(2)}, {}, None)
    assert not isinstance(refusal.value, UserError)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["file"]


def test_what_a_killed_writer_left_is_cleared_and_a_living_ones_is_not(tmp_path):
    file = tmp_path / "file"
    living = tmp_path / writer_name(".file.")
    # Beyond the largest process id of Linux.
    dead = tmp_path / living.name.replace(f"-{os.getpid()}-", f"-{2**22 + 1}-")
    for left in (dead, living):
        left.write_bytes(b"half")
    save(file, {"x": np.zeros(2)}, {}, None)
    assert {Path(name).name for name in os.listdir(tmp_path)} == {"file", living.name}


def test_an_event_survives_json_with_every_bit():
    for loss in (float("inf"), float("nan"), 1 / 3, 1e-310):
        event = Event(3, 20, loss, "restored", 16, 0.1, 1)
        again = Event.read(json.loads(json.dumps(event.record())))
        assert repr(again) == repr(event)
