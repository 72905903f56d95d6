"""A bar on a terminal, plain lines elsewhere, and nothing for what ends within a second."""

import io
import os
import pty
import re
import subprocess
import sys
import time

import pytest
from rich.console import Console

from attnlab.lab import progress
from attnlab.lab.progress import duration, meter

RUN = ("reproduce", "toy", "--no-report")
LINE = re.compile(r"toy: (\d+)/(\d+) done, (\d+) from the store, about (.+) left \(toy_square\)")


def on_a_terminal(attnlab, *arguments, **environment):
    """The bytes attnlab writes when its output is a terminal."""
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        attnlab._arguments(arguments),
        cwd=attnlab.folder,
        env={**attnlab._environment(environment), "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=writer,
    )
    os.close(writer)
    found = b""
    try:
        while chunk := os.read(reader, 4096):
            found += chunk
    except OSError:  # the other end is closed
        pass
    os.close(reader)
    assert process.wait(timeout=600) == 0
    return found.decode()


def seen(out, text):
    """Whether the text comes; the bar draws from a thread of its own."""
    deadline = time.monotonic() + 600
    while text not in out.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    return text in out.getvalue()


def test_a_pipe_gets_plain_lines_with_what_runs_how_far_and_how_long(attnlab):
    attnlab(*RUN)
    run = attnlab(*RUN, "--scale", "standard", TOY_DELAY="0.015")
    assert "\x1b" not in run.stdout
    assert "\r" not in run.stdout
    lines = [match for line in run.stdout.splitlines() if (match := LINE.fullmatch(line))]
    done, total, stored, left = lines[0].groups()
    assert (total, stored) == ("90", "32")
    assert 0 < int(done) < 90
    assert re.fullmatch(r"[\d.]+ (s|min)", left)


def test_a_terminal_gets_a_bar(attnlab):
    shown = on_a_terminal(attnlab, *RUN, "--scale", "standard", TOY_DELAY="0.015")
    assert "━" in shown
    assert re.search(r"\d+/122", shown)
    assert "0 from the store" in shown
    assert "left" in shown
    assert "toy_square" in shown
    assert not LINE.search(shown)


@pytest.mark.parametrize("terminal", [True, False])
def test_work_within_a_second_shows_nothing(monkeypatch, terminal):
    monkeypatch.setenv("TERM", "xterm")
    out = io.StringIO()
    with meter(Console(file=out, force_terminal=terminal), "job", 3, 3.0, 0) as steps:
        for _ in range(3):
            steps.advance("kind")
    assert out.getvalue() == ""


def test_lines_come_a_second_after_the_start_and_then_every_few(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    out = io.StringIO()
    with meter(Console(file=out), "job", 80, 160.0, 7) as steps:
        for _ in range(80):
            clock[0] += 0.125
            steps.advance("kind", 2.0)
    assert out.getvalue().splitlines() == [
        "job: 8/80 done, 7 from the store, about 9.0 s left (kind)",
        "job: 48/80 done, 7 from the store, about 4.0 s left (kind)",
    ]


def test_the_time_left_weighs_steps_by_their_cost(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    out = io.StringIO()
    with meter(Console(file=out), "job", 2, 10.0) as steps:
        clock[0] = 3.0
        steps.advance("small", 1.0)
    assert out.getvalue() == "job: 1/2 done, about 27 s left (small)\n"


def test_a_slow_start_does_not_count_and_little_work_says_nothing(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    out = io.StringIO()
    with meter(Console(file=out), "job", 100, 100.0) as steps:
        clock[0] = 60.0  # imports and compiling
        for _ in range(6):
            steps.advance("figure")
            clock[0] += 0.5
    lines = out.getvalue().splitlines()
    assert [line for line in lines if "unknown" in line] == lines[:5]
    assert lines[5] == "job: 6/100 done, about 47 s left (figure)"


def test_the_steps_of_the_first_cell_tell_the_time_left(monkeypatch):
    """The time until its first report is compiling, and what an earlier run did took none."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    out = io.StringIO()
    with meter(Console(file=out), "job", 2, 120.0) as steps:
        for clock[0], done in ((30.0, 40.0), (31.0, 41.0), (40.0, 50.0)):
            steps.inside(f"kind, step {done:g} of 60", "a", done)
        clock[0] = 50.0
        steps.advance("kind", 60.0, "a")
    assert out.getvalue().splitlines() == [
        "job: 0/2 done, time left unknown (kind, step 40 of 60)",
        "job: 0/2 done, about 79 s left (kind, step 41 of 60)",
        "job: 0/2 done, about 70 s left (kind, step 50 of 60)",
        "job: 1/2 done, about 50 s left (kind)",
    ]


def test_cells_under_way_on_several_workers_are_added_up(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    out = io.StringIO()
    with meter(Console(file=out), "job", 2, 200.0) as steps:
        clock[0] = 2.0
        steps.inside("kind", "a", 0.0)
        steps.inside("kind", "b", 50.0)
        clock[0] = 12.0
        steps.inside("kind", "a", 10.0)
        steps.inside("kind", "b", 60.0)
    assert out.getvalue().splitlines()[-1] == "job: 0/2 done, about 65 s left (kind)"


@pytest.mark.parametrize("dumb", [False, True])
def test_only_a_terminal_that_can_draw_gets_a_bar(monkeypatch, dumb):
    monkeypatch.setattr(progress, "FIRST_LINE_AFTER", 0.0)
    monkeypatch.setenv("TERM", "dumb" if dumb else "xterm")
    out = io.StringIO()
    with meter(Console(file=out, force_terminal=True, width=120), "job", 3, 3.0, 0) as steps:
        if not dumb:
            assert seen(out, "━")
        for _ in range(3):
            steps.advance("kind")
    assert ("━" in out.getvalue()) is not dumb
    assert ("job: 1/3 done" in out.getvalue()) is dumb


def test_the_bar_appears_before_the_first_step_ends(monkeypatch):
    monkeypatch.setattr(progress, "FIRST_LINE_AFTER", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    out = io.StringIO()
    with meter(Console(file=out, force_terminal=True, width=120), "job", 1, 1.0, 0):
        assert seen(out, "time left unknown")


def test_an_error_within_the_work_leaves_the_terminal_as_it_was(monkeypatch):
    monkeypatch.setattr(progress, "FIRST_LINE_AFTER", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    before = sys.stdout
    out = io.StringIO()

    def stopped():
        with meter(Console(file=out, force_terminal=True), "job", 1, 1.0, 0):
            assert seen(out, "━")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        stopped()
    assert "\x1b[?25l" in out.getvalue()
    assert "\x1b[?25h" in out.getvalue()  # the cursor is back
    assert sys.stdout is before


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0.0 s"),
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (89.4, "89 s"),
        (90, "2 min"),
        (3599, "60 min"),
        (5399, "90 min"),
        (5400, "1.5 h"),
        (360000, "100.0 h"),
    ],
)
def test_durations_read_at_a_glance(seconds, said):
    assert duration(seconds) == said
