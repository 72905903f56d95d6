import itertools
import math

import jax
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.predictors import ridge_weights
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.noise import Categorical, Fixed, Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.theory import laws
from attnlab.linear.training import growth
from attnlab.linear.training.families import DiagonalLeastSquares, sequence_losses
from attnlab.linear.training.fixed_sample import (
    EXAGGERATION,
    draw,
    draw_extremes,
    join_tail,
    most_extreme,
    thin,
    with_extremes,
)
from attnlab.linear.training.growth import GrowthEffort, grow
from attnlab.linear.training.levenberg_marquardt import Diagnosis, Fit
from attnlab.linear.training.starting_points import ABSENT
from attnlab.linear.training.train import train
from attnlab.stats import Estimate, normal_threshold
from tests.conftest import in_double_precision

pytestmark = pytest.mark.usefixtures("double_precision")


Z = normal_threshold(level=1e-7)  # for each of some ten comparisons and 100 seeds
PROBLEM = NoisyRegression(3, 8, Uniform(2))
SMALL = GrowthEffort(
    starts=3, screening=64, sequences=512, pool=2048, tail=64, rounds=2, fresh=8192
)
DEPTH = 3


@pytest.fixture(scope="module")
def grown(seed):
    with in_double_precision():
        key = jax.random.key(seed)
        families = ("gd++", "diag", "omegas")
        depth = {"gd++": DEPTH, "diag": DEPTH, "omegas": 2}
        return {name: grow(name, PROBLEM, key, depth[name], effort=SMALL) for name in families}


@pytest.mark.parametrize("family", ["gd++", "diag", "omegas"])
def test_one_layer_reaches_the_one_layer_law(grown, family):
    law = laws.one_layer_loss(PROBLEM)
    fresh = grown[family][0].fresh
    assert abs(fresh.value - law.value) < Z * fresh.standard_error
    if family == "gd++":
        assert grown[family][0].training.value == pytest.approx(law.value, rel=1e-4)


def test_gd_plus_plus_falls_to_its_floor_and_not_below(grown):
    floor = laws.gd_plus_plus_floor(PROBLEM).value
    losses = [depth.training.value for depth in grown["gd++"]]
    assert all(after <= before for before, after in itertools.pairwise(losses))
    assert floor <= losses[-1] < 1.01 * floor
    for depth in grown["gd++"]:
        assert depth.fresh.value > floor - Z * depth.fresh.standard_error


@pytest.mark.parametrize("family", ["diag", "omegas"])
def test_no_depth_is_worse_than_the_one_before(grown, family):
    for before, after in itertools.pairwise(depth.training for depth in grown[family]):
        noise = math.hypot(before.standard_error, after.standard_error)
        assert after.value < before.value + Z * noise


def test_diag_fits_its_sample_below_the_floor_of_gd_plus_plus(grown):
    # omega_xy and omega_yy see the noise of the sequence; GD++ of any depth does not.
    floor = laws.gd_plus_plus_floor(PROBLEM).value
    deepest = grown["diag"][-1].training
    assert deepest.value < floor - Z * deepest.standard_error


def test_a_fresh_loss_is_that_of_the_weights(seed, grown):
    deepest = grown["diag"][-1]
    sample = draw(PROBLEM, jax.random.fold_in(jax.random.key(seed), 0), SMALL.fresh)
    w = jax.jit(jax.vmap(lambda G: final_weights(deepest.weights, G)))(sample.G)
    losses = np.square(np.asarray(w) - sample.oracle).sum(1) / 2
    assert deepest.fresh.value == pytest.approx(losses.mean(), rel=1e-10)
    # The weighted standard error divides by n where `Estimate.of` divides by n - 1.
    expected = Estimate.of(losses).standard_error
    assert deepest.fresh.standard_error == pytest.approx(expected, rel=1e-3)


def test_a_resumed_growth_is_the_uninterrupted_one_bit_for_bit(seed, grown):
    whole = grown["diag"]
    resumed = grow("diag", PROBLEM, jax.random.key(seed), DEPTH, whole[: DEPTH - 1], SMALL)
    assert all(a is b for a, b in zip(resumed[:-1], whole[:-1], strict=True))
    jax.tree.map(np.testing.assert_array_equal, resumed[-1].weights, whole[-1].weights)
    assert resumed[-1].fresh == whole[-1].fresh
    (first,) = grow("diag", PROBLEM, jax.random.key(seed), 1, whole, SMALL)
    assert first is whole[0]


def test_the_front_door_trains_the_same_networks(seed, grown):
    networks = train(PROBLEM, "omegas", 1, seed=seed, effort=SMALL)
    first = grown["omegas"][0]
    jax.tree.map(np.testing.assert_array_equal, networks.at(1).weights, first.weights)
    assert networks[0].loss == first.fresh
    assert len(networks) == 1
    with pytest.raises(UserError, match=r"^depth must be one of 1, got 2\.$"):
        networks.at(2)


def test_growth_uses_double_precision_where_jax_has_single_precision(seed, grown):
    with jax.enable_x64(False):
        (first,) = grow("gd++", PROBLEM, jax.random.key(seed), 1, effort=SMALL)
    np.testing.assert_allclose(first.weights.yx, grown["gd++"][0].weights.yx, rtol=1e-12)
    assert first.weights.yx.dtype == np.float64


def test_a_tail_that_only_fresh_data_show_is_trained_too(seed, grown, monkeypatch):
    # Tokens ten times as large as the others, Sigma = 800 I and w = (1, 1, 1) without noise: a step
    # that suits the others overshoots. One is in every check, none in the first pool.
    Sigma, w = 800 * np.eye(3), np.ones(3)
    G = np.block([[Sigma, (Sigma @ w)[:, None]], [(Sigma @ w)[None], w @ Sigma @ w]])
    pools = itertools.count()

    def planted(problem, key, count):
        sample = draw(problem, key, count)
        if count == SMALL.pool and next(pools) > 0:
            sample.G[0], sample.oracle[0] = G, w
        return sample

    monkeypatch.setattr(growth, "draw", planted)
    (found,) = grow("diag", PROBLEM, jax.random.key(seed), 1, effort=SMALL)
    assert 1 <= found.rounds <= SMALL.rounds
    assert next(pools) == found.rounds + 2
    before, after = (
        sequence_losses(depth.weights, G[None], w[None])[0] for depth in (grown["diag"][0], found)
    )
    assert after < before / 4
    assert math.isfinite(found.fresh.value)


def test_gd_plus_plus_is_not_lost_where_few_sequences_mistake_it(seed, monkeypatch):
    # No search and a screening that takes the layer nearest zero: what is left is GD++ itself.
    def kept(least_squares, start, search):
        return Fit(start, least_squares.objective(start), 1, Diagnosis.ITERATION_LIMIT)

    def misled(least_squares, starts):
        return kept(least_squares, starts[0], None), 1

    real = growth.levenberg_marquardt
    monkeypatch.setattr(growth, "_screen", misled)
    monkeypatch.setattr(
        growth,
        "levenberg_marquardt",
        lambda *given: (kept if isinstance(given[0], DiagonalLeastSquares) else real)(*given),
    )
    noiseless = NoisyRegression(3, 8, Uniform(0))
    for depth in grow("omegas", noiseless, jax.random.key(seed), 2, effort=SMALL):
        np.testing.assert_array_equal(depth.weights.xy, 0)
        np.testing.assert_array_equal(depth.weights.yy, 0)
        assert (depth.weights.yx < 0).all()


@pytest.mark.parametrize(("family", "absent"), ABSENT.items())
def test_an_absent_omega_is_zero_in_every_layer_and_its_loss_is_missed(grown, seed, family, absent):
    """Free omegas include every network without one of them, and GD++ lacks both."""
    found = grow(family, PROBLEM, jax.random.key(seed), 2, effort=SMALL)
    for depth, whole, least in zip(found, grown["omegas"], grown["gd++"], strict=False):
        np.testing.assert_array_equal(getattr(depth.weights, absent), 0)
        allowed = Z * depth.fresh.standard_error
        assert depth.fresh.value > whole.fresh.value - allowed
        assert depth.fresh.value < least.fresh.value + allowed
    left = {"xy", "yy"} - {absent}
    assert all(np.abs(getattr(found[-1].weights, name)).max() > 0 for name in left)


@pytest.mark.parametrize("family", ["gd++", "diag", "omegas"])
def test_every_model_is_finite_and_has_a_diagnosis(grown, family):
    for layers, depth in enumerate(grown[family], start=1):
        assert depth.weights.depth == layers
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(depth.weights))
        assert math.isfinite(depth.fresh.value)
        assert isinstance(depth.diagnosis, Diagnosis)
        assert depth.iterations > 0


@pytest.mark.parametrize("noise", [Uniform(0), Categorical((1, 3))])
def test_a_drawn_sequence_has_the_law_of_the_problem(seed, noise):
    problem = NoisyRegression(3, 5, noise)
    sample = draw(problem, jax.random.key(seed), 4000)
    lam = sample.G[:, -1, -1]
    mean = 5 * (3 + noise.second_moment())
    assert abs(lam.mean() - mean) < Z * lam.std() / np.sqrt(4000)
    trace = np.trace(sample.G[:, :3, :3], axis1=1, axis2=2)
    assert abs(trace.mean() - 15) < Z * trace.std() / np.sqrt(4000)
    if noise == Uniform(0):
        np.testing.assert_allclose(
            sample.oracle[0], ridge_weights(sample.G[0], 0.0), rtol=1e-8, atol=1e-10
        )


def test_fewer_tokens_than_inputs_need_noise(seed):
    sample = draw(NoisyRegression(4, 2, Fixed(1)), jax.random.key(seed), 10)
    assert (np.linalg.matrix_rank(sample.G, tol=1e-9) == 2).all()
    with pytest.raises(UserError, match=r"^n must be at least d = 4 where the noise can be 0"):
        draw(NoisyRegression(4, 2, Uniform(0)), jax.random.key(seed), 10)


def test_thinning_keeps_the_tail_and_the_mean(seed):
    rng = np.random.default_rng(seed)
    pool = draw(PROBLEM, jax.random.key(seed), 4000)
    losses = rng.pareto(3, 4000)
    thinned = thin(pool, losses, 100, 400)
    assert thinned.weight.sum() == pytest.approx(1)
    assert thinned.weight[:100] == pytest.approx(1 / 4000)
    # The same loss read from the thinned sequences: each is found by its Gram matrix.
    where = {G.tobytes(): loss for G, loss in zip(pool.G, losses, strict=True)}
    kept = np.array([where[G.tobytes()] for G in thinned.G])
    assert sorted(kept[:100]) == sorted(np.sort(losses)[-100:])
    mean = thinned.mean(kept)
    assert abs(mean.value - losses.mean()) < Z * mean.standard_error


def test_extremes_are_the_largest_of_many_draws(seed):
    key = jax.random.key(seed)
    extremes = draw_extremes(PROBLEM, key, 3, 500, 4)
    everything = np.concatenate(
        [draw(PROBLEM, jax.random.fold_in(key, i), 500).G for i in range(3)]
    )
    half = len(extremes.weight) // 2
    assert 4 <= half <= 8
    for size in (lambda G: np.square(G[:, :-1, :-1]).sum((1, 2)), lambda G: G[:, -1, -1]):
        np.testing.assert_array_equal(
            np.sort(size(extremes.G[:half]))[-4:], np.sort(size(everything))[-4:]
        )
    np.testing.assert_allclose(extremes.weight[:half], 1 / 1500)
    joined = with_extremes(draw(PROBLEM, key, 100), extremes)
    assert joined.weight.sum() == pytest.approx(1)
    np.testing.assert_array_equal(joined.G[100:], extremes.G)


def test_the_extremes_of_every_draw_are_kept_with_their_share_of_the_mean():
    extremes = most_extreme(PROBLEM, 3, 500, 4)
    each = [most_extreme(PROBLEM, draws, 500, 4).G for draws in (1, 2)]
    assert extremes.drawn == 1500
    assert 12 <= len(extremes.weight) <= 24
    np.testing.assert_allclose(extremes.weight, 1 / 1500)
    for G in each:
        np.testing.assert_array_equal(extremes.G[: len(G)], G)


@pytest.mark.parametrize("noise", [Fixed(0), Uniform(3)])
def test_every_extreme_is_exaggerated_at_a_small_weight(seed, noise):
    problem = NoisyRegression(PROBLEM.d, PROBLEM.n, noise)
    extremes = draw_extremes(problem, jax.random.key(seed), 2, 500, 4)
    (G, further), (w, longer), (weight, small) = (np.split(part, 2) for part in extremes[:3])
    inputs, labels = EXAGGERATION
    inputs = inputs if noise.second_moment() else 1.0
    np.testing.assert_allclose(further[:, :-1, :-1], inputs**2 * G[:, :-1, :-1])
    np.testing.assert_allclose(further[:, -1, :-1], inputs**2 * labels * G[:, -1, :-1])
    np.testing.assert_allclose(further[:, -1, -1], (inputs * labels) ** 2 * G[:, -1, -1])
    np.testing.assert_allclose(longer, labels * w)
    assert small.sum() < 1e-3 * weight.sum()


def test_a_joined_tail_has_the_weight_of_both_samples(seed):
    rng = np.random.default_rng(seed)
    first, second = (draw(PROBLEM, jax.random.key(seed + i), 1000) for i in (0, 1000))
    losses, fresh = rng.pareto(3, 1000), rng.pareto(3, 1000)
    joined = join_tail(first, losses, second, fresh, 50)
    assert joined.weight.sum() == pytest.approx(1)
    assert (len(joined.weight), joined.drawn) == (1050, 2000)
    bar = np.sort(fresh)[-50]
    heavy = np.concatenate([losses >= bar, np.ones(50, bool)])
    both = (np.count_nonzero(losses >= bar) + 50) / 2000
    assert joined.weight[heavy].sum() == pytest.approx(both)
    np.testing.assert_array_equal(joined.G[1000:], second.G[np.argsort(-fresh)[:50]])


def test_a_sequence_that_overflows_is_the_worst_and_makes_no_mean(seed):
    pool = draw(PROBLEM, jax.random.key(seed), 50)
    losses = np.where(np.arange(50) == 7, np.nan, 1.0)
    assert pool.mean(losses).value == math.inf
    np.testing.assert_array_equal(thin(pool, losses, 1, 10).G[0], pool.G[7])


def test_mistakes_get_a_sentence(unchecked):
    key = jax.random.key(0)
    with pytest.raises(UserError, match=r"^family must be one of 'gd\+\+', 'diag', 'omegas', 'no-"):
        train(PROBLEM, "mlp")
    with pytest.raises(UserError, match=r"^steps must not be given for the family 'diag', got 5"):
        train(PROBLEM, "diag", steps=5)
    with pytest.raises(UserError, match=r"^effort must be 'quick', 'thorough' or a GrowthEffort"):
        train(PROBLEM, "diag", effort="some")
    with pytest.raises(UserError, match=r"^variance must be 1 for depth growth, got 0\.5\.$"):
        train(NoisyRegression(3, 8, variance=0.5), "axis")
    with pytest.raises(UserError, match=r"^depth must be an integer of at least 1, got 0\.$"):
        grow("diag", PROBLEM, key, 0)
    with pytest.raises(UserError, match=r"^family must be one of .*'no-rescaling', got 'full'"):
        grow("full", PROBLEM, key, 1)
    with pytest.raises(UserError, match=r"^variance must be 1 for depth growth, got 0\.5\.$"):
        grow("diag", NoisyRegression(3, 8, variance=0.5), key, 1)
    with pytest.raises(UserError, match=r"^count must be an integer of at least 1, got 0\.$"):
        draw(PROBLEM, key, 0)
    with pytest.raises(UserError, match=r"^tail must be below sequences"):
        GrowthEffort(tail=4096)
    with pytest.raises(UserError, match=r"^data must hold finite numbers only"):
        sequence_losses(None, np.full((1, 4, 4), np.nan), np.zeros((1, 3)))
