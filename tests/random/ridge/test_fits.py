import math

import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.ridge.accelerator import Accelerator
from attnlab.random.ridge.arrays import Host
from attnlab.random.ridge.kernel import RidgeKernel
from attnlab.random.ridge.solve import by_cholesky, by_eigh
from attnlab.random.ridge.system import RidgeSystem

PENALTIES = (1e-6, 0.3, 40.0)


def data(seed, n, m):
    rng = np.random.Generator(np.random.Philox(seed))
    rows = rng.standard_normal((n, m)) + 0.4
    return rows, rows @ rng.standard_normal(m) / math.sqrt(m) + rng.standard_normal(n) + 2


def oracle(rows, y, penalty, intercept):
    """The ridge problem as an ordinary least-squares problem with penalty rows, by QR or SVD."""
    n, m = rows.shape
    ones = np.ones((n, 1)) if intercept else np.zeros((n, 0))
    top = np.concatenate([rows, ones], axis=1)
    bottom = np.concatenate([math.sqrt(penalty) * np.eye(m), np.zeros((m, ones.shape[1]))], axis=1)
    full, right = np.concatenate([top, bottom]), np.concatenate([y, np.zeros(m)])
    w = np.linalg.lstsq(full, right, rcond=None)[0]
    return w[:m], float(w[m:].sum()), float(((y - top @ w) ** 2).mean())


def check(fits, rows, y, intercept, rtol=1e-6):
    for fit, penalty in zip(fits, PENALTIES, strict=True):
        w, b, train = oracle(rows, y, penalty, intercept)
        scale = np.abs(w).max()
        np.testing.assert_allclose(fit.weights, w, rtol=rtol, atol=rtol * scale)
        assert fit.intercept == pytest.approx(b, rel=rtol, abs=rtol * (abs(b) + scale))
        assert fit.train_error == pytest.approx(train, rel=10 * rtol, abs=1e-10)
        assert fit.square_norm == pytest.approx(float(w @ w), rel=10 * rtol)
        assert (fit.n, fit.m, fit.penalty) == (*rows.shape, penalty)


@pytest.mark.parametrize("intercept", [False, True])
def test_nested_primal_fits_equal_separate_ones(intercept, seed):
    rows, y = data(seed, 90, 30)
    system = RidgeSystem(Host(np.float64), 30)
    done = 0
    for n in (45, 90):
        system.add(rows[done:n], y[done:n])
        done = n
        for m in (10, 30):
            fits = system.fit(PENALTIES, m, intercept)
            check(fits, rows[:n, :m], y[:n], intercept)
            assert all(fit.diagnosis == "" for fit in fits)


@pytest.mark.parametrize("intercept", [False, True])
def test_nested_kernel_fits_equal_separate_ones(intercept, seed):
    rows, y = data(seed, 30, 90)
    kernel = RidgeKernel(Host(np.float64), [rows[:7], rows[7:]], y, 30)
    for m in (40, 90):
        kernel.widen(m, block=16)
        for n in (12, 30):
            check(kernel.fit(PENALTIES, n, intercept), rows[:n, :m], y[:n], intercept)


def test_primal_and_dual_agree(seed):
    rows, y = data(seed, 50, 40)
    host = Host(np.float64)
    system, kernel = RidgeSystem(host, 40), RidgeKernel(host, [rows], y, 50)
    system.add(rows, y)
    kernel.widen(40)
    for a, b in zip(system.fit((0.1, 5.0)), kernel.fit((0.1, 5.0), 50), strict=True):
        np.testing.assert_allclose(a.weights, b.weights, rtol=1e-8, atol=1e-10)
        assert a.train_error == pytest.approx(b.train_error, rel=1e-8)


def test_one_eigendecomposition_equals_a_factorisation_each(seed):
    rows, y = data(seed, 60, 20)
    system = (np.tril(rows.T @ rows), rows.T @ y, np.logspace(-6, 2, 9))
    spectral, factored = by_eigh(Host(), *system), by_cholesky(Host(), *system)
    np.testing.assert_allclose(spectral[0], factored[0], rtol=1e-9, atol=1e-12)
    assert (factored[1] >= spectral[1] / 10).all()
    assert (factored[1] <= spectral[1] * (1 + 1e-9)).all()
    assert not spectral[2].any()
    assert not factored[2].any()


@pytest.mark.parametrize("intercept", [False, True])
def test_the_accelerator_gives_the_same_fits(intercept, seed):
    rows, y = data(seed, 60, 20)
    device = Accelerator(np.float64)
    with device.session(60):
        primal = RidgeSystem(device, 20)
        for part in (slice(0, 25), slice(25, 60)):
            primal.add(rows[part], y[part])
        check(primal.fit(PENALTIES, 20, intercept), rows, y, intercept)
        kernel = RidgeKernel(device, [rows[:9], rows[9:18]], y, 15)
        kernel.widen(20)
        check(kernel.fit(PENALTIES, 15, intercept), rows[:15], y[:15], intercept)


def test_float32_rows_give_float64_fits_to_their_rounding(seed):
    rows, y = data(seed, 400, 100)
    single, double = (RidgeSystem(Host(dtype), 100) for dtype in (np.float32, np.float64))
    for start in range(0, 400, 50):
        part = slice(start, start + 50)
        single.add(rows[part].astype(np.float32), y[part])
        double.add(rows[part], y[part])
    for a, b in zip(single.fit((1e-6, 1.0)), double.fit((1e-6, 1.0)), strict=True):
        # Rounding of 6e-8 a feature, amplified by at most the root of the condition number.
        bound = 6e-8 * 10 * math.sqrt(b.condition)
        assert np.linalg.norm(a.weights - b.weights) < bound * np.linalg.norm(b.weights)


def test_a_singular_system_says_so_and_gives_the_least_norm(seed):
    rows, y = data(seed, 40, 10)
    rows[:, 7] = rows[:, 2]
    system = RidgeSystem(Host(np.float64), 10)
    system.add(rows, y)
    (fit,) = system.fit((0.0,))
    least = np.linalg.lstsq(rows, y, rcond=None)[0]
    assert fit.diagnosis == "singular to working precision: 1 of 10 directions left out"
    assert fit.condition == math.inf
    np.testing.assert_allclose(fit.weights, least, rtol=1e-6, atol=1e-8)


def test_an_ill_conditioned_float32_system_says_so(seed):
    rows, y = data(seed, 40, 10)
    rows[:, 7] = rows[:, 2] * (1 + 1e-5 * np.arange(40))
    system = RidgeSystem(Host(np.float32), 10)
    system.add(rows.astype(np.float32), y)
    (fit,) = system.fit((0.0,))
    assert fit.diagnosis.startswith(("ill-conditioned: condition number", "singular"))
    (safe,) = system.fit((1.0,))
    assert safe.diagnosis == ""


@pytest.mark.usefixtures("unchecked")
def test_bad_ridge_arguments_are_named(seed):
    system = RidgeSystem(Host(), 4)
    with pytest.raises(UserError, match=r"^a ridge fit must have at least one sample, got none\.$"):
        system.fit((1.0,))
    with pytest.raises(UserError, match=r"^rows must have shape \(3, 4\), got \(3, 2\)\.$"):
        system.add(np.ones((3, 2), np.float32), np.ones(3))
    system.add(np.ones((3, 4), np.float32), np.ones(3))
    with pytest.raises(UserError, match=r"^penalty must be a finite number of at least 0, got -1"):
        system.fit((-1.0,))
    with pytest.raises(UserError, match=r"^width must be an integer of at least 1, got 0\.$"):
        RidgeSystem(Host(), 0)
