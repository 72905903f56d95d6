"""An adversary that is trained against the lower bound comes near it and never passes it."""

import jax
import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.rank.problem import Neighbours
from attnlab.rank.simulation import error
from attnlab.rank.theory.lower_bound import lower_bound
from attnlab.rank.training.adversary import train_adversary
from attnlab.stats import normal_threshold

PAIR = Neighbours(4, 2, points="orthonormal")


@pytest.mark.parametrize(("heads", "scalar", "variant"), [(2, False, "B"), (4, True, "C")])
def test_a_trained_adversary_comes_near_the_bound_and_not_below(seed, heads, scalar, variant):
    key = jax.random.key(seed)
    trained = train_adversary(key, 4, 1, heads, scalar_values=scalar, steps=400, batch=64, width=16)
    found = error(trained, PAIR, jax.random.key(seed + 1000), 20_000, chunk=5000)
    allowed = normal_threshold() * found.standard_error
    assert found.value > lower_bound(4, 1, heads, variant).value - allowed
    # An adversary that learns nothing would prove nothing: uniform attention has 1/2.
    assert found.value < 0.42
    assert trained.K.shape == (heads, 4, 1)
    assert (np.linalg.matrix_rank(np.asarray(trained.K)) == 1).all()


def test_wrong_arguments_are_named(unchecked):
    with pytest.raises(UserError, match=r"^heads must be an integer of at least 1, got 0\.$"):
        train_adversary(jax.random.key(0), 4, 1, 0)
    with pytest.raises(UserError, match=r"^steps must be an integer of at least 10, got 9\.$"):
        train_adversary(jax.random.key(0), 4, 1, 1, steps=9)
