"""Recipes of noisy regression: the laws are the laws, both targets agree, training gets there."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.noise import Categorical, Fixed, Uniform
from attnlab.linear.problem import NoisyRegression, gram
from attnlab.linear.theory.laws import one_layer_loss, one_layer_step, oracle_loss
from attnlab.linear.training import recipes
from attnlab.linear.training.batches import draw_batch, noise_tables, with_noise
from attnlab.linear.training.recipes import (
    PAPER,
    Recipe,
    RegressionLoss,
    RegressionMember,
    near,
    small_random,
    train_regression,
)
from attnlab.linear.training.train import train
from attnlab.stats import agree
from attnlab.training.population import member_keys
from attnlab.training.schedule import Betas, Schedule, warmup_cosine

PROBLEM = NoisyRegression(3, 6, Fixed(0))
LAWS = (Uniform(1), Categorical((1, 3)), Uniform(0), Categorical((0.5, 1, 2), (0.5, 0.3, 0.2)))


def member(law, dtype=np.float32) -> RegressionMember:
    return member_of(jax.tree.map(lambda column: column[0], noise_tables([law], dtype)))


def member_of(table) -> RegressionMember:
    return RegressionMember(table, Schedule(1e-3), Betas())


@dataclasses.dataclass(frozen=True)
class Triangle:
    """A user's law: density 2 sigma on [0, 1], by Gauss-Legendre with the density as weight."""

    name = "triangle"

    def sample(self, key, dtype=float):
        return jnp.sqrt(jax.random.uniform(key, dtype=dtype))

    def quadrature(self, points=64):
        t, weight = np.polynomial.legendre.leggauss(points)
        return (t + 1) / 2, weight * (t + 1) / 2

    def second_moment(self):
        return 0.5


@pytest.mark.parametrize("law", [*LAWS, Fixed(2), Uniform(5)], ids=lambda law: law.name)
def test_the_quantile_table_of_a_law_has_the_law(law):
    """On a grid of midpoints: the levels of a discrete law exactly, u high of a uniform one."""
    tables = noise_tables([law, *LAWS], np.float32)
    table = jax.tree.map(lambda column: column[0], tables)
    u = (np.arange(1000, dtype=np.float32) + 0.5) / 1000
    sigma = np.asarray(jax.vmap(table.quantile)(u))
    if isinstance(law, Uniform):
        np.testing.assert_allclose(sigma, law.high * u, rtol=1e-6)
        return
    levels, weights = law.quadrature()
    found, counts = np.unique(sigma, return_counts=True)
    np.testing.assert_array_equal(found, levels.astype(np.float32))
    np.testing.assert_array_equal(counts, np.round(1000 * weights))


def test_a_law_of_the_users_own_keeps_its_moments():
    ends, low, high = (np.asarray(column)[0] for column in noise_tables([Triangle()], np.float32))
    np.testing.assert_array_equal(low, high)
    weights = np.diff(ends, prepend=0)
    for power, known in ((1, 2 / 3), (2, 1 / 2), (4, 1 / 3)):
        # 64 differences of single-precision numbers of at most 1.
        assert abs((weights * low**power).sum() - known) < 64 * np.finfo(np.float32).eps


def test_a_batch_with_its_noise_is_the_gram_matrix_of_its_tokens(seed):
    problem = NoisyRegression(3, 6, Fixed(0), (1.0, 0.5, 2.0))
    with jax.enable_x64(True):
        key = jax.random.key(seed)
        drawn = draw_batch(problem, key, 4, np.float64)
        for_normals, _ = jax.random.split(key)
        normals = jax.random.normal(for_normals, (4, 8, 4), np.float64)
        for index, sigma in enumerate((0.0, 0.3, 1.0, 4.0)):
            X = normals[index, 2:, :-1] * np.sqrt(np.array(problem.variance))
            w = normals[index, 0, :-1]
            known = gram(X, X @ w + sigma * normals[index, 2:, -1])
            found = with_noise(drawn.G[index], drawn.w[index], sigma)
            np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-12)


def test_the_four_families_have_one_loss_and_one_slope_where_they_are_one_network(seed):
    """GD++ as omegas, as heads and as FULL weights, moved along omega_yx."""
    loss, xx, yx = RegressionLoss(PROBLEM, 16), np.array([-0.02, 0.01]), np.array([-0.05, -0.1])
    views = (
        lambda weights: weights,
        lambda weights: weights.omegas(),
        lambda weights: weights.diag(),
        lambda weights: weights.full(3),
    )
    with jax.enable_x64(True):
        own = member(Uniform(1), np.float64)

        @jax.jit
        def along(shift):
            networks = [view(GDPlusPlus(jnp.asarray(xx), yx + shift)) for view in views]
            return jnp.stack([loss(network, jax.random.key(seed), own) for network in networks])

        values, slopes = jax.jvp(along, (jnp.zeros(()),), (jnp.ones(()),))
        np.testing.assert_allclose(values, np.full(4, values[0]), rtol=1e-10)
        np.testing.assert_allclose(slopes, np.full(4, slopes[0]), rtol=1e-10)
        assert abs(slopes[0]) > 1e-3


@pytest.fixture(scope="module")
def both_targets(request):
    """Loss and gradient of both targets on 64 batches of 1024 sequences at one network."""
    seed = request.getfixturevalue("seed")
    steps = GDPlusPlus(jnp.array([-0.01, 0.0]), jnp.array([-0.04, -0.02]))
    stacked = near(steps.full(3), member_keys(jax.random.key(1), 1), 0.005)
    weights = jax.tree.map(lambda leaf: leaf[0], stacked)
    law = Uniform(1)
    keys = jax.random.split(jax.random.key(1000 + seed), 64)

    @jax.jit
    def measure(keys):
        def one(key):
            both = [RegressionLoss(PROBLEM, 1024, target) for target in ("label", "oracle")]
            return [jax.value_and_grad(loss)(weights, key, member(law)) for loss in both]

        return jax.lax.map(one, keys)

    return law, measure(keys)


def z_scores(values: np.ndarray) -> np.ndarray:
    return values.mean(axis=0) / (values.std(axis=0, ddof=1) / math.sqrt(len(values)))


# Student's t with 63 degrees passes 7 with probability 2e-9; there are 65 comparisons a seed.
Z = 7.0


def test_label_and_oracle_gradients_agree_in_expectation(both_targets):
    _, ((_, label), (_, oracle)) = both_targets
    label, oracle = (
        np.concatenate([np.asarray(leaf).reshape(64, -1) for leaf in jax.tree.leaves(tree)], axis=1)
        for tree in (label, oracle)
    )
    # The last layer is read in its last row only: the rest of its P has no gradient at all.
    alive = oracle.std(axis=0) > 0
    assert not label[:, ~alive].any()
    label, oracle = label[:, alive], oracle[:, alive]
    assert np.abs(z_scores(label - oracle)).max() < Z
    # The comparison would see a gradient that is a quarter off.
    assert np.abs(z_scores(label - 1.25 * oracle)).max() > Z
    assert np.median(oracle.std(axis=0) / label.std(axis=0)) < 1


def test_label_and_oracle_losses_differ_by_the_oracles_own(both_targets):
    law, ((label, _), (oracle, _)) = both_targets
    known = oracle_loss(dataclasses.replace(PROBLEM, noise=law)).value
    excess = np.asarray(label, np.float64) - np.asarray(oracle, np.float64)
    assert abs(z_scores((excess - known)[:, None])[0]) < Z


RECIPE = Recipe(batch=256, learning_rate=1e-2, final=0.0, clip=1.0)
STEPS, BLOCKS, BLOCK = 600, 64, 512


@pytest.fixture(scope="module")
def trained(request):
    """FULL with one layer on three laws at once, all on the same sequences."""
    seed = request.getfixturevalue("seed")
    keys = member_keys(jax.random.key(2000 + seed), 3)
    weights = small_random("full", keys, 1, 3, scale=0.2)
    key = jax.random.key(3000 + seed)
    options = {"steps": STEPS, "chunk": 100, "samples": 1024}
    return train_regression(PROBLEM, LAWS[:3], weights, key, RECIPE, **options)


# Adam moves a weight by its rate a step: over the 10 steps that it remembers, at the mean rate of
# the last tenth of the cosine, 8e-5, a weight of about .3 is 8e-4 off and a product of two .5%.
# The loss being quadratic around its least, that is .005^2 of it for each of 32 weights.
JITTER = 32 * 0.005**2


def test_one_full_layer_reaches_the_law_of_one_layer(trained, seed):
    """Trained and best one-layer networks on the same fresh sequences, and the law of the best."""
    problems = [dataclasses.replace(PROBLEM, noise=law) for law in LAWS[:3]]
    known = np.array([one_layer_loss(problem).value for problem in problems])
    best = [
        GDPlusPlus(jnp.zeros(1), jnp.array([-one_layer_step(problem)])).full(3)
        for problem in problems
    ]
    both = jax.tree.map(
        lambda found, *made: jnp.concatenate([found, jnp.stack(made)]), trained.params, *best
    )
    tables = noise_tables(LAWS[:3] * 2, np.float32)
    fresh = RegressionLoss(PROBLEM, BLOCK)

    @jax.jit
    def blocks(keys):
        def one(key):
            return jax.vmap(lambda w, table: fresh(w, key, member_of(table)))(both, tables)

        return jax.lax.map(one, keys)

    keys = jax.random.split(jax.random.key(4000 + seed), BLOCKS)
    values = np.asarray(blocks(keys), np.float64)
    found, made = values[:, :3], values[:, 3:]
    assert np.abs(z_scores(made - known)).max() < Z
    error = (found - made).std(axis=0, ddof=1) / math.sqrt(BLOCKS)
    excess = (found - made).mean(axis=0)
    assert (excess > -Z * error).all()
    assert (excess < Z * error + JITTER * known).all()
    assert (Z * error < 0.01 * known).all()


def test_the_front_door_trains_full_matrices_by_adam(seed):
    problem = dataclasses.replace(PROBLEM, noise=LAWS[0])
    (network,) = train(problem, "full", 1, seed=seed, effort=RECIPE, steps=STEPS)
    assert (network.family, network.depth) == ("FULL", 1)
    assert network.about["status"] == f"trained for {STEPS} steps"
    law = one_layer_loss(problem)
    assert agree(network.loss, law, slack=JITTER * law.value).agrees


def test_the_held_out_score_is_the_adjusted_loss_of_its_law(trained):
    """Members are scored on their own law: the scores differ as the laws' losses do."""
    known = [one_layer_loss(dataclasses.replace(PROBLEM, noise=law)).value for law in LAWS[:3]]
    assert np.argsort(trained.best_score).tolist() == np.argsort(known).tolist()
    assert trained.status == (f"trained for {STEPS} steps",) * 3


def test_the_paper_is_one_named_recipe():
    assert Recipe("label", 2048, 1e-4) == PAPER
    assert recipes.PAPER_STEPS == 200_000


def test_the_schedule_rises_linearly_and_falls_as_a_cosine():
    schedule = Schedule(2.0, 4.0, 12.0, 0.5)
    rates = [float(warmup_cosine(schedule, jnp.asarray(float(step)))) for step in range(13)]
    np.testing.assert_allclose(rates[:4], [0.5, 1.0, 1.5, 2.0])
    known = [2 * (0.5 + 0.25 * (1 + math.cos(math.pi * k / 8))) for k in range(9)]
    np.testing.assert_allclose(rates[4:], known, rtol=1e-6)
    constant = [float(warmup_cosine(Schedule(3.0), jnp.asarray(float(step)))) for step in (0, 9)]
    assert constant == [3.0, 3.0]


def test_networks_near_others_have_their_shape_and_scatter(seed):
    weights = GDPlusPlus(jnp.full(4, 1.0), jnp.full(4, -1.0))
    stacked = near(weights, member_keys(jax.random.key(seed), 200), 0.1)
    assert isinstance(stacked, GDPlusPlus)
    entries = np.concatenate([np.asarray(stacked.xx - 1), np.asarray(stacked.yx + 1)]).ravel()
    # 1600 normals: the mean within 6 standard errors, and their spread likewise.
    assert abs(entries.mean()) < 6 * 0.1 / math.sqrt(entries.size)
    assert abs(entries.std() - 0.1) < 6 * 0.1 / math.sqrt(2 * entries.size)
    # Two in single precision may coincide; networks that share their draws would be many.
    assert np.unique(entries).size > 0.99 * entries.size


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda key: Recipe(target="both"), "target must be one of 'oracle', 'label', got 'both'"),
        (lambda key: Recipe(batch=0), "batch must be an integer of at least 1, got 0"),
        (
            lambda key: small_random("ridge", key[None], 1, 3),
            "family must be one of 'full', 'diag'",
        ),
        (
            lambda key: train_regression(
                NoisyRegression(3, 2), [Uniform(0)], np.zeros(1), key, PAPER, steps=1
            ),
            "n must be at least d = 3 where there is no noise, got 2",
        ),
        (
            lambda key: train_regression(
                PROBLEM,
                LAWS,
                small_random("gd++", member_keys(key, 4), 1, 3),
                key,
                Recipe(learning_rate=[1e-3, 1e-2]),
                steps=1,
            ),
            "A recipe's numbers must each be one finite number of at least 0, or one for each of 4",
        ),
    ],
)
def test_a_wrong_argument_gets_a_sentence_that_names_it(call, said, unchecked):
    with pytest.raises(UserError, match=f"^{said}"):
        call(jax.random.key(0))
