import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.models.axis_weights import AxisWeights
from attnlab.models.linear_transformer import final_weights
from attnlab.models.linear_weights import FullWeights, GDPlusPlus
from attnlab.problems.noise import Uniform
from attnlab.problems.noisy_regression import NoisyRegression
from attnlab.theory.linear_laws import one_layer_loss
from attnlab.training import fresh_sample, full_growth
from attnlab.training.fresh_sample import Objective, Sampling, balanced, begin, chosen, search
from attnlab.training.full_growth import Effort, grow_full
from attnlab.training.recipes import noise_tables
from linear_prompts import double_precision, full_weights

__all__ = ["double_precision"]

PROBLEM = NoisyRegression(2, 10, Uniform(2))
SAMPLING = Sampling(chunk=256, pool=1024, worst=64, compared=1024)
EFFORT = Effort((6, 1), (6, 2), (2, 2), 2, 16, SAMPLING, SAMPLING)


def noise():
    return jax.tree.map(lambda part: part[0], noise_tables([PROBLEM.noise]))


@pytest.fixture(scope="module")
def grown(seed):
    with jax.enable_x64(True):
        return list(grow_full(PROBLEM, noise(), jax.random.key(seed), 2, effort=EFFORT))


def test_one_layer_reaches_its_law(grown):
    first = grown[0]
    law = one_layer_loss(PROBLEM).value
    # The best one-layer network is the law; 5 standard errors, and what 6 + 6 + 2 steps leave.
    assert abs(first.loss.value - law) < 5 * first.loss.standard_error + 0.01 * law
    assert first.weights.depth == 1


def test_no_depth_is_worse_than_the_one_before(grown):
    # "unchanged" is a candidate to the end: only the noise of two comparisons is between them.
    first, second = grown
    noise = np.hypot(first.loss.standard_error, second.loss.standard_error)
    assert second.weights.depth == 2
    assert second.loss.value < first.loss.value + 6 * noise
    assert np.isfinite(second.largest)
    assert second.origin.split()[0] in ("first", "inside", "last", "unchanged")


def test_growth_is_the_same_twice(grown, seed):
    again = next(grow_full(PROBLEM, noise(), jax.random.key(seed), 1, effort=EFFORT))
    np.testing.assert_array_equal(again.weights.P, grown[0].weights.P)
    assert again.loss == grown[0].loss


def test_a_given_start_is_never_lost(grown, seed):
    # One step of a search that may do nothing: the given network must come back as it was.
    idle = Effort((0, 1), (0, 1), (0, 1), 2, 8, SAMPLING, SAMPLING)
    step = 1 / (PROBLEM.n + PROBLEM.d + 1 + PROBLEM.noise.second_moment())
    given = GDPlusPlus(jnp.zeros(1), jnp.full(1, -step)).diag()
    (kept,) = grow_full(PROBLEM, noise(), jax.random.key(seed), 1, starts=[given], effort=idle)
    assert kept.origin == "given"
    np.testing.assert_allclose(kept.weights.P, given.full(PROBLEM.d).P)


def test_layers_go_where_they_are_said_to(grown, seed):
    trained = [each.axis for each in grown]
    proposed = dict(full_growth._proposals(jax.random.key(seed), trained))
    assert len(proposed) == len(full_growth.SINGLE) + len(full_growth.PAIRS)
    assert {weights.depth for weights in proposed.values()} == {3}
    one, two = (np.asarray(each.p) for each in trained)
    for name, kept, old in (
        ("first 0.3", [1, 2], two),
        ("inside 1", [0, 2], two),
        ("last 2", [0, 1], two),
        ("pair last 0.6", [0], one),
        ("pair inside 0.6", [2], one),
    ):
        np.testing.assert_array_equal(proposed[name].p[jnp.array(kept)], old)
    fewer = full_growth._proposals(jax.random.key(seed), trained[:1])
    assert not any(name.startswith("pair") for name, _ in fewer)


def test_the_direction_is_the_gradient_of_the_robust_loss(seed):
    everything = Sampling(chunk=256, pool=256, worst=255, compared=256)
    weights, key = full_weights(seed, 2, 1, d=2), jax.random.key(seed)
    objective = Objective(noise(), jnp.asarray(0.7))
    theta, unravel = jax.flatten_util.ravel_pytree(weights)
    _, g = fresh_sample._normal_equations(
        PROBLEM, everything, theta, unravel, key, objective, jnp.asarray(1)
    )
    own = jax.random.fold_in(key, 0)
    G, aim = fresh_sample._sample(PROBLEM, own, objective.noise, 256, theta.dtype)

    def robust(theta):
        loss = jnp.square(jax.vmap(lambda G: final_weights(unravel(theta), G))(G) - aim).sum(1) / 2
        return (0.7 * jnp.log1p(loss / 0.7)).mean()

    np.testing.assert_allclose(g, jax.grad(robust)(theta), rtol=1e-9, atol=1e-12)


def test_the_chosen_sequences_stand_for_the_pool(seed):
    loss = jnp.exp(3 * jax.random.normal(jax.random.key(seed), (SAMPLING.pool,)))
    places, share = chosen(loss.at[5].set(jnp.nan), SAMPLING)
    assert 5 in places[: SAMPLING.worst]
    assert len(set(np.asarray(places).tolist())) == SAMPLING.chunk
    assert float(share.sum()) == pytest.approx(1)
    places, share = chosen(loss, SAMPLING)
    # Of the others, each group of k neighbours in order is told by one of them: its largest spread
    # is between the largest and the smallest of them, divided over as many groups.
    rest = np.sort(np.asarray(loss))[: SAMPLING.pool - SAMPLING.worst]
    bound = (rest[-1] - rest[0]) * SAMPLING.stride / SAMPLING.pool
    assert float(share @ loss[places]) == pytest.approx(float(loss.mean()), abs=bound)


def test_a_network_that_explodes_is_brought_back(seed):
    wild = jax.tree.map(lambda part: 6 * part, full_weights(seed, 2, 1, d=2))
    objective = Objective(noise(), jnp.asarray(200.0))
    steps = jnp.asarray(8, jnp.int32), jnp.asarray(1, jnp.int32)
    key = jax.random.key(seed)
    before = fresh_sample.score(PROBLEM, SAMPLING, wild, key, objective, steps[1])
    state = search(PROBLEM, SAMPLING, begin(wild), key, objective, *steps)
    assert float(state.value) < float(before[0]) / 2
    assert bool(jnp.isfinite(state.weights.P).all())
    assert int(state.accepted) > 0


def test_balancing_changes_no_answer(seed):
    weights = full_weights(seed, 2, 2)
    G = NoisyRegression(4, 9).sample_gram(jax.random.key(seed)).G / 9
    even = balanced(FullWeights(5 * weights.P, weights.Q.at[1, 1].set(0)))
    plain = FullWeights(5 * weights.P, weights.Q.at[1, 1].set(0))
    np.testing.assert_allclose(final_weights(even, G), final_weights(plain, G), rtol=1e-9)
    sizes = [jnp.linalg.norm(part[0], axis=(-2, -1)) for part in (even.P, even.Q)]
    np.testing.assert_allclose(sizes[0], sizes[1], rtol=1e-12)


def test_balancing_an_axis_changes_no_answer(seed):
    normals = iter(jax.random.normal(jax.random.key(seed), (20,)).reshape(2, 10))
    parts = [(own[:8].reshape(2, 2, 2), own[8:]) for own in normals]
    axis = AxisWeights(5 * parts[0][0], 5 * parts[0][1], *parts[1])
    G = NoisyRegression(4, 9).sample_gram(jax.random.key(seed)).G / 9
    even = balanced(axis)
    np.testing.assert_allclose(final_weights(even, G), final_weights(axis, G), rtol=1e-9)
    squares = [
        jnp.square(block).sum((-2, -1)) + rest**2
        for block, rest in ((even.p, even.p_rest), (even.q, even.q_rest))
    ]
    np.testing.assert_allclose(*squares, rtol=1e-12)


@pytest.mark.usefixtures("unchecked")
def test_bad_sizes_are_named():
    with pytest.raises(UserError, match=r"^worst must be below chunk and chunk at most pool, got"):
        Sampling(chunk=10, pool=20, worst=10)
    with pytest.raises(UserError, match=r"^chunk must be an integer of at least 1, got 0\.$"):
        Sampling(chunk=0)
    with pytest.raises(UserError, match=r"^depth must be an integer of at least 1, got 0\.$"):
        next(grow_full(PROBLEM, noise(), jax.random.key(0), 0))
    with pytest.raises(UserError, match=r"^d must be at least 2 to single out a direction, got 1"):
        next(grow_full(NoisyRegression(1, 4), noise(), jax.random.key(0), 1))
