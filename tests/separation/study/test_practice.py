"""The sentences about applications are judged on published accuracies."""

from dataclasses import replace

import pytest

from attnlab.lab.study import UNDECIDED
from attnlab.separation.study import grids
from attnlab.separation.study.cells_published import AccuracyRow

BETTER = AccuracyRow("one", 20_000, 80.0, 70.0, 71.0)


@pytest.fixture
def judged(view, entry):
    def judge(*rows, claim="practice"):
        cell = grids.published_accuracies()
        return entry(claim, replace(view, results={**view.results, cell.key: list(rows)}))

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


def tasks(*rows):
    """The same rows under different names."""
    return [replace(row, task=f"task {i}") for i, row in enumerate(rows)]


WORSE = AccuracyRow("one", 20_000, 70.0, 80.0, 81.0)
TIE = AccuracyRow("one", 20_000, 70.0, 70.1, 69.9)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ((BETTER, BETTER, WORSE), "holds"),
        ((BETTER, BETTER, TIE), "holds"),
        ((BETTER, BETTER, TIE, WORSE), UNDECIDED),
        ((BETTER, WORSE), "fails"),
        ((BETTER, TIE, WORSE, WORSE), "fails"),
    ],
)
def test_most_is_more_than_half_of_the_tasks(judged, rows, verdict):
    assert judged(*tasks(*rows), claim="practice-most").verdict == verdict


def test_twice_the_resolution_on_half_of_the_tasks_refutes_most(judged):
    seen = judged(*tasks(BETTER, BETTER), claim="practice-most")
    assert seen.verdict == "holds"
    against = BETTER.softmax + 2 * seen.resolution.value
    broken = replace(BETTER, linear=against, performer=against)
    assert judged(*tasks(BETTER, broken), claim="practice-most").verdict == "fails"


def test_five_tasks_leave_most_and_the_drop_open(view, entry):
    assert "on 2 of 5 tasks (ListOps, retrieval)" in entry("practice-most", view).measured
    for claim in ("practice-most", "practice-drop"):
        found = entry(claim, view)
        assert found.verdict == UNDECIDED
        assert "No scale of the study decides it." in found.note


def drops(*shifts):
    """Ten tasks with nearly the same drop, by 10 and by 9 per cent."""
    (shift,) = shifts or (0.0,)
    return tasks(
        *(
            replace(BETTER, linear=70 + i / 100 + shift, performer=71 - i / 100 + shift)
            for i in range(10)
        )
    )


def test_a_drop_on_average_holds_and_its_opposite_fails(judged):
    seen = judged(*drops(), claim="practice-drop")
    assert seen.verdict == "holds"
    assert seen.resolution.limit == pytest.approx(9.0, abs=0.1)
    against = seen.resolution.limit + 1 + 2 * seen.resolution.value
    assert judged(*drops(against), claim="practice-drop").verdict == "fails"
    assert judged(*drops(9.5), claim="practice-drop").verdict == UNDECIDED
