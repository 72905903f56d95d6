"""The laws against the simulation, which is called the same way.

Every comparison is in standard errors of the simulation, or of a rate in 1/d.
"""

import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import EquivalentModel, RandomTransformer
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.simulation import simulate
from attnlab.random.theory import linear_attention_law
from attnlab.random.theory.law import law, refined, samples, setting_of

Z = 6.0  # about 40 comparisons in this file: a familywise level below 1e-6


def problem_of(d, target="relu"):
    return SingleIndexRegression(d, d, d // 2, target, 0.01)


@pytest.mark.parametrize(
    ("target", "intercept"), [("linear", False), ("relu", False), ("relu", True), ("tanh", False)]
)
def test_linear_attention_tends_to_its_law_like_one_over_d(target, intercept, seed):
    # The gap is O(1/d): twice the value at 2d less the value at d has none at first order.
    found, expected = [], []
    for d, runs in ((10, 80), (20, 40)):
        problem = problem_of(d, target)
        sizes = [samples(problem, tau) for tau in (0.5, 1.0, 1.5)]
        call = {"n": sizes, "ridge": 0.1}
        model = LinearAttention(intercept)
        points = simulate(problem, model, runs=runs, seed=seed, test=1000, **call)
        expected = law(problem, model, **call)
        found.append(points)
    for small, large, exact in zip(*found, expected, strict=True):
        for kind in ("icl", "idg"):
            a, b, limit = (getattr(point, kind) for point in (small, large, exact))
            error = math.hypot(a.standard_error, 2 * b.standard_error)
            # 2 / d^2 relative allows for the second order at d = 10, 20.
            assert abs(2 * b.value - a.value - limit.value) < Z * error + 0.02 * limit.value


def test_ridgeless_linear_attention_has_the_known_gap_at_d_20(seed):
    problem = problem_of(20, "linear")
    call = {"n": samples(problem, 1.5), "ridge": 1e-8}
    (found,) = simulate(problem, LinearAttention(), runs=40, seed=seed, test=1000, **call)
    (limit,) = law(problem, LinearAttention(), **call)
    assert limit.icl.value == pytest.approx(1.663509, abs=1e-6)
    gap = found.icl.value / limit.icl.value - 1
    # +29.7% was measured there; its own error is taken to be that of this simulation.
    error = math.sqrt(2) * found.icl.standard_error / limit.icl.value
    assert abs(gap - 0.297) < Z * error
    assert gap > 0.1


def test_the_features_law_holds_for_prompts_of_equal_norm_and_fails_for_others(seed):
    problem = problem_of(20)
    n = samples(problem, 1.5)
    models = [RandomTransformer(round(1.5 * n)), RandomTransformer(round(0.5 * n))]
    call = {"n": n, "ridge": 1e-8}
    limits = law(problem, models, **call)
    same = simulate(problem, models, runs=16, seed=seed, rescale=True, test=1000, **call)
    for point, limit in zip(same, limits, strict=True):
        # At d = 40 the law was found 5.2% off at most; O(1/d) makes that 11% here.
        gap = abs(point.icl.value - limit.icl.value)
        assert gap < 0.11 * limit.icl.value + Z * point.icl.standard_error
    true = simulate(problem, models[:1], runs=16, seed=seed, test=1000, **call)[0]
    # 1.66 against .93 is known there, and 16 runs spread by about .1: six of those are left.
    assert true.icl.value > 1.15 * limits[0].icl.value


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_refinement_predicts_true_transformers_within_five_percent(activation, seed):
    problem = problem_of(20)
    n = samples(problem, 1.5)
    models = [RandomTransformer(round(psi * n), activation) for psi in (0.5, 1.5)]
    call = {"n": n, "ridge": (1e-8, 0.1)}
    predicted = refined(problem, models, prompts=24_000, pools=24, seed=seed, **call)
    found = simulate(problem, models, runs=16, seed=seed, test=1000, **call)
    for point, expected in zip(found, predicted, strict=True):
        assert (point.model, point.n, point.ridge) == (
            expected.model,
            expected.n,
            expected.ridge,
        )
        error = math.hypot(point.icl.standard_error, expected.icl.standard_error)
        assert abs(point.icl.value - expected.icl.value) < 0.05 * expected.icl.value + 5 * error
        # Far from the limit, so that the refinement is what is tested.
    (limit,) = law(problem, models[1], n=n, ridge=1e-8)
    if activation == "relu":
        assert predicted[2].icl.value > 1.5 * limit.icl.value


def test_the_refinement_covers_equivalent_models(seed):
    problem = problem_of(20)
    n = samples(problem, 1.5)
    models = [EquivalentModel(n // 2, "relu", degree) for degree in (1, 2)]
    call = {"n": n, "ridge": 0.1}
    found = simulate(problem, models, runs=16, seed=seed, test=1000, **call)
    for point, expected in zip(
        found, refined(problem, models, prompts=24_000, pools=24, seed=seed, **call), strict=True
    ):
        error = math.hypot(point.icl.standard_error, expected.icl.standard_error)
        assert abs(point.icl.value - expected.icl.value) < 0.05 * expected.icl.value + 5 * error


def test_the_law_is_placed_at_the_ratios_of_the_problem():
    problem = problem_of(40)
    n = samples(problem, 1.5)
    assert n == 2460
    setting = setting_of(problem)
    assert (setting.alpha, setting.kappa, setting.rho) == (1.0, 0.5, 0.01)
    assert setting_of(SingleIndexRegression(4, 8, None)).kappa == math.inf
    (point,) = law(problem, LinearAttention(), n=n, ridge=0.3)
    expected = linear_attention_law.errors(setting, 1.5, 0.3)
    assert (point.icl.value, point.idg.value, point.train.value) == tuple(expected)
    assert point.icl.exact
    assert point.median() == point.icl


def test_all_degrees_share_the_limit_but_the_zeroth():
    problem, n = problem_of(20), 630
    models = [RandomTransformer(315), *(EquivalentModel(315, "relu", r) for r in (1, 2, 4))]
    points = law(problem, models, n=n, ridge=0.1)
    assert len({point.icl for point in points}) == 1
    (zeroth,) = law(problem, EquivalentModel(315, "relu", 0), n=n, ridge=0.0)
    assert zeroth.idg.value == pytest.approx(2 * 0.350845, abs=1e-5)
    (peak,) = law(problem, RandomTransformer(n), n=n, ridge=0.0)
    assert math.isinf(peak.icl.value)
    assert peak.diagnosis.startswith("infinite")


def test_the_refinement_has_the_known_values(seed):
    # The known values carry .6-1% of Monte Carlo noise each: 6 of those and of ours.
    known = (
        (40, "relu", 0.5, 0.1, 0.673),
        (40, "tanh", 1.5, 1e-8, 2.064),
        (60, "relu", 1.5, 1e-8, 1.084),
    )
    for d, activation, psi, ridge, value in known:
        problem = problem_of(d)
        n = samples(problem, 1.5)
        model = RandomTransformer(round(psi * n), activation)
        (point,) = refined(problem, model, n=n, ridge=ridge, seed=seed, prompts=30_000, pools=30)
        error = math.hypot(point.icl.standard_error, 0.01 * value)
        assert abs(point.icl.value - value) < Z * error
        assert abs(point.icl.value / value - 1) < 0.08


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments_of_the_laws_are_named():
    problem = problem_of(6)
    with pytest.raises(UserError, match=r"^n must be an integer of at least 1, got 0\.$"):
        law(problem, LinearAttention(), n=0, ridge=0.1)
    with pytest.raises(UserError, match=r"^ridge must be a finite number of at least 0, got -1\.$"):
        law(problem, LinearAttention(), n=3, ridge=-1)
    with pytest.raises(UserError, match=r"^model must be a RandomTransformer or an Equivalent"):
        refined(problem, LinearAttention(), n=3, ridge=0.1, prompts=200)
    with pytest.raises(UserError, match=r"^tau must be a finite number above 0, got 0\.$"):
        samples(problem, 0)


def test_law_and_simulation_return_the_same_grid():
    problem = problem_of(6)
    models = [LinearAttention(), RandomTransformer(10)]
    call = {"n": (30, 60), "ridge": (0.1, 1.0)}
    keys = [
        [(p.model, p.n, p.ridge) for p in points]
        for points in (
            law(problem, models, **call),
            simulate(problem, models, runs=1, test=10, **call),
        )
    ]
    assert keys[0] == keys[1]
    assert np.isfinite([p.icl.value for p in law(problem, models, **call)]).all()
