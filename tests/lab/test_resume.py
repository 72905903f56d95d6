"""Kills, interrupts and second writers: the store ends with the bytes of an undisturbed run."""

import os
import random
import signal
import time

import pytest

from attnlab.lab.store import Store

RUN = ("reproduce", "toy", "--no-report")


def parts(attnlab) -> int:
    return sum(1 for _ in (attnlab.store / "parts").rglob("*.parquet"))


@pytest.mark.slow
def test_fifty_kills_leave_the_bytes_of_an_uninterrupted_run(attnlab, another, seed):
    """Half of the kills come at some time, the others after some results, on any machine."""
    rolled, stored = random.Random(seed), [0]
    with attnlab.forking(*RUN, "--scale", "paper", TOY_DELAY="0.02") as start:
        for number in range(50):
            child, ended = start()
            deadline = time.monotonic() + 600
            if number % 2:
                time.sleep(rolled.uniform(0.01, 0.4))
            else:
                wanted = stored[-1] + rolled.randint(1, 15)
                while parts(attnlab) < wanted and time.monotonic() < deadline:
                    time.sleep(0.01)
            os.kill(child, signal.SIGKILL)
            assert ended() == -signal.SIGKILL
            stored.append(parts(attnlab))
    assert 25 <= stored[-1] < 1000  # the kills fell into the work, not before or after it
    assert len(set(stored)) > 10
    assert attnlab(*RUN, "--scale", "paper").returncode == 0
    assert another(*RUN, "--scale", "paper").returncode == 0
    assert attnlab.contents() == another.contents()
    assert len(attnlab.contents()) == 1000 + 2 * 2
    assert not list((attnlab.store / "tmp").iterdir())
    assert not (attnlab.store / "aside").exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"]
)
def test_an_interrupt_keeps_what_is_done_and_the_next_run_continues(attnlab, number, code):
    process = attnlab.start(*RUN, "--scale", "standard", TOY_DELAY="0.05")
    deadline = time.monotonic() + 600
    while len(attnlab.contents()) < 5 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == code
    assert "interrupted; finished cells are in the store" in errors
    assert "Traceback" not in errors
    kept = attnlab.contents()
    assert 5 <= len(kept) < 120
    again = attnlab(*RUN, "--scale", "standard")
    assert f"{len(kept)} from the store" in again.stdout
    assert kept.items() <= attnlab.contents().items()


def test_two_processes_fill_one_store(attnlab, another):
    Store(attnlab.store)
    both = [attnlab.start(*RUN, "--scale", "standard", TOY_DELAY="0.005") for _ in range(2)]
    for process in both:
        output, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        assert "damaged" not in errors
        assert "toy (standard): 122 cells" in output
    another(*RUN, "--scale", "standard")
    assert attnlab.contents() == another.contents()


def test_two_processes_may_create_the_store_together(attnlab):
    both = [attnlab.start(*RUN) for _ in range(2)]
    assert [(p.communicate(timeout=600), p.returncode)[1] for p in both] == [0, 0]


def test_a_damaged_part_is_named_and_recomputed(attnlab):
    attnlab(*RUN)
    whole = attnlab.contents()
    victim = next(iter((attnlab.store / "parts" / "toy_square").iterdir()))
    victim.write_bytes(victim.read_bytes()[:100])
    again = attnlab(*RUN)
    assert victim.name in again.stderr
    assert "1 computed" in again.stdout
    assert attnlab.contents() == whole


def test_a_full_disk_is_one_sentence_and_loses_nothing(attnlab, toy, tmp_path, monkeypatch):
    import errno
    import os

    from rich.console import Console

    from attnlab.errors import AttnlabError
    from attnlab.lab.engine import InProcess
    from attnlab.lab.runner import run_plans

    store = Store(tmp_path / "full")
    plan = toy.plan("quick", 0)
    cells = list(plan.cells.values())
    room = iter([None] * 12)
    flush = os.fsync

    def nearly_full(descriptor):
        if next(room, "full") == "full":
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(descriptor)

    monkeypatch.setattr("attnlab.lab.store.CHEAP", 0.0)  # every result is flushed
    monkeypatch.setattr(os, "fsync", nearly_full)
    with pytest.raises(AttnlabError, match="disk is full"):
        run_plans([plan], store, InProcess(), Console(quiet=True))
    monkeypatch.setattr(os, "fsync", flush)
    assert len(Store(store.root).holding(cells)) == 12
    (summary,) = run_plans([plan], store, InProcess(), Console(quiet=True))
    assert (summary.from_store, summary.computed) == (12, len(cells) - 12)
