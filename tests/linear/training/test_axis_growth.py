from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.theory.laws import one_layer_loss
from attnlab.linear.training import fresh_sample
from attnlab.linear.training.axis_growth import AxisGrowthEffort, grow_axis
from attnlab.linear.training.batches import noise_tables
from attnlab.linear.training.fresh_sample import Objective, Sampling, begin, chosen, search_many
from attnlab.linear.training.train import train
from attnlab.stats import agree
from tests.conftest import in_double_precision

pytestmark = pytest.mark.usefixtures("double_precision")


PROBLEM = NoisyRegression(2, 10, Uniform(2))
SAMPLING = Sampling(chunk=256, pool=1024, worst=64, compared=1024)
EFFORT = AxisGrowthEffort(
    (6, 1),
    (6, 2),
    (2, 2),
    draws=1,
    kept=7,  # all proposals, so that the phases share their programs
    parents=2,
    evaluation=(16, 1024),
    coarse=SAMPLING,
    fine=SAMPLING,
)


def random_axis(seed: int) -> AxisWeights:
    parts = 0.15 * np.random.default_rng(seed).standard_normal((2, 2, 5))
    P, Q = ((part[:, :4].reshape(2, 2, 2), part[:, 4]) for part in parts)
    return AxisWeights(*map(jnp.asarray, (*P, *Q)))


def noise():
    return jax.tree.map(lambda part: part[0], noise_tables([PROBLEM.noise]))


@pytest.fixture(scope="module")
def grown(seed):
    with in_double_precision():
        return list(grow_axis(PROBLEM, noise(), jax.random.key(seed), 2, effort=EFFORT, axes=1))


def test_one_layer_reaches_its_law(grown):
    first = grown[0]
    law = one_layer_loss(PROBLEM).value
    # The best one-layer network has the loss of the law; 14 steps leave less than 1% of it.
    assert agree(first.loss, law, slack=0.01 * law).agrees
    assert first.weights.depth == 1


def test_no_depth_is_worse_than_the_one_before(grown):
    # "unchanged" is a candidate to the end, so the losses differ upwards by sampling noise only.
    first, second = grown
    assert second.weights.depth == 2
    comparison = agree(second.loss, first.loss)
    assert comparison.difference < comparison.allowed
    assert np.isfinite(second.largest)
    assert second.origin.split()[0] in ("first", "inside", "last", "unchanged")


def test_growth_is_the_same_twice(grown, seed):
    again = next(grow_axis(PROBLEM, noise(), jax.random.key(seed), 1, effort=EFFORT, axes=1))
    np.testing.assert_array_equal(again.weights.P, grown[0].weights.P)  # one program, one process
    assert again.loss == grown[0].loss


def test_a_continued_growth_has_the_same_bits(grown, seed):
    first, second = grown
    assert [network.depth for network in first.parents] == [1] * len(first.parents)
    (again,) = grow_axis(
        PROBLEM, noise(), jax.random.key(seed), 2, effort=EFFORT, axes=1, trained=[first.parents]
    )
    same = jax.tree.map(np.array_equal, vars(again.weights), vars(second.weights))
    assert all(same.values())
    assert (again.depth, again.loss, again.origin) == (2, second.loss, second.origin)
    parents = zip(jax.tree.leaves(again.parents), jax.tree.leaves(second.parents), strict=True)
    assert all(np.array_equal(*pair) for pair in parents)


def test_the_front_door_trains_the_same_network(grown, seed):
    (network,) = train(PROBLEM, "axis", 1, seed=seed, effort=EFFORT)
    np.testing.assert_array_equal(network.weights.P, grown[0].weights.P)
    assert network.loss == grown[0].loss
    assert (network.family, network.problem) == ("AXIS", PROBLEM)


def test_a_given_start_is_never_lost(grown, seed):
    # A search without steps: the given network must come back as it was.
    none = {"screening": (0, 1), "refinement": (0, 1), "final": (0, 1)}
    idle = replace(EFFORT, **none, evaluation=(8, 1024))
    step = 1 / (PROBLEM.n + PROBLEM.d + 1 + PROBLEM.noise.second_moment())
    given = GDPlusPlus(jnp.zeros(1), jnp.full(1, -step)).diag()
    (kept,) = grow_axis(
        PROBLEM, noise(), jax.random.key(seed), 1, starts=[given], effort=idle, axes=1
    )
    assert kept.origin == "given"
    np.testing.assert_allclose(kept.weights.P, given.full(PROBLEM.d).P)


def test_the_direction_is_the_gradient_of_the_robust_loss(seed):
    everything = Sampling(chunk=256, pool=256, worst=255, compared=256)
    weights, key = random_axis(seed), jax.random.key(seed)
    objective = Objective(noise(), jnp.asarray(0.7))
    theta, unravel = jax.flatten_util.ravel_pytree(weights)
    many = jax.tree.map(lambda leaf: leaf[None], weights)
    drawn = fresh_sample._sample(PROBLEM, 256, theta.dtype, key, 0, objective.noise)
    nothing = fresh_sample._no_equations(many)
    _, (g,) = fresh_sample._equations(PROBLEM, everything, many, drawn, objective.c, nothing)
    G, aim = drawn

    def robust(theta):
        loss = jnp.square(jax.vmap(lambda G: final_weights(unravel(theta), G))(G) - aim).sum(1) / 2
        return (0.7 * jnp.log1p(loss / 0.7)).mean()

    np.testing.assert_allclose(g, jax.grad(robust)(theta), rtol=1e-9, atol=1e-12)


def test_the_chosen_sequences_stand_for_the_pool(seed):
    loss = jnp.asarray(np.exp(3 * np.random.default_rng(seed).standard_normal(SAMPLING.pool)))
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
    # Two searches of one network: they are side by side, not in each other's way.
    wild = jax.tree.map(lambda part: jnp.stack([6 * part] * 2), random_axis(seed))
    objective = Objective(noise(), jnp.asarray(200.0))
    key = jax.random.key(seed)
    before = fresh_sample.score(PROBLEM, 1024, wild, key, objective, 1)
    state = search_many(PROBLEM, SAMPLING, jax.vmap(begin)(wild), key, objective, 8, 1)
    assert (state.value < before[0] / 2).all()
    assert bool(jnp.isfinite(state.weights.p).all())
    assert (state.accepted > 0).all()
    np.testing.assert_allclose(state.value[0], state.value[1], rtol=1e-9)


def test_what_overflows_still_has_a_price():
    bent = fresh_sample._robust(jnp.asarray([1.0, 1e40, jnp.inf, jnp.nan]), jnp.asarray(200.0))
    price = 200 * np.log1p(1e30 / 200)
    np.testing.assert_allclose(bent, [200 * np.log1p(1 / 200), price, price, price])
    plain = fresh_sample._robust(jnp.asarray([1.0, jnp.inf]), jnp.asarray(jnp.inf))
    np.testing.assert_array_equal(plain, [1, jnp.inf])


@pytest.mark.usefixtures("unchecked")
def test_bad_sizes_are_named():
    with pytest.raises(UserError, match=r"^worst must be below chunk and chunk at most pool, got"):
        Sampling(chunk=10, pool=20, worst=10)
    with pytest.raises(UserError, match=r"^chunk must be an integer of at least 1, got 0\.$"):
        Sampling(chunk=0)
    with pytest.raises(UserError, match=r"^depth must be an integer of at least 1, got 0\.$"):
        next(grow_axis(PROBLEM, noise(), jax.random.key(0), 0))
    with pytest.raises(UserError, match=r"^d must be at least 2 to treat 1 direction"):
        next(grow_axis(NoisyRegression(1, 4), noise(), jax.random.key(0), 1, axes=1))
