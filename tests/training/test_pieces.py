"""A chunk gives the same bits in one program and in pieces of any lengths, and after any stop."""

import jax
import numpy as np
import pytest

from attnlab.errors import Stopped
from attnlab.training import pieces
from attnlab.training.checkpoint import CheckpointFile
from attnlab.training.pieces import FIRST, GROWTH, SECONDS, Pace
from tests.training.test_checkpoint import STEPS, assert_same, noisy_run

CHUNK = 16


class Rolled:
    """Lengths of pieces drawn at random, in the place of `Pace`."""

    rolled = np.random.default_rng()

    @property
    def length(self) -> int:
        return int(self.rolled.integers(1, 2 * CHUNK))

    def took(self, steps: int, seconds: float) -> None:
        pass


@pytest.fixture
def rolled(monkeypatch, seed):
    monkeypatch.setattr(Rolled, "rolled", np.random.default_rng(seed))
    monkeypatch.setattr(pieces, "Pace", Rolled)


def whole_chunks(monkeypatch):
    """Train as on a GPU where a member has diverged: a chunk is one program."""
    begin = pieces.Chunks.__init__

    def whole(self, *given):
        begin(self, *given)
        self._whole = True

    monkeypatch.setattr(pieces.Chunks, "__init__", whole)
    monkeypatch.setattr(pieces.Chunks, "_several", pieces.Chunks._guarded)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pieces_of_any_lengths_give_the_bits_of_whole_chunks(dtype, seed, rolled):
    with jax.enable_x64(dtype == np.float64):
        found = noisy_run(seed, dtype, chunk=CHUNK)
        with pytest.MonkeyPatch.context() as patch:
            whole_chunks(patch)
            assert_same(found, noisy_run(seed, dtype, chunk=CHUNK))
    assert {event.action for event in found.events} == {"restored", "stopped"}


def test_a_run_stopped_inside_of_chunks_continues_to_the_same_bits(seed, rolled, tmp_path):
    file, steps = CheckpointFile(tmp_path / "file"), []
    while True:
        try:
            found = noisy_run(seed, chunk=CHUNK, checkpoint=file, stop=lambda: True)
            break
        except Stopped as stopped:
            steps.append(stopped.step)
    assert steps == sorted(set(steps))
    assert any(step % CHUNK for step in steps)
    assert_same(found, noisy_run(seed, chunk=CHUNK))
    another = tmp_path / "another"
    noisy_run(seed, chunk=CHUNK, checkpoint=another)
    assert (tmp_path / "file").read_bytes() == another.read_bytes()


def test_what_was_stopped_inside_of_a_chunk_continues_in_whole_ones(
    seed, rolled, tmp_path, monkeypatch
):
    """As where a run that was begun on a processor is continued on a GPU."""
    plain = noisy_run(seed, chunk=CHUNK)
    monkeypatch.setattr(Rolled, "length", 5)
    with pytest.raises(Stopped, match=f"step 5 of {STEPS}"):
        noisy_run(seed, chunk=CHUNK, checkpoint=tmp_path / "file", stop=lambda: True)
    whole_chunks(monkeypatch)
    assert_same(noisy_run(seed, chunk=CHUNK, checkpoint=tmp_path / "file"), plain)


def test_every_piece_is_reported_and_losses_are_those_of_chunks(seed, monkeypatch):
    monkeypatch.setattr(Rolled, "length", 10)
    monkeypatch.setattr(pieces, "Pace", Rolled)
    reached, losses = [], []
    noisy_run(
        seed,
        chunk=CHUNK,
        reached=lambda step, steps: reached.append(step),
        progress=lambda step, steps, loss: losses.append(step),
    )
    assert reached == [10, 16, 26, 32, 42, 44]
    assert losses == [16, 32, 44]


def test_pieces_of_every_length_are_one_program(seed, monkeypatch, compilations):
    monkeypatch.setattr(Rolled, "length", 3)
    monkeypatch.setattr(pieces, "Pace", Rolled)
    noisy_run(seed, chunk=CHUNK)
    before = len(compilations)
    monkeypatch.setattr(Rolled, "length", 7)
    noisy_run(seed, chunk=CHUNK)
    assert len(compilations) == before


def test_pieces_grow_to_the_time_they_should_take_and_shrink_when_steps_become_slow():
    pace = Pace()
    assert pace.length == FIRST
    pace.took(FIRST, 30.0)  # it was compiled
    assert pace.length == int(SECONDS * FIRST / 30)
    for _ in range(9):
        before = pace.length
        pace.took(pace.length, 0.01 * pace.length)
        assert pace.length == min(GROWTH * before, SECONDS / 0.01)
    assert pace.length == SECONDS / 0.01
    pace.took(pace.length, 100 * pace.length)
    assert pace.length == 1
