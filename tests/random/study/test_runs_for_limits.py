"""How many runs the limits take: where they are drawn, and that they are enough."""

import math
import re
from collections import Counter

import pytest

from attnlab.lab.cell import seed_of
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.study import grids, panels
from attnlab.random.study.cells import run
from attnlab.random.study.claims_linear_law import KNOWN
from attnlab.random.study.extrapolation import limit_of
from attnlab.random.study.limits_by_degree import SAME, limits_of
from attnlab.stats import Estimate
from tests.random.study.judging import UNDECIDED, entry_of

PAPER = grids.size("paper")
USUAL = {"size": 20, "linear": 40, "intercept": 20, "degrees": 20}
# By panel: the comparisons of its claim, and the standard deviation over runs at d = 30, 50 and 80
# of the log ratio whose limit is known least, as 20 stored runs show it (40 of `linear`). Of `size`
# and `degrees` the quadratic mean over points has to be known, by the spread of the shipped runs.
SPREADS = {
    "linear": (2, (0.092, 0.058, 0.039)),
    "intercept": (4, (0.069, 0.041, 0.036)),
}


def known_with(panel, runs):
    """How far from 0 chance may put a limit whose true value is 0."""
    comparisons, spreads = SPREADS[panel]
    points = [
        Estimate(0.0, spread / math.sqrt(number), number)
        for spread, number in zip(spreads, runs, strict=True)
    ]
    return limit_of(PAPER.dimensions, points, comparisons).curve.allowed


def planned(scale):
    """The runs of a scale with prompts as drawn, by panel and dimension."""
    runs = [cell.config for cell in grids.cells(scale, 0) if cell.kind is run]
    return Counter((each.panel, each.d) for each in runs if not each.rescale)


def test_the_limit_weighs_the_dimensions_as_stated():
    """By Lagrange: d² / ((d - e) (d - f)) for the two other dimensions e and f."""
    weights = [
        limit_of(
            PAPER.dimensions, [Estimate(float(d == own), 0.01, 20) for d in PAPER.dimensions], 1
        ).curve.limit.value
        for own in PAPER.dimensions
    ]
    assert weights == pytest.approx([900 / 1000, -2500 / 600, 6400 / 1500])
    assert [round(weight, 1) for weight in weights] == [0.9, -4.2, 4.3]


@pytest.mark.parametrize("panel", sorted(SPREADS))
def test_the_planned_runs_know_a_limit_to_a_tenth_and_the_usual_number_does_not(panel):
    assert SAME == KNOWN == 0.1
    found = planned("paper")
    assert known_with(panel, [found[panel, d] for d in PAPER.dimensions]) < 0.1
    assert known_with(panel, [USUAL[panel]] * 3) > 0.1


def with_usual_runs(found, panel):
    seen = found.quadratic
    for d in PAPER.dimensions:
        seen = seen.with_runs(d, USUAL[panel])
    return seen


@pytest.mark.parametrize("activation", panels.ACTIVATIONS)
@pytest.mark.parametrize(("degree", "panel"), [(1, "size"), (2, "degrees"), (4, "degrees")])
def test_a_quadratic_mean_is_known_to_a_tenth_and_not_with_the_usual_number(
    shipped, activation, degree, panel
):
    found = limits_of(shipped, activation, degree, len(panels.ACTIVATIONS))
    assert found.quadratic.allowed < SAME
    if panel == "size":
        assert with_usual_runs(found, panel).allowed > SAME


def test_where_the_runs_are_too_few_the_note_says_how_many_are_enough(shipped, monkeypatch):
    """The models of degree 2 of tanh scatter a little too much for 40 runs at d = 50."""
    whole = grids.runs_for_limits

    def fewer(at, panel, d, usual):
        return range(40) if (panel, d) == ("degrees", 50) else whole(at, panel, d, usual)

    monkeypatch.setattr(grids, "runs_for_limits", fewer)
    entry = entry_of("theorem-3-degree-2", shipped)
    assert entry.verdict == UNDECIDED
    words = r"(\d+) runs of the panel 'degrees' at d = (\d+) .* in place of (\d+)\."
    number, d, stored = map(int, re.search(words, entry.note).groups())
    found = limits_of(shipped, "tanh", 2, len(panels.ACTIVATIONS)).quadratic
    assert (stored, d) == (found.runs[50], 50)
    assert found.with_runs(d, number).allowed <= SAME < found.with_runs(d, number - 1).allowed


def test_more_runs_are_planned_at_the_paper_scale_alone():
    assert set(PAPER.limit_runs) == set(USUAL)
    found = planned("paper")
    for panel, numbers in PAPER.limit_runs.items():
        for d, number in numbers.items():
            assert found[panel, d] == number
            assert number > USUAL[panel]
    for scale in ("quick", "standard"):
        assert not grids.size(scale).limit_runs
        assert not any(panel == "intercept" for panel, _ in planned(scale))


@pytest.mark.parametrize(("scale", "number"), [("quick", 221), ("standard", 345)])
def test_every_cell_is_planned_once(scale, number):
    assert len(grids.cells(scale, 0)) == number
    for each in (scale, "paper"):
        keys = [cell.key for cell in grids.cells(each, 0)]
        assert len(set(keys)) == len(keys)


def test_no_dimension_is_above_that_of_the_figures():
    assert max(d for _, d in planned("paper")) == PAPER.d == max(PAPER.dimensions)


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_rescaled_runs_have_the_draws_of_the_first_plain_ones(scale):
    d = grids.size(scale).dimensions[1]
    plain, rescaled = (grids.size_runs(scale, 0, d, rescale=rescale) for rescale in (False, True))
    assert len(rescaled) == grids.size(scale).size_runs <= len(plain)
    seeds = [
        [seed_of(cell.config, without=("rescale",)) for cell in several]
        for several in (plain, rescaled)
    ]
    assert seeds[0][: len(rescaled)] == seeds[1]


def test_the_runs_with_an_intercept_have_the_linear_models_of_the_others():
    problem = SingleIndexRegression(30, 30, 15, "relu")
    size, own = panels.grid("size", problem), panels.grid("intercept", problem)
    linear = [model for model in size.models if panels.name_of(model).startswith("linear")]
    assert own.models == linear == panels.LINEAR
    assert (own.n, own.ridges) == (size.n, size.ridges)


def test_the_runs_of_two_widths_serve_where_no_others_with_an_intercept_are_planned():
    for d in grids.size("quick").dimensions:
        assert grids.nonlinear_runs("quick", 0, d) == grids.size_runs("quick", 0, d)
    for d in PAPER.dimensions:
        configs = [cell.config for cell in grids.nonlinear_runs("paper", 0, d)]
        assert {config.panel for config in configs} == {"intercept"}
        of_laws = grids.size_laws("paper", 0, d).config
        assert {(c.d, c.length, c.tasks, c.target, c.noise) for c in configs} == {
            (of_laws.d, of_laws.length, of_laws.tasks, of_laws.target, of_laws.noise)
        }
