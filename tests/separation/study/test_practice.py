"""The sentence about applications is judged on published accuracies."""

from dataclasses import replace

import pytest

from attnlab.lab.study import UNDECIDED
from attnlab.separation.study import grids
from attnlab.separation.study.cells_published import AccuracyRow

BETTER = AccuracyRow("one", 20_000, 80.0, 70.0, 71.0)


@pytest.fixture
def judged(view, entry):
    def judge(*rows):
        cell = grids.published_accuracies()
        return entry("practice", replace(view, results={**view.results, cell.key: list(rows)}))

    return judge


def test_a_task_refutes_that_softmax_is_always_better(view, entry):
    found = entry("practice", view)
    assert found.verdict == "fails"
    assert "better than both models of linear attention on ListOps, retrieval" in found.measured
    assert "worse than both on Pathfinder" in found.measured
    assert found.resolution.suffices
    assert found.resolution.limit == pytest.approx(75.30 - 71.40)


def test_it_holds_where_softmax_is_better_on_every_task(judged):
    assert judged(BETTER, replace(BETTER, task="two")).verdict == "holds"


@pytest.mark.parametrize(
    "changes",
    [{"linear": 80.0}, {"linear": 81.5, "performer": 79.9}],
    ids=["a tie", "one of two models"],
)
def test_a_task_that_shows_nothing_decides_nothing(judged, changes):
    assert judged(BETTER, replace(BETTER, task="two", **changes)).verdict == UNDECIDED


@pytest.mark.parametrize(("times", "verdict"), [(2, "fails"), (0.5, UNDECIDED)])
def test_a_departure_of_twice_the_resolution_is_noticed(judged, times, verdict):
    seen = judged(BETTER, replace(BETTER, task="two")).resolution
    against = BETTER.softmax + times * seen.value
    broken = replace(BETTER, task="two", linear=against, performer=against)
    assert judged(BETTER, broken).verdict == verdict
