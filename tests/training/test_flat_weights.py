"""Weights as one vector: no number is dropped, and training is that of the arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.compiling import fast_compile
from attnlab.errors import UserError
from attnlab.training.flat_weights import FlatLoss, flatten
from attnlab.training.options import TrainingOptions
from attnlab.training.population import member_keys, train
from attnlab.training.schedule import Betas, Schedule, adam, equal_members, scheduled_rate

STEPS = 6


def line_loss(model, key, member):
    """Least squares of x -> w x + b for a plane w = (1, -2), b = 3, on eight points of the key."""
    x = jax.random.normal(key, (8, 2))
    answer = jnp.sum(x * model["w"], axis=1) + model["b"]
    return jnp.mean((answer - (x[:, 0] - 2 * x[:, 1] + 3)) ** 2)


def models():
    return {"w": np.arange(4, dtype=np.float32).reshape(2, 2), "b": np.ones(2, np.float32)}


def test_a_vector_and_its_model_hold_the_same_numbers():
    layout, vectors = flatten(models())
    assert vectors.shape == (2, layout.size) == (2, 3)
    again = layout.model(vectors)
    for name, array in models().items():
        np.testing.assert_array_equal(again[name], array)
    np.testing.assert_array_equal(layout.model(vectors[1])["w"], models()["w"][1])
    assert layout == flatten(models())[0]


def test_the_derivative_of_the_vector_holds_that_of_the_arrays(seed):
    layout, vectors = flatten(models())
    arrays = {name: array[0] for name, array in models().items()}
    key = jax.random.key(seed)
    flat = jax.grad(FlatLoss(line_loss, layout))(jnp.asarray(vectors[0]), key, None)
    for name, known in jax.grad(line_loss)(arrays, key, None).items():
        np.testing.assert_array_equal(layout.model(flat)[name], known)


def test_the_derivative_of_the_vector_pads_nothing():
    """Padding every array to the whole vector would take their number squared."""
    many = {str(i): np.ones((1, 2), np.float32) for i in range(40)}
    layout, vectors = flatten(many)

    def loss(model, key, member):
        return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(model))

    gradient = jax.grad(FlatLoss(loss, layout))
    assert "pad" not in str(jax.make_jaxpr(gradient)(vectors[0], None, None))


def test_training_the_vector_is_training_the_arrays(seed):
    layout, vectors = flatten(models())
    keys = member_keys(jax.random.key(seed), 2)
    options = TrainingOptions(chunk=STEPS, rate=scheduled_rate, clip=1.0, fast_compile=True)
    schedule = Schedule(0.1, 0.1 * STEPS, STEPS, 0.0)
    members = equal_members(2, schedule, Betas(0.9, 0.95), np.float32)
    given = {"members": members, "key": keys, "optimiser": adam, "steps": STEPS}
    arrays = train(line_loss, models(), **given, options=options)
    flat = train(FlatLoss(line_loss, layout), vectors, **given, options=options)
    found = layout.model(np.asarray(flat.params))
    for name, start in models().items():
        moved = np.abs(np.asarray(arrays.params[name]) - start)
        assert moved.min() > 0.01  # a training that stands still would agree with itself
        # Float32 sums in another order: 1e-6 per step, of numbers no larger than 8.
        np.testing.assert_allclose(found[name], arrays.params[name], atol=8e-6 * STEPS)


def test_arrays_of_two_kinds_are_refused():
    with pytest.raises(UserError, match="models must be arrays of one dtype"):
        flatten({"w": np.ones((2, 2), np.float32), "b": np.ones(2)})


def test_a_program_compiled_fast_draws_the_same_bits(seed):
    key = jax.random.key(seed)
    drawn = fast_compile(lambda key: jax.random.bits(key, (4,)))(key)
    np.testing.assert_array_equal(drawn, jax.random.bits(key, (4,)))
