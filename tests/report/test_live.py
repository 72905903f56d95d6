"""Trainings that a page starts: one at a time, watched, stopped, and dropped when nobody looks."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

import pytest

from attnlab.errors import Stopped, UserError
from attnlab.lab.catalog import load_study
from attnlab.lab.cell import CellKind, Outcome
from attnlab.lab.explorer import Explorer, Knob
from attnlab.lab.study import Study
from attnlab.lab.watch import watched
from attnlab.report import live
from attnlab.report.explore import Answers, make_explore_server
from attnlab.report.live import Busy, Trainings


@dataclass(frozen=True)
class Walk:
    steps: int = 4


@dataclass(frozen=True)
class WalkRow:
    step: int
    loss: float


gate = threading.Event()  # a walk takes its second step when this is set


def walk(config):
    told = watched()
    for step in range(1, config.steps + 1):
        if step == 2:
            assert gate.wait(20)
        if "progress" in told:
            told["progress"](step, config.steps, 1 / step)
        if step < config.steps and "stop" in told and told["stop"]():
            raise Stopped(step, config.steps, None)
    return Outcome([WalkRow(step, 1 / step) for step in range(1, config.steps + 1)])


def draw(rows):
    import altair as alt

    return alt.Chart(alt.Data(values=rows)).mark_line().encode(x="step:Q", y="loss:Q")


EXPLORER = Explorer(
    "walk",
    "A walk",
    "",
    CellKind("walk", Walk, WalkRow, walk),
    (Knob("steps", "steps", 4, 1, 9, 1),),
    lambda steps: [Walk(steps)],
    draw,
    live=True,
)
STUDY = Study("walks", "", "", "", (), lambda scale, seed: (), (), (), explorers=(EXPLORER,))


@pytest.fixture(autouse=True)
def closed():
    gate.clear()
    yield
    gate.set()


def ended(training):
    gate.set()
    training.wait(20)
    assert not training.running


def until(fact):
    for _ in range(2000):
        if fact():
            return
        time.sleep(0.01)
    raise AssertionError("never")


def test_a_training_is_seen_while_it_runs_and_ends_with_the_rows_of_a_fresh_cell():
    trainings = Trainings()
    training = trainings.find(trainings.start(EXPLORER, {"steps": 4}, "p"))
    until(lambda: training.rows)
    seen = json.loads(training.answer())
    assert seen["running"]
    assert seen["words"] == "step 1"
    assert [row["loss"] for row in seen["spec"]["data"]["values"]] == [1.0]
    ended(training)
    assert json.loads(training.answer())["words"] == "done"
    assert trainings.rows(EXPLORER, {"steps": 4}) == EXPLORER.rows(steps=4)
    with pytest.raises(UserError, match="have not been trained"):
        trainings.rows(EXPLORER, {"steps": 5})


def test_the_stop_button_ends_it():
    trainings = Trainings()
    training = trainings.find(trainings.start(EXPLORER, {"steps": 9}, "p"))
    until(lambda: training.rows)
    training.stop()
    ended(training)
    assert training.words == "stopped at step 2"
    assert len(training.rows) == 2


@pytest.mark.parametrize("limit", ["UNSEEN", "SECONDS"])
def test_it_ends_when_nobody_looks_and_when_its_time_is_up(monkeypatch, limit):
    monkeypatch.setattr(live, limit, -1.0)
    trainings = Trainings()
    training = trainings.find(trainings.start(EXPLORER, {"steps": 9}, "p"))
    ended(training)
    assert training.words == "stopped at step 1"


def test_one_runs_at_a_time_and_a_page_may_start_again():
    trainings = Trainings()
    number = trainings.start(EXPLORER, {"steps": 9}, "p")
    first = trainings.find(number)
    with pytest.raises(Busy):
        trainings.start(EXPLORER, {"steps": 4}, "q")
    until(lambda: first.rows)
    threading.Timer(0.05, gate.set).start()
    second = trainings.find(trainings.start(EXPLORER, {"steps": 4}, "p"))
    assert first.words == "stopped at step 2"
    with pytest.raises(UserError, match="another was started since"):
        trainings.find(number)
    ended(second)


def test_a_training_that_cannot_run_says_why():
    broken = Explorer(
        "broken", "", "", CellKind("broken", Walk, WalkRow, lambda config: 1 / 0), EXPLORER.knobs,
        EXPLORER.configs, draw, live=True,
    )  # fmt: skip
    trainings = Trainings()
    training = trainings.find(trainings.start(broken, {"steps": 4}, "p"))
    ended(training)
    assert "ZeroDivisionError" in json.loads(training.answer())["words"]


def post(server, path, origin=None, **query):
    address = f"{server.address}explore/{path}?{urllib.parse.urlencode(query)}"
    headers = {"Origin": origin} if origin else {}
    request = urllib.request.Request(address, method="POST", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def test_the_server_starts_for_its_own_pages_and_answers_mistakes_with_a_sentence(tmp_path):
    with make_explore_server([STUDY], None, tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            assert post(server, "walks/walk.start", origin="http://evil.example")[0] == 403
            status, body = post(server, "walks/walk.start", steps=99)
            assert (status, body) == (400, "steps must be a number from 1 to 9, got '99'.")
            assert post(server, "walks/nosuch.start")[0] == 400
            assert post(server, "elsewhere")[0] == 404
            own = server.address.rstrip("/")
            status, body = post(server, "walks/walk.start", origin=own, steps=9, page="p")
            assert status == 200
            number = json.loads(body)["training"]
            status, body = post(server, "walks/walk.start", steps=9, page="q")
            assert (status, "Another page is training" in body) == (503, True)
            assert post(server, "walks/walk.stop", training=number)[0] == 200
            status, body = post(server, "walks/walk.stop", training="77")
            assert (status, "There is no training '77'" in body) == (400, True)
        finally:
            gate.set()
            server.shutdown()
            thread.join()


def test_an_explorer_that_follows_its_knobs_is_not_started():
    with pytest.raises(UserError, match="trains nothing"):
        Answers([load_study("separation")]).act("separation", "map", "start", {})


def test_the_small_encoder_of_rank_trains_live_to_what_a_fresh_cell_computes():
    rank = load_study("rank")
    (explorer,) = (each for each in rank.explorers if each.live)
    values = explorer.values({"d": "4", "rank": "d/2", "N": "4", "steps": "100"})
    trainings = Trainings()
    training = trainings.find(trainings.start(explorer, values, "p"))
    while training.running:  # a page that looks
        training.answer()
        training.wait(0.2)
    assert training.words == "done"
    fresh = explorer.rows(**values)
    assert training.rows == fresh
    assert [row["step"] for row in fresh if row["part"] == "loss"] == [20, 40, 60, 80, 100]
    assert len({row["head"] for row in fresh if row["part"] == "form"}) == 2
    assert json.loads(training.answer())["spec"]["vconcat"]
