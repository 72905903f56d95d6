"""The cells of `random`: bad input, the paper's grids, and the same bytes for the same question."""

import math
import subprocess
import sys
from dataclasses import replace

import pytest

from attnlab.errors import UserError
from attnlab.lab.cell import seed_of
from attnlab.lab.part import compute, decode
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.simulation import simulate
from attnlab.random.study import cells, grids, panels
from attnlab.random.study.cells import Laws, Run, laws, run
from attnlab.random.study.cells_checks import (
    Distance,
    Numbers,
    Reduction,
    distance,
    numbers,
    reduction,
)
from attnlab.random.study.cells_conditional import Conditional, conditional

SMALL = Run("size", 6, 6, 3, test=50)


@pytest.mark.parametrize(
    ("kind", "config", "sentence"),
    [
        (run, Run(d=0), "d must be an integer of at least 1, got 0"),
        (run, Run(length=0), "length must be an integer of at least 1, got 0"),
        (run, Run(tasks=0), "tasks must be an integer of at least 1, got 0"),
        (run, Run(target="cosine"), "target must be one of 'relu', 'tanh', 'linear', got 'cosine'"),
        (run, Run(panel="depth"), "panel must be one of"),
        (run, Run(noise=-1.0), "noise must be a finite number of at least 0, got -1.0"),
        (run, Run(run=-1), "run must be an integer of at least 0, got -1"),
        (run, Run(panel="linear", d=4, length=4, test=1), "test must be an integer of at least 2"),
        (laws, Laws(prompts=-1), "prompts must be an integer of at least 0, got -1"),
        (laws, Laws(panel="depth"), "panel must be one of"),
        (distance, Distance(prompts=1), "prompts must be an integer of at least 10, got 1"),
        (conditional, Conditional(prompts=1), "prompts must be an integer of at least 2, got 1"),
        (conditional, Conditional(directions=9), "directions must be an integer of at least 10"),
        (conditional, Conditional(target="cosine"), "target must be one of"),
        (reduction, Reduction(d=0), "d must be an integer of at least 1, got 0"),
        (reduction, Reduction(length=0), "length must be an integer of at least 1, got 0"),
        (reduction, Reduction(prompts=0), "prompts must be an integer of at least 1, got 0"),
        (numbers, Numbers(noise=-0.1), "noise must be a finite number of at least 0, got -0.1"),
        (run, Run(noise=math.nan), "noise must be a finite number of at least 0, got nan"),
        (laws, Laws(noise=math.inf), "noise must be a finite number of at least 0, got inf"),
        (distance, Distance(noise=math.nan), "noise must be a finite number .* got nan"),
        (numbers, Numbers(noise=math.nan), "noise must be a finite number .* got nan"),
    ],
)
def test_bad_input_is_one_sentence(unchecked, kind, config, sentence):
    with pytest.raises(UserError, match=sentence):
        kind.run(config)


@pytest.mark.parametrize(
    ("kind", "config", "subject"),
    [
        (run, Run(d=100_000), "The fits"),
        (run, Run(panel="linear", d=100_000), "The fits"),
        (run, Run(panel="linear", d=4, length=10**11), "The fits"),
        (run, Run(panel="linear", d=4, tasks=10**12), "The fits"),
        (run, Run(panel="linear", d=4, test=10**12), "The fits"),
        (laws, Laws(length=10**11), "The prompts"),
        (laws, Laws(prompts=10**13), "The prompts"),
        (distance, Distance(d=100_000), "The prompts and directions"),
        (distance, Distance(prompts=10**11), "The prompts and directions"),
        (conditional, Conditional(d=100_000), "The prompts and directions"),
        (conditional, Conditional(prompts=10**11), "The prompts and directions"),
        (conditional, Conditional(directions=10**11), "The prompts and directions"),
        (reduction, Reduction(d=10**6), "The prompts and weights"),
        (reduction, Reduction(length=10**9), "The prompts and weights"),
    ],
)
def test_what_no_machine_can_hold_is_refused_before_anything_is_drawn(
    monkeypatch, unchecked, kind, config, subject
):
    for name in ("prompts", "pool", "full_prompts"):
        monkeypatch.setattr(SingleIndexRegression, name, None)
    with pytest.raises(UserError, match=rf"^{subject} need [\d,.]+ GB of memory, and .* GB are "):
        kind.run(config)


def test_the_study_loads_without_jax_and_altair():
    code = (
        "import sys; from attnlab.random.study import study; "
        "print([name for name in ('jax', 'altair', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_papers_scale_is_its_dimension_runs_and_our_grids():
    at = grids.size("paper")
    assert (at.d, at.runs, at.test) == (80, 20, 20_000)
    assert (len(panels.TAUS), len(panels.PSIS), len(panels.RIDGES)) == (12, 11, 6)
    (first, *rest) = grids.panel_runs("n", "paper", 0)
    assert len(rest) == 19
    assert (first.config.length, first.config.tasks) == (80, 40)
    every = grids.cells("paper", 0)
    assert len({cell.key for cell in every}) == len(every)
    in_panels = [c for c in every if c.kind is run and c.config.panel == "length"]
    assert len(in_panels) == 6 * 20
    assert {c.config.length for c in in_panels} == {20, 40, 80, 160, 320, 640}


def test_a_panel_fits_the_models_of_its_figure():
    cell = run(Run("n", 5, 5, 2))
    problem = SingleIndexRegression(5, 5, 2, "relu")
    grid = panels.grid(cell.config.panel, problem)
    assert [panels.name_of(model) for model in grid.models] == [
        *("linear", "linear+intercept"),
        *("relu", "relu r=1", "relu r=2", "relu r=4"),
        *("tanh", "tanh r=1", "tanh r=2", "tanh r=4"),
    ]
    assert grid.n == [round(tau * 30) for tau in panels.TAUS]
    widths = panels.grid("ridge", problem)
    assert widths.ridges == list(panels.RIDGES)
    ratios = sorted({m.width / widths.n[0] for m in widths.models})
    assert ratios == pytest.approx(panels.PSIS, abs=0.02)


def test_no_two_draws_share_their_seed():
    every = [cell for cell in grids.cells("quick", 0) if cell.kind is run]
    seeds = {cell: seed_of(cell.config, without=("rescale",)) for cell in every}
    plain = [seed for cell, seed in seeds.items() if not cell.config.rescale]
    assert len(set(plain)) == len(plain)
    assert {seed for cell, seed in seeds.items() if cell.config.rescale} <= set(plain)


def test_a_rescaled_run_has_the_draws_of_the_plain_one():
    config = Run("linear", 6, 6, 3, test=50)
    plain, equal = (run.run(replace(config, rescale=rescale)).rows for rescale in (False, True))
    assert plain[1].icl != equal[1].icl
    # The ridge that is so large that nothing is learned leaves the labels themselves.
    problem = SingleIndexRegression(6, 6, 3, "relu")
    huge = [
        simulate(
            problem,
            panels.LINEAR[0],
            n=40,
            ridge=1e12,
            runs=1,
            seed=seed_of(config, without=("rescale",)),
            test=50,
            rescale=rescale,
        )[0].icl.value
        for rescale in (False, True)
    ]
    assert huge[0] == pytest.approx(huge[1], rel=1e-9)


def test_a_run_is_the_same_bytes_twice_and_survives_the_store():
    cell = run(SMALL)
    first, second = compute(cell), compute(cell)
    assert first.part == second.part
    rows = decode(cell, first.part)[cell.key]
    assert {row.model for row in rows} >= {"linear", "linear+intercept", "relu", "tanh r=1"}
    assert all(row.icl is None or row.icl > 0 for row in rows)
    other = compute(run(Run("size", 6, 6, 3, test=50, run=1)))
    assert other.part != first.part


def test_an_ill_conditioned_fit_has_a_diagnosis_and_no_warning(recwarn):
    rows = run.run(Run("ridge", 6, 6, 3, test=50)).rows
    at_peak = [row for row in rows if row.width == row.n and row.ridge == 1e-8]
    assert at_peak
    assert not recwarn.list
    assert any(row.diagnosis for row in rows) or all(row.condition for row in rows)


def test_the_laws_answer_on_the_grid_of_the_run():
    rows = laws.run(Laws("size", 6, 6, 3, prompts=0)).rows
    assert {row.law for row in rows} == {"limit"}
    assert [(r.model, r.n, r.width, r.ridge) for r in rows] == [
        (r.model, r.n, r.width, r.ridge) for r in run.run(SMALL).rows
    ]


def test_the_refinement_is_there_for_transformers_and_degree_one():
    def refined_models(panel):
        grid = panels.grid(panel, SingleIndexRegression(24, 24, 12, "relu"))
        return {panels.name_of(m) for m in grid.models if cells._is_refined(m, panel)}

    low = {"relu", "relu r=1", "tanh", "tanh r=1"}
    assert refined_models("size") == refined_models("width") == refined_models("length") == low
    assert refined_models("degrees") == refined_models("length-degrees")
    assert refined_models("degrees") == low | {
        f"{activation} r={degree}" for activation in ("relu", "tanh") for degree in (2, 4)
    }
    rows = laws.run(Laws("sign", 6, 6, 3, prompts=100)).rows
    of_law = {name: [r for r in rows if r.law == name] for name in ("limit", "refined")}
    assert [r.model for r in of_law["limit"]] == [r.model for r in of_law["refined"]]
    assert all(r.standard_error > 0 for r in of_law["refined"])


def test_the_laws_of_figure_2a_are_on_the_grid_of_its_runs():
    """They predict the gaps of every degree, and have a panel of their own for that alone."""
    problem = SingleIndexRegression(24, 6, 12, "relu")
    assert panels.grid("length-degrees", problem) == panels.grid("length", problem)
    planned = grids.cells("quick", 0)
    by_kind = {
        kind: {c.config.panel for c in planned if c.kind is kind and "length" in c.config.panel}
        for kind in (run, laws)
    }
    assert by_kind == {run: {"length"}, laws: {"length-degrees"}}


def test_the_panel_of_degrees_has_points_of_figure_2b():
    """The predictions for degrees 2 and 4 are at widths that Figure 2(b) simulates."""
    problem = SingleIndexRegression(24, 24, 12, "relu")
    assert set(panels.grid("degrees", problem).models) <= set(panels.grid("width", problem).models)
    assert panels.grid("degrees", problem).n == panels.grid("width", problem).n
