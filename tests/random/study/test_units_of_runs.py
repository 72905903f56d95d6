"""A run shows its parts, and ends after one of them where the time is up."""

from attnlab.lab.task import attempt
from attnlab.lab.watch import Watch
from attnlab.random.study.cells import Run, run

CELL = run(Run(panel="ridge", d=12, length=12, tasks=6, test=20))


def test_parts_are_shown_and_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("attnlab.lab.sitting.REPORT_EVERY", 0.0)
    shown = []
    found = attempt(CELL, Watch(tmp_path / "cell", report=lambda *far: shown.append(far)))
    assert not found.error
    assert found.part == attempt(CELL).part
    total = shown[0][1]
    assert shown == [(done, total, "part") for done in range(1, total + 1)]
    assert not (tmp_path / "cell").exists()


def test_a_run_that_is_out_of_time_ends_after_a_part_and_says_that_it_begins_again(tmp_path):
    found = attempt(CELL, Watch(tmp_path / "cell", stop=lambda: True))
    assert found.stopped
    assert found.error.startswith("stopped at part 1 of ")
    assert found.error.endswith("and begins again: it keeps no checkpoints")
