import math
import tracemalloc

import numpy as np
import pytest

from attnlab.checkpoints.forms import (
    ROUNDINGS,
    Form,
    copying,
    entropy_rank,
    factor,
    read_form,
    stable_rank,
)
from attnlab.errors import UserError
from attnlab.rank.theory.public_sizes import Sizes
from tests.checkpoints.checkpoint_files import orthonormal, rounded


def read(Q: np.ndarray, K: np.ndarray, dtype: str = "F64") -> Form:
    return read_form(factor(Q, dtype), factor(K, dtype))


def test_orthonormal_factors_give_the_rank_and_the_least_angle(seed):
    rng = np.random.default_rng(seed)
    U = orthonormal(rng, 12, 3)
    form = read(5 * U, U)
    assert form.rank == 3
    assert form.stable_rank == pytest.approx(3)
    assert form.entropy_rank == pytest.approx(3)
    assert form.norm == pytest.approx(5 * math.sqrt(3))
    assert form.multiple == pytest.approx(5 * 3 / 12)
    assert form.angle == pytest.approx(60)  # arccos sqrt(3 / 12)
    assert form.angle == pytest.approx(Sizes(12, 4, 3).least_angle)
    assert read(-5 * U, U).angle == pytest.approx(120)


@pytest.mark.parametrize("c", [3.0, -0.2])
def test_a_full_rank_head_can_be_a_multiple_of_the_identity(seed, c):
    U = orthonormal(np.random.default_rng(seed), 9, 9)
    form = read(c * U, U)
    assert form.multiple == pytest.approx(c)
    # An error of eps in the cosine is one of sqrt(eps) in the angle.
    assert form.distance == pytest.approx(0, abs=1e-7)
    assert form.angle == pytest.approx(0 if c > 0 else 180, abs=1e-5)
    assert Sizes(9, 1, 9).least_angle == 0


def test_effective_ranks_of_known_singular_values():
    sigma = np.array([2.0, 1.0, 1.0])
    assert stable_rank(sigma) == pytest.approx(6 / 4)
    assert entropy_rank(sigma) == pytest.approx(2**1.5)  # entropy of (1/2, 1/4, 1/4)
    assert entropy_rank(np.array([7.0, 0.0])) == pytest.approx(1)


@pytest.mark.parametrize(("d", "r"), [(10, 1), (10, 4), (10, 10), (4, 7)])
def test_the_reading_is_that_of_the_d_by_d_matrix(seed, d, r):
    rng = np.random.default_rng(seed)
    Q, K = rng.standard_normal((2, d, r))
    form, A = read(Q, K), Q @ K.T
    sigma = np.linalg.svd(A, compute_uv=False)
    found = np.zeros(d)
    found[: len(form.singular_values)] = form.singular_values
    # QR, product and SVD are backward stable: errors of a few max(d, r) eps |Q| |K|.
    tolerance = 20 * max(d, r) * np.finfo(float).eps * np.linalg.norm(Q) * np.linalg.norm(K)
    np.testing.assert_allclose(found, sigma, rtol=0, atol=tolerance)
    assert form.rank == np.linalg.matrix_rank(A) == min(d, r)
    assert form.norm == pytest.approx(np.linalg.norm(A))
    assert form.stable_rank == pytest.approx((np.linalg.norm(A) / np.linalg.norm(A, 2)) ** 2)
    cosine = np.trace(A) / np.linalg.norm(A) / math.sqrt(d)
    assert form.angle == pytest.approx(math.degrees(math.acos(cosine)))
    transposed = read(K, Q)
    assert transposed.angle == pytest.approx(form.angle)
    np.testing.assert_allclose(transposed.singular_values, form.singular_values, atol=tolerance)


def test_no_other_multiple_of_the_identity_is_nearer(seed):
    rng = np.random.default_rng(seed)
    Q, K = rng.standard_normal((2, 6, 4))
    form, A = read(Q, K), Q @ K.T
    (fitted,), *_ = np.linalg.lstsq(np.eye(6).reshape(-1, 1), A.ravel())
    assert form.multiple == pytest.approx(fitted)
    distance = np.linalg.norm(A - form.multiple * np.eye(6)) / np.linalg.norm(A)
    assert form.distance == pytest.approx(distance)
    assert form.distance == pytest.approx(math.sin(math.radians(form.angle or 0)))
    for other in (form.multiple - 0.1, form.multiple + 0.1):
        assert np.linalg.norm(A - other * np.eye(6)) / np.linalg.norm(A) > distance


def test_no_angle_is_below_the_least(seed):
    rng = np.random.default_rng(seed)
    for r in (1, 3, 8):
        least = Sizes(8, 1, r).least_angle
        for _ in range(20):
            angle = read(*rng.standard_normal((2, 8, r))).angle
            assert angle is not None
            assert least <= angle <= 180 - least


@pytest.mark.parametrize("scale", [1.0, 1e-5])  # at 1e-5 a float16 is subnormal
@pytest.mark.parametrize("dtype", list(ROUNDINGS))
def test_rounding_moves_no_singular_value_by_more_than_the_threshold(seed, dtype, scale):
    rng = np.random.default_rng(seed)
    Q, K = scale * rng.standard_normal((2, 30, 6))
    form = read(rounded(Q, dtype), rounded(K, dtype), dtype)
    before = np.linalg.svd(Q @ K.T, compute_uv=False)[:6]
    assert np.abs(before - form.singular_values).max() <= form.threshold


@pytest.mark.parametrize("dtype", ["BF16", "F16", "F32"])
def test_a_planted_rank_is_found_in_spite_of_rounding(seed, dtype):
    rng = np.random.default_rng(seed)
    Q = orthonormal(rng, 40, 3) @ orthonormal(rng, 8, 3).T
    K = orthonormal(rng, 40, 8)
    Q, K = rounded(Q, dtype), rounded(K, dtype)
    assert read(Q, K, dtype).rank == 3
    assert read(Q, K, "F64").rank == 8  # the rounding errors, counted as if they were weights
    assert np.linalg.matrix_rank(Q @ K.T) == 8


def test_a_form_that_is_zero_has_rank_zero_and_no_angle():
    form = read(np.zeros((5, 2)), np.ones((5, 2)), "BF16")
    assert (form.rank, form.stable_rank, form.entropy_rank, form.norm) == (0, 0, 0, 0)
    assert form.angle is None
    assert form.distance is None


def test_no_d_by_d_matrix_is_formed(seed):
    d, r = 2000, 4
    Q, K = np.random.default_rng(seed).standard_normal((2, d, r))
    tracemalloc.start()
    read(Q, K)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * d * d / 20


@pytest.mark.parametrize(
    ("matrix", "dtype", "told"),
    [
        (np.ones(3), "F64", "shape"),
        (np.ones((0, 2)), "F64", "shape"),
        (np.ones((2, 2)), "I8", "dtype must be one of"),
        (np.array([[np.nan]]), "F64", "finite"),
    ],
)
def test_a_factor_that_cannot_be_read_is_refused(matrix, dtype, told, unchecked):
    with pytest.raises(UserError, match=told):
        factor(matrix, dtype)


def test_factors_of_different_shapes_are_refused():
    with pytest.raises(UserError, match=r"one shape \(d, r\), got \(3, 2\) and \(3, 1\)"):
        read(np.ones((3, 2)), np.ones((3, 1)))


def test_a_head_that_copies_scores_one_and_one_that_turns_scores_its_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    V = factor(orthonormal(rng, 10, 3))
    assert copying(V, factor(2 * V.matrix)) == pytest.approx(1)
    assert copying(V, factor(-V.matrix)) == pytest.approx(-1)
    O = factor(rng.standard_normal((10, 3)))  # noqa: E741
    eigenvalues = np.linalg.eigvals(V.matrix @ O.matrix.T)  # the seven others are 0
    whole = np.abs(eigenvalues).sum()
    assert copying(V, O) == pytest.approx(eigenvalues.sum().real / whole, abs=1e-6)
    assert copying(V, factor(np.zeros((10, 3)))) is None
