"""The text gives no degree: for each activation of a figure one degree must match everywhere."""

import math
import re

import pytest

from attnlab.lab.study import NO_SCALE
from attnlab.random.study.claims_equivalence import FIGURES
from attnlab.random.study.claims_samples import SLIGHT
from attnlab.random.study.limits_by_degree import SAME
from tests.random.study.changes import changed, fitted, shifted, times, to
from tests.random.study.judging import EQUIVALENT, MLP, UNDECIDED, at_psi, at_tau, entry_of, verdict

TARGETS = {"1a": "relu", "1b": "tanh", "2a": "relu", "2b": "relu"}
PANELS = {"1a": "n", "1b": "n", "2a": "length", "2b": "width"}
POINTS = {  # three points away from the peak in each figure that has several degrees
    "1a": [at_tau(tau) for tau in (0.5, 2.0, 3.0)],
    "1b": [at_tau(tau) for tau in (0.5, 2.0, 3.0)],
    "2a": [lambda c, r, length=length: c.length == length for length in (40, 80, 640)],
    "2b": [at_psi(psi) for psi in (0.25, 0.5, 3.0)],
}
ANYWHERE = lambda config, row: True  # noqa: E731


def off(figure, models, gap=0.3, where=ANYWHERE):
    """Equivalent models with smaller errors: log(transformer / equivalent) grows by a gap."""
    rows = fitted(PANELS[figure], models, TARGETS[figure], where)
    return times(math.exp(-gap), "run", rows)


def judged(paper, figure, *changes):
    return entry_of(f"theorem-3-fig-{figure}", changed(paper, *changes))


def degrees_of(entry, activation):
    """What the entry says of an activation: the largest |log ratio| by word and degree."""
    (part,) = re.findall(rf"{activation} ([^;]+);", entry.measured)
    found, word = {}, ""
    for words, degree, value in re.findall(r"([a-z ]+ with )?r = (\d) \(([\d.]+)\)", part):
        word = words.strip() or word
        found.setdefault(word, {})[int(degree)] = float(value)
    return found


@pytest.mark.parametrize("figure", sorted(PANELS))
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_one_degree_that_matches_everywhere_is_enough(paper, figure, degree):
    others = [other for other in (1, 2, 4) if other != degree]
    models = "|".join(f"relu r={other}" for other in others)
    found = judged(paper, figure, off(figure, models, where=POINTS[figure][0]))
    assert found.verdict == "holds"
    shown = degrees_of(found, "relu")
    assert shown["matches with"] == {degree: pytest.approx(0, abs=0.02)}
    assert shown["does not match with"] == pytest.approx(dict.fromkeys(others, 0.3), abs=0.02)
    assert set(degrees_of(found, "tanh")["matches with"]) == {1, 2, 4}
    assert "This is about this d; theorem-3 judges the limit." in found.note


@pytest.mark.parametrize("figure", sorted(PANELS))
def test_each_activation_may_have_a_degree_of_its_own(paper, figure):
    found = judged(paper, figure, off(figure, "relu r=1|relu r=2|tanh r=2|tanh r=4"))
    assert found.verdict == "holds"
    assert set(degrees_of(found, "relu")["matches with"]) == {4}
    assert set(degrees_of(found, "tanh")["matches with"]) == {1}


@pytest.mark.parametrize("figure", sorted(PANELS))
def test_the_degree_is_the_same_at_all_points(paper, figure):
    """Where at every point some degree matches, and none at all of them, the figure does not."""
    one_each = [
        off(figure, f"tanh r={degree}", where=where)
        for degree, where in zip((1, 2, 4), POINTS[figure], strict=True)
    ]
    assert judged(paper, figure, *one_each).verdict == "fails"
    assert judged(paper, figure, *one_each[:2]).verdict == "holds"


@pytest.mark.parametrize("figure", sorted(PANELS))
@pytest.mark.parametrize("models", [EQUIVALENT, "relu r=1|relu r=2|relu r=4"])
def test_an_activation_with_which_no_degree_matches_refutes_the_figure(paper, figure, models):
    found = judged(paper, figure, off(figure, models))
    assert found.verdict == "fails"
    assert set(degrees_of(found, "relu")) == {"does not match with"}


def test_at_a_smaller_dimension_no_figure_is_refuted(quick):
    for figure in PANELS:
        found = entry_of(f"theorem-3-fig-{figure}", changed(quick, off(figure, EQUIVALENT, 9.0)))
        assert found.verdict == UNDECIDED
        assert set(degrees_of(found, "tanh")) == {"does not match with"}
        assert "--scale paper" in found.note


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_broken_by_twice_its_resolution_fails(paper, figure):
    panel, target = PANELS.get(figure, "ridge|ridge-degree-4"), TARGETS.get(figure, "relu")
    rows = fitted(panel, MLP, target)
    plain = entry_of(f"theorem-3-fig-{figure}", paper)
    for sign in (1, -1):
        broken = changed(paper, *shifted(plain.resolution, rows, sign=sign))
        assert verdict(f"theorem-3-fig-{figure}", broken) == "fails"


@pytest.mark.parametrize("figure", sorted(PANELS))
def test_the_weakest_refutation_of_a_degree_decides(paper, figure):
    """And of each degree the clearest of its points: 0.4 and not 0.3 with r = 1."""
    several = [
        off(figure, "relu r=1", 0.3),
        off(figure, "relu r=1", 0.1, POINTS[figure][0]),
        off(figure, "relu r=2", 0.8),
        off(figure, "relu r=4", 0.9),
    ]
    found = judged(paper, figure, *several)
    assert found.verdict == "fails"
    assert found.resolution.limit == pytest.approx(0.4, abs=0.02)
    assert found.resolution.value < found.resolution.limit / 2


@pytest.mark.parametrize("figure", sorted(PANELS))
def test_the_degree_that_is_known_best_decides_and_a_coarse_one_cannot(paper, figure):
    def coarse(models, spread):
        rows = fitted(PANELS[figure], models, TARGETS[figure])

        def scattered(config, row):
            factor = math.exp(spread * (-1) ** config.run)
            return {"icl": row.icl * factor} if rows(config, row) else {}

        return "run", scattered

    plain = entry_of(f"theorem-3-fig-{figure}", paper)
    one = judged(paper, figure, coarse("relu r=1", 0.2))
    assert one.verdict == "holds"
    assert one.resolution.value == pytest.approx(plain.resolution.value, rel=0.05)
    assert set(degrees_of(one, "relu")["is open with"]) == {1}
    every = judged(paper, figure, coarse(EQUIVALENT, 0.2))
    assert every.verdict == UNDECIDED
    assert every.resolution.value > SAME
    assert NO_SCALE in every.note
    assert "--scale paper" not in every.note


@pytest.mark.parametrize(
    ("figure", "number"), [("1a", 72), ("1b", 72), ("2a", 36), ("2b", 66), ("2c", 132)]
)
def test_all_points_and_degrees_share_the_level(paper, figure, number):
    found = entry_of(f"theorem-3-fig-{figure}", paper)
    assert f"({number} Student tests, familywise level" in found.tolerance
    assert f"{number} comparisons" in found.measured


@pytest.mark.parametrize("figure", ["1a", "1b", "2b"])
def test_only_a_slight_gap_matches(paper, figure):
    first = off(figure, "relu r=1|relu r=2")
    slight = judged(paper, figure, first, off(figure, "relu r=4", SLIGHT))
    assert slight.verdict == "holds"
    beyond = judged(paper, figure, first, off(figure, "relu r=4", 0.15))
    assert beyond.verdict == "fails"


def test_figure_2c_has_two_degrees_of_which_one_is_enough(paper):
    for panel, degree, other in (("ridge", 1, 4), ("ridge-degree-4", 4, 1)):
        gap = times(math.exp(-0.3), "run", fitted(panel, f"relu r={degree}"))
        found = judged(paper, "2c", gap)
        assert found.verdict == "holds"
        assert set(degrees_of(found, "relu")["matches with"]) == {other}
        assert set(degrees_of(found, "relu")["does not match with"]) == {degree}


def test_a_degree_that_lacks_a_point_is_not_the_one_that_matches(paper):
    """Its fit is ill-conditioned there, away from the peak, and those of other degrees are not."""
    ill = to("run", fitted("width", "relu r=4", where=at_psi(2.0)), diagnosis="ill-conditioned")
    others = off("2b", "relu r=1|relu r=2")
    assert judged(paper, "2b", ill).verdict == "holds"
    found = judged(paper, "2b", ill, others)
    assert found.verdict == UNDECIDED
    assert set(degrees_of(found, "relu")["does not match with"]) == {1, 2}
    assert set(degrees_of(found, "relu")["is open with"]) == {4}


def test_a_figure_without_a_well_conditioned_fit_is_open(paper):
    ill = to("run", fitted("width", "tanh"), diagnosis="ill-conditioned")
    found = judged(paper, "2b", ill)
    assert found.verdict == UNDECIDED
    assert f"{NO_SCALE} That takes fits that are not ill-conditioned." in found.note
