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
    ("target", "models"),
    [
        ("linear", [LinearAttention()]),
        ("relu", [LinearAttention(), LinearAttention(True)]),
        ("tanh", [LinearAttention()]),
    ],
)
def test_linear_attention_tends_to_its_law_like_one_over_d(target, models, seed):
    # The gap is O(1/d): twice the value at 2d less the value at d has none at first order.
    found, expected = [], []
    for d, runs in ((10, 80), (20, 40)):
        problem = problem_of(d, target)
        sizes = [samples(problem, tau) for tau in (0.5, 1.0, 1.5)]
        call = {"n": sizes, "ridge": 0.1}
        found.append(simulate(problem, models, runs=runs, seed=seed, test=1000, **call))
        expected = law(problem, models, **call)
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


@pytest.fixture(scope="module")
def at_twenty(seed):
    """Transformers and equivalents at d = 20, simulated and predicted, by model and ridge."""
    problem = problem_of(20)
    n = samples(problem, 1.5)
    widths = [round(psi * n) for psi in (0.5, 1.5)]
    models = [
        *(RandomTransformer(width, name) for name in ("relu", "tanh") for width in widths),
        *(EquivalentModel(widths[0], "relu", degree) for degree in (1, 2)),
    ]
    call = {"n": n, "ridge": (1e-8, 0.1)}
    found = simulate(problem, models, runs=16, seed=seed, test=1000, **call)
    predicted = refined(problem, models, prompts=24_000, pools=24, seed=seed, **call)
    for point, expected in zip(found, predicted, strict=True):
        assert (point.model, point.n, point.ridge) == (expected.model, expected.n, expected.ridge)
    return list(zip(found, predicted, strict=True))


def test_the_refinement_predicts_transformers_and_equivalents_within_five_percent(at_twenty):
    for point, expected in at_twenty:
        if isinstance(point.model, EquivalentModel) and point.ridge < 0.1:
            continue
        error = math.hypot(point.icl.standard_error, expected.icl.standard_error)
        assert abs(point.icl.value - expected.icl.value) < 0.05 * expected.icl.value + 5 * error


def test_the_refinement_is_far_from_the_limit_at_small_d(at_twenty):
    problem, n = problem_of(20), 630
    model = RandomTransformer(945)
    (limit,) = law(problem, model, n=n, ridge=1e-8)
    (expected,) = [p for _, p in at_twenty if p.model == model and p.ridge == 1e-8]
    assert expected.icl.value > 1.5 * limit.icl.value


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
    assert repr(point) == (
        f"ErrorPoint(LinearAttention(intercept=False), n=2460, ridge=0.3: icl {point.icl}, "
        f"idg {point.idg})"
    )
    assert "in-context error" in point._repr_html_()


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


def test_an_activation_without_linear_part_has_a_limit_and_no_refinement():
    problem = problem_of(6)
    model = RandomTransformer(10, "quadratic")
    (point,) = law(problem, model, n=20, ridge=0.0)
    # Ten features of noise and 20 labels whose mean is not known: twice the second moment.
    assert point.icl.value == pytest.approx(2 * (0.5 + 0.01), rel=1e-9)
    with pytest.raises(UserError, match=r"^activation must have a linear part.*got 0\.$"):
        refined(problem, model, n=20, ridge=0.1, prompts=200, pools=2)
    flat = SingleIndexRegression(6, 6, 3, "quadratic")
    with pytest.raises(UserError, match=r"^target must have a linear part.*got 0\.$"):
        refined(flat, RandomTransformer(10), n=20, ridge=0.1, prompts=200, pools=2)


def test_a_refinement_that_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(SingleIndexRegression, "prompts", None)
    with pytest.raises(UserError, match=r"^The prompts need .* GB of memory, and .* GB are avail"):
        refined(SingleIndexRegression(4, 10**11, 2), RandomTransformer(10), n=20, ridge=0.1)


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments_of_the_laws_are_named():
    problem = problem_of(6)
    for bad in (math.nan, math.inf):
        with pytest.raises(UserError, match=rf"^ridge must be a finite number .*, got {bad}\.$"):
            law(problem, LinearAttention(), n=3, ridge=bad)
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
