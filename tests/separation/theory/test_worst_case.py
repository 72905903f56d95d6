"""The worst data of Definition 3.8 against all two-level data and against random data."""

import math

import numpy as np
import pytest

from attnlab.separation import theory
from attnlab.separation.models import RegressionNetwork, normalise
from attnlab.separation.problem import RegressionPair

CASES = [("linear", 0), ("linear", 1), ("softmax", 0)]


def norms(levels, n, kind, label):
    u = levels * math.log(n)
    if label:
        u[..., 0] = 4 * math.log(n)
    f = normalise(u, kind)
    return (f**2).sum(axis=-1)


@pytest.mark.parametrize(("kind", "label"), CASES)
@pytest.mark.parametrize("n", [2, 5, 30, 200])
def test_the_worst_norm_is_that_of_the_worst_two_level_data(kind, label, n):
    levels = np.where(np.arange(n) >= n - np.arange(n + 1)[:, None], 1.4, 1.0)
    largest = norms(levels, n, kind, label).max()
    worst = theory.worst_norm(n, kind, label)
    assert largest <= worst * (1 + 1e-12)
    assert largest >= worst * (1 - 1.0 / n)


@pytest.mark.parametrize(("kind", "label"), CASES)
def test_no_data_of_the_definition_is_worse(kind, label, seed):
    rng = np.random.default_rng(seed)
    for n in (3, 20, 300):
        found = norms(rng.uniform(1, 1.4, (200, n)), n, kind, label)
        assert found.max() <= theory.worst_norm(n, kind, label)


@pytest.mark.parametrize(("kind", "label"), CASES)
def test_no_exact_tail_passes_the_worst_one(kind, label):
    which = [("linear", 1), ("softmax", 0), ("linear", 0)].index((kind, label))
    for n in (50, 400):
        for share in (0.02, theory.worst_share(n, kind), 0.5, 0.9):
            for tau in (0.05, 0.25):
                law = theory.neuron_law(
                    RegressionPair(n, "two-level", share), RegressionNetwork(4, tau)
                )
                tail = math.exp(theory.log_worst_tail(n, kind, label, tau))
                assert law.exceed[which] <= tail
                bound = math.exp(theory.log_zero_failure(n, kind, label, tau, 4))
                assert bound == pytest.approx(4 * tail, rel=1e-12)


def test_the_worst_linear_data_is_kantorovichs():
    """(1 + R)^2 / (4 R n) with R = 1.4, at a share 1 / (1 + R)."""
    assert theory.worst_norm(1000, "linear", 0) == pytest.approx(2.4**2 / 5.6 / 1000, rel=1e-12)
    assert theory.worst_share(1000, "linear") == pytest.approx(5 / 12, rel=1e-12)
