"""Limits: which gaps vanish as d grows, how well that is known, and distances from Gaussian."""

import inspect
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from attnlab.random import gaussianity
from attnlab.random.study import gaussian_floor, grids, study
from attnlab.random.study.extrapolation import all_vanish, known_to, limit_of
from attnlab.random.study.limits_by_degree import limits_of
from attnlab.stats import Estimate
from tests.random.study.changes import changed, fitted, times, to
from tests.random.study.judging import EQUIVALENT, UNDECIDED, entry_of, verdict

LIMITS = (
    *("lu-icl", "lu-idg", "lu-nonlinear-target"),
    *("theorem-3", "theorem-3-relu", "theorem-3-tanh"),
    *("theorem-3-degree-1", "theorem-3-degree-2", "theorem-3-degree-4"),
)


def without(view, *dimensions, panels=("size", "linear", "intercept", "degrees", "width")):
    """The same results without the cells of some dimensions."""
    gone = {
        cell.key
        for cell in grids.cells(view.scale, view.seed)
        if getattr(cell.config, "panel", "") in panels and cell.config.d in dimensions
    }
    return replace(view, results={k: rows for k, rows in view.results.items() if k not in gone})


def test_a_term_that_a_line_hides_is_allowed_for():
    """Points on a curve whose bend is below chance: the line is sure of a wrong limit."""
    sizes, error = (30, 50, 80), 0.004
    points = [Estimate(0.1 - 8 / d + 180 / d**2, error, 20) for d in sizes]
    found = limit_of(sizes, points, 1)
    assert found.curve.limit.value == pytest.approx(0.1, abs=1e-9)
    assert abs(found.line.limit.value - 0.1) > 5 * found.line.limit.standard_error
    assert found.curve.allowed > 3 * found.line.allowed
    assert "by a line" in str(found)


def test_only_the_curve_refutes():
    sizes, error = (30, 50, 80), 1e-4
    bent = limit_of(sizes, [Estimate(2 / d + 40 / d**2, error, 20) for d in sizes], 1)
    stays = limit_of(sizes, [Estimate(0.2 + 2 / d, 2 * error, 20) for d in sizes], 1)
    assert not bent.line.vanishes
    assert all_vanish([bent]) == "holds"
    assert all_vanish([bent, stays]) == "fails"
    assert known_to([bent, stays]) == stays.curve.allowed
    assert known_to([bent]) == bent.curve.allowed


@pytest.mark.parametrize("claim", LIMITS)
@pytest.mark.parametrize("d", [30, 50, 80])
def test_a_run_that_lacks_a_dimension_has_no_limit_and_names_it(paper, claim, d):
    found = entry_of(claim, without(paper, d))
    assert found.verdict == UNDECIDED
    assert found.resolution is None
    assert re.search(rf"(lacks runs at|no result for) d = {d};", found.note)
    assert "--scale paper" in found.note
    assert "lacks" not in entry_of(claim, paper).note


def test_several_missing_dimensions_are_named(paper):
    for degree in (1, 2, 4):
        found = entry_of(f"theorem-3-degree-{degree}", without(paper, 30, 50))
        assert found.verdict == UNDECIDED
        assert "lacks runs at d = 30 and 50;" in found.note
    for claim in ("lu-icl", "lu-idg", "lu-nonlinear-target"):
        assert "no result for d = 30 and 50;" in entry_of(claim, without(paper, 30, 50)).note


def test_no_check_stops_on_a_store_without_the_runs_that_limits_take(paper):
    """As a store is that was computed before there were so many of them."""
    usual = {cell.key for cell in grids.cells("paper", 0) if getattr(cell.config, "run", 0) < 20}
    kept = {key: rows for key, rows in paper.results.items() if key in usual}
    seen = replace(paper, results=kept)
    for claim in (*LIMITS, "small-degree-suffices"):
        found = entry_of(claim, seen)
        assert found.verdict == UNDECIDED
        assert "--scale paper" in found.note


@pytest.mark.parametrize("name", ["ratio", "extrapolation"])
def test_the_figures_of_limits_show_every_dimension(paper, name):
    (figure,) = [figure for figure in study.figures if figure.id == name]
    shown = {round(1 / row["inverse_d"]) for row in figure.data(paper)}
    assert shown == set(grids.size("paper").dimensions)


def test_each_degree_is_compared_with_its_own_prediction(paper):
    """Equivalent models of degree 4 that are off are seen by the claim about degree 4 alone."""
    off = changed(paper, times(1.5, "run", fitted("width", "relu r=4|tanh r=4")))
    verdicts = [verdict(f"refinement-degree-{degree}", off) for degree in (1, 2, 4)]
    assert verdicts == ["holds", "holds", "fails"]


def test_each_degree_has_its_own_limit(paper):
    """A gap of degree 4 that stays as d grows is a finding about degree 4 alone."""
    panels = ("width", "degrees", "size")
    off = [times(1.5, "run", fitted(panel, "relu r=4|tanh r=4")) for panel in panels]
    verdicts = [verdict(f"theorem-3-degree-{r}", changed(paper, *off)) for r in (1, 2, 4)]
    assert verdicts == ["holds", "holds", "fails"]
    assert verdict("small-degree-suffices", changed(paper, *off)) == "holds"
    every = [times(1.5, "run", fitted(panel, EQUIVALENT)) for panel in panels]
    assert verdict("small-degree-suffices", changed(paper, *every)) == "fails"


def test_a_degree_that_does_not_agree_refutes_no_theorem_about_some_degree(paper):
    """For each activation another degree may be the one that agrees."""
    panels = ("width", "degrees", "size")
    models = "relu r=1|relu r=2|tanh r=2|tanh r=4"
    off = changed(paper, *(times(1.5, "run", fitted(panel, models)) for panel in panels))
    for claim in ("theorem-3", "theorem-3-relu", "theorem-3-tanh"):
        assert verdict(claim, off) == "holds"
    assert verdict("small-degree-suffices", off) == "fails"
    relu = "relu r=1|relu r=2|relu r=4"
    off = changed(paper, *(times(1.5, "run", fitted(panel, relu)) for panel in panels))
    assert [verdict(f"theorem-3{each}", off) for each in ("", "-relu", "-tanh")] == [
        "fails",
        "fails",
        "holds",
    ]


def moved(gaps):
    """Transformers of `size` with log errors larger by gaps, by m/n and ridge."""

    def change(config, row):
        if config.panel != "size" or config.rescale or row.model != "tanh":
            return {}
        gap = gaps.get((round(row.width / row.n, 1), row.ridge), 0.0)
        return {"icl": row.icl * math.exp(gap)}

    return "run", change


def test_limits_of_opposite_sign_do_not_cancel(paper):
    """Their mean over the points is 0, their quadratic mean twice what would be noticed."""
    claim = "theorem-3-degree-1"
    size = 2 * entry_of(claim, paper).resolution.value
    gaps = {(0.5, 1e-8): size, (0.5, 0.1): size, (1.5, 1e-8): -size, (1.5, 0.1): -size}
    found = entry_of(claim, changed(paper, moved(gaps)))
    assert found.verdict == "fails"
    assert "in quadratic mean" in found.measured


def test_one_point_alone_refutes_where_it_is_clear(paper):
    """A departure at one point of four, twice as large as the smallest that it would show."""
    claim = "theorem-3-degree-1"
    alone = limits_of(paper, "tanh", 1, 2).at_one_point
    found = entry_of(claim, changed(paper, moved({(1.5, 1e-8): 2 * alone})))
    assert found.verdict == "fails"


def test_small_degrees_are_as_known_as_those_that_agree(paper):
    """A degree that is refuted clearly says nothing about how well the others are known."""
    panels = ("width", "degrees")
    off = [times(9.0, "run", fitted(panel, "relu r=4|tanh r=4")) for panel in panels]
    plain = [entry_of(f"theorem-3-degree-{r}", paper).resolution.value for r in (1, 2)]
    found = entry_of("small-degree-suffices", changed(paper, *off))
    assert found.verdict == "holds"
    assert found.resolution.value == pytest.approx(min(plain))


@pytest.mark.parametrize(("power", "expected"), [(1, "holds"), (0, "fails")])
def test_a_gap_may_be_there_at_every_dimension_and_must_vanish(paper, power, expected):
    def grown(config, row):
        in_panel = config.panel in ("width", "degrees") and row.model in ("relu", "tanh")
        return {"icl": row.icl * math.exp(0.4 * (30 / config.d) ** power)} if in_panel else {}

    for degree in (2, 4):
        found = entry_of(f"theorem-3-degree-{degree}", changed(paper, ("run", grown)))
        assert found.verdict == expected


@pytest.mark.parametrize("claim", ["lu-icl", "lu-idg"])
def test_a_bend_in_the_law_of_linear_attention_is_no_refutation(paper, claim):
    def bent(config, row):
        factor = math.exp(4 / config.d + 60 / config.d**2)
        return (
            {"icl": row.icl * factor, "idg": row.idg * factor} if config.panel == "linear" else {}
        )

    assert verdict(claim, changed(paper, ("run", bent))) == "holds"
    assert verdict(claim, changed(paper, ("run", bent), ("run", _off))) == "fails"


def _off(config, row):
    return {"icl": 1.2 * row.icl, "idg": 1.2 * row.idg} if config.panel == "linear" else {}


@pytest.mark.parametrize("field", ["kurtosis", "kolmogorov"])
def test_a_distance_that_stays_is_no_convergence(paper, field):
    rows = paper.rows(grids.distances(paper.scale, paper.seed)[1])
    stays = to("gaussianity", **{field: getattr(rows[0], field)})
    for claim in ("lemma-1", "corollary-2"):
        assert verdict(claim, changed(paper, stays)) == "fails"


def test_gaussian_samples_are_gaussian(paper):
    """Rows that show at every d what Gaussian samples show leave nothing to be seen of a limit."""
    prompts = grids.distances(paper.scale, paper.seed)[0].config.prompts
    floor = gaussian_floor.gaussian_pairs(prompts)
    flat = to(
        "gaussianity",
        lambda c, r: r.statement == "corollary-2",
        kurtosis=floor.kurtosis,
        kolmogorov=floor.kolmogorov,
    )
    assert verdict("corollary-2", changed(paper, flat)) != "fails"


def test_a_limit_as_large_as_the_last_distance_must_be_seen(paper):
    """With standard errors at which d = 128 cannot be told from the limit nothing is decided."""
    coarse = to("gaussianity", kolmogorov_error=2e-3)
    for claim in ("lemma-1", "corollary-2"):
        found = entry_of(claim, changed(paper, coarse))
        assert found.verdict == UNDECIDED
        assert found.resolution.value > found.resolution.limit


def test_the_floor_has_the_projections_of_the_cell():
    names = inspect.signature(gaussianity.joint_with_index).parameters
    assert names["angles"].default == gaussian_floor.ANGLES


def test_the_floor_of_pairs_is_above_that_of_a_kurtosis_alone():
    """The largest of eight kurtoses of Gaussian samples is positive, and falls as 1/sqrt(n)."""
    few, many = (gaussian_floor.gaussian_pairs(n) for n in (500, 2000))
    assert few.kurtosis > many.kurtosis > 0.05
    assert few.kolmogorov / many.kolmogorov == pytest.approx(2, rel=0.1)


def test_what_is_beyond_the_floor_is_the_distance_of_the_law(seed):
    """A scale mixture whose excess kurtosis is known, seen through the largest of eight angles."""
    n, variance = 4000, 0.1
    rng = np.random.default_rng(seed)
    theta = np.pi * np.arange(gaussian_floor.ANGLES) / gaussian_floor.ANGLES
    largest = []
    for _ in range(100):
        pair = rng.standard_normal((2, n))
        pair[0] *= np.sqrt(rng.gamma(1 / variance, variance, n))
        views = np.stack([np.cos(theta), np.sin(theta)], axis=1) @ pair
        largest.append(max(np.mean(v**4) / np.mean(v**2) ** 2 - 3 for v in views))
    found = gaussian_floor.beyond(Estimate.of(largest), gaussian_floor.gaussian_pairs(n).kurtosis)
    assert found.value == pytest.approx(3 * variance, abs=0.03 + 5 * found.standard_error)


def test_the_root_is_signed_and_its_standard_error_is_finite():
    below = gaussian_floor.beyond(Estimate(0.012, 1e-3, 8), 0.013)
    assert below.value < 0
    assert below.standard_error < math.inf
    at = gaussian_floor.beyond(Estimate(0.013, 1e-3, 8), 0.013)
    assert (at.value, at.standard_error) == (0.0, pytest.approx(math.sqrt(0.013e-3)))
    plain = Estimate(-0.2, 0.1, 8)
    assert gaussian_floor.beyond(plain, 0.0) == plain
