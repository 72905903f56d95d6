"""Several chunks in one call, as on a GPU: what guarded steps give, and the guard where needed."""

from collections import Counter

import jax
import numpy as np
import pytest

from attnlab.training import pieces
from attnlab.training.checkpoint import CheckpointFile
from tests.training.members import ADAM, SGD, bowls, run

CHUNK, STEPS = 8, 61  # seven chunks, and one of five steps


@pytest.fixture
def calls(monkeypatch):
    """Train as on a GPU; how often each program is called."""
    begin, programs = pieces.Chunks.__init__, pieces._programs
    found = Counter()

    def whole(self, *given):
        begin(self, *given)
        self._whole = True

    def watched(name, program):
        def call(*given):
            found[name] += 1
            return program(*given)

        return call

    def counted(fast, backend):
        known = programs(fast, backend)._asdict()
        return pieces._Programs(*(watched(*each) for each in known.items()))

    monkeypatch.setattr(pieces.Chunks, "__init__", whole)
    monkeypatch.setattr(pieces, "_programs", counted)
    return found


def guarded(*given, **options):
    """The same training with the guard at work in every step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces.Chunks, "_several", pieces.Chunks._guarded)
        return run(*given, **options)


def assert_agrees(one, other):
    """The same up to rounding: two programs need not round alike."""
    for a, b in zip(jax.tree.leaves(vars(one)), jax.tree.leaves(vars(other)), strict=True):
        if isinstance(a, np.ndarray | jax.Array):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    acts = [[(e.member, e.step, e.action, e.kept, e.count) for e in t.events] for t in (one, other)]
    assert acts[0] == acts[1]


@pytest.mark.parametrize("optimiser", [SGD, ADAM])
def test_a_quiet_run_needs_one_call_and_gives_what_guarded_steps_give(seed, calls, optimiser):
    members = bowls([0.1, 0.01], noise=0.3)
    given = {"chunk": CHUNK, "optimiser": optimiser}
    found = run(members, STEPS, seed, **given)
    assert calls == {"several": 1}
    assert_agrees(found, guarded(members, STEPS, seed, **given))


def test_a_call_has_no_more_chunks_than_the_pace_allows(seed, calls, monkeypatch):
    monkeypatch.setattr(pieces, "MOST", 3)
    found = run(bowls([0.1]), STEPS, seed, chunk=CHUNK)
    assert calls == {"several": 3}
    assert found.ends.tolist() == [*range(CHUNK, STEPS, CHUNK), STEPS]


def test_from_a_member_that_diverges_on_all_steps_are_guarded(seed, calls):
    members = bowls([0.1, 0.1], noise=0.1, burst=3 * CHUNK + 2)
    members.burst[1] = np.inf
    found = run(members, STEPS, seed, chunk=CHUNK)
    assert {event.action for event in found.events} == {"restored", "stopped"}
    # One call for three chunks and the fourth, which is in doubt, and five with their guard.
    assert calls == {"several": 1, "chunk": 5}
    assert_agrees(found, guarded(members, STEPS, seed, chunk=CHUNK))


@pytest.mark.parametrize("optimiser", [SGD, ADAM])
def test_a_chunk_with_a_skipped_update_is_computed_again(seed, calls, optimiser):
    members = bowls([0.1, 0.05], noise=0.1, overflow=0.03)
    given = {"chunk": CHUNK, "optimiser": optimiser}
    found = run(members, STEPS, seed, **given)
    skipped = {event.step // CHUNK for event in found.events}
    assert {event.action for event in found.events} <= {"skipped"}
    assert calls["chunk"] == len(skipped)
    assert_agrees(found, guarded(members, STEPS, seed, **given))


def test_progress_and_snapshots_count_chunks_and_not_calls(seed, calls, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "MOST", 3)
    seen, due = [], []

    class Watched(CheckpointFile):
        def due(self, chunks):
            due.append(chunks)
            return False

    run(
        bowls([0.1]), STEPS, seed, chunk=CHUNK, checkpoint=Watched(tmp_path / "file"),
        progress=lambda step, steps, loss: seen.append((step, np.isfinite(loss))),
    )  # fmt: skip
    ends = [*range(CHUNK, STEPS, CHUNK), STEPS]
    assert calls == {"several": 3}
    assert seen == [(end, True) for end in ends]
    # After the third call the training is over, and its snapshot is saved without a question.
    assert due == [1, 2, 3, 4, 5, 6]
