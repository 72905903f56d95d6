import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.maths import harmonics
from attnlab.rank.theory.lower_bound import (
    head_dimension,
    heads_needed,
    lower_bound,
    tail_share,
)

ROUNDING = 2.0**-53  # of each term of a sum that is at most 1

# r, d, H and the bounds (A), (B), (C), computed once by another program to four digits.
TABLE = [
    (1, 4, 1, 0.3059, 0.3059, 0.4053),
    (1, 4, 2, 0.1118, 0.1118, 0.3106),
    (1, 4, 4, 0.0839, 0.0839, 0.1211),
    (1, 4, 8, 0.0569, 0.0569, 0.1025),
    (1, 5, 1, 0.3524, 0.3524, 0.4273),
    (1, 5, 2, 0.2047, 0.2047, 0.3547),
    (1, 5, 4, 0.1204, 0.1204, 0.2094),
    (1, 5, 8, 0.0923, 0.0923, 0.1297),
    (1, 6, 1, 0.3807, 0.3807, 0.4410),
    (1, 6, 2, 0.2614, 0.2614, 0.3820),
    (1, 6, 4, 0.1380, 0.1380, 0.2640),
    (1, 6, 8, 0.1218, 0.1218, 0.1434),
    (2, 4, 1, 0.0722, 0.0815, 0.2974),
    (2, 4, 2, 0.0335, 0.0377, 0.0947),
    (2, 4, 4, 0.0168, 0.0176, 0.0497),
    (2, 4, 8, 0.0084, 0.0086, 0.0252),
    (2, 5, 1, 0.1168, 0.1918, 0.3488),
    (2, 5, 2, 0.0851, 0.0945, 0.1977),
    (2, 5, 4, 0.0570, 0.0601, 0.1062),
    (2, 5, 8, 0.0387, 0.0405, 0.0680),
    (2, 6, 1, 0.1366, 0.2546, 0.3789),
    (2, 6, 2, 0.1190, 0.1244, 0.2577),
    (2, 6, 4, 0.0839, 0.0946, 0.1307),
    (2, 6, 8, 0.0677, 0.0704, 0.1073),
]


@pytest.mark.parametrize(("r", "d", "heads", "A", "B", "C"), TABLE)
def test_the_bounds_are_those_of_the_table(r, d, heads, A, B, C):
    found = [lower_bound(d, r, heads, variant).value for variant in "ABC"]
    # Four digits, and what stopping the sum at a lower degree than ours may have cost.
    np.testing.assert_allclose(found, [A, B, C], atol=6e-5)


def sphere_rule_4d(points=14):
    """Nodes and weights on S^3, exact for polynomials of degree below 2 points."""
    (u, wu), (v, wv) = (harmonics.marginal_quadrature(d, points) for d in (4, 3))
    angles = 2 * np.pi * np.arange(2 * points) / (2 * points)
    u, v, a = (grid.ravel() for grid in np.meshgrid(u, v, angles, indexing="ij"))
    weights = (wu[:, None, None] * wv[None, :, None] * np.ones(2 * points) / (2 * points)).ravel()
    x, y = np.sqrt(1 - u**2), np.sqrt(1 - v**2)
    return np.stack([u, x * v, x * y * np.cos(a), x * y * np.sin(a)]), weights


@pytest.mark.parametrize(("r", "degree"), [(1, 1), (1, 3), (1, 5), (2, 1), (2, 3), (3, 1), (3, 3)])
def test_a_generic_head_reaches_exactly_the_dimension_of_variant_b(seed, r, degree):
    rng = np.random.default_rng(seed)
    x, weights = sphere_rule_4d()
    V = rng.standard_normal((4, 4))
    quadratic = np.einsum("in,ij,jn->n", x, V, x)
    total = harmonics.dimension(4, degree)
    zonal = rng.standard_normal((2 * total, 4))
    zonal /= np.linalg.norm(zonal, axis=1, keepdims=True)
    Y = harmonics.gegenbauer(4, degree, zonal @ x)[-1]
    powers = np.stack(np.meshgrid(*[range(degree + 3)] * r, indexing="ij"), -1).reshape(-1, r)
    powers = powers[powers.sum(1) <= degree + 2]
    G = np.prod(x[None, :r] ** powers[:, :, None], axis=1)

    def reached(Q):
        pairings = (Y * weights) @ (Q * G).T
        return np.linalg.matrix_rank(pairings, tol=1e-10)

    assert np.linalg.matrix_rank(Y * np.sqrt(weights), tol=1e-8) == total
    assert reached(quadratic) == min(total, head_dimension(4, r, degree, "B"))
    assert reached(np.ones(1)) == min(total, head_dimension(4, r, degree, "C"))
    # A V of rank 1 has a smaller off-diagonal block: `values` counts it.
    thin = np.einsum("in,ij,jn->n", x, np.outer(V[0], V[1]), x)
    assert reached(thin) <= head_dimension(4, r, degree, "B", values=1)


def test_a_full_rank_head_is_not_bounded_and_nearly_full_rank_only_with_scalar_values():
    for d in (3, 4, 8, 64):
        for variant in "ABC":
            assert lower_bound(d, d, 1, variant).value == 0
        assert lower_bound(d, d - 1, 1, "A").value == lower_bound(d, d - 1, 1, "B").value == 0
        assert lower_bound(d, d - 1, 1, "C").value > 0


def test_the_bounds_are_ordered_and_fall_with_rank_and_heads():
    for d in (4, 9, 64):
        ranks = range(1, d + 1, max(1, d // 9))
        for heads in (1, 7, 300):
            found = np.array(
                [[lower_bound(d, r, heads, v, degree=201).value for v in "ABC"] for r in ranks]
            )
            assert (np.diff(found, axis=1) >= -100 * ROUNDING).all()
            assert (np.diff(found, axis=0) <= 100 * ROUNDING).all()
            assert (found <= 0.5).all()
    assert lower_bound(64, 1, 1, "C").value == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("variant", ["A", "B", "C"])
def test_the_tail_rule_only_adds_what_later_degrees_hold(variant):
    for d, r, heads in ((4, 2, 2), (6, 4, 3), (5, 1, 8), (16, 14, 1)):
        bounds = [lower_bound(d, r, heads, variant, degree=L).value for L in (11, 101, 1001, 4001)]
        assert (np.diff(bounds) >= -2000 * ROUNDING).all()
        for start in (11, 101):
            rho = tail_share(d, r, start, variant)
            for degree in range(start, start + 400, 2):
                share = head_dimension(d, r, degree, variant) / harmonics.dimension(d, degree)
                assert share <= rho * (1 + 1e-12)
    # Without the rule the tail counted whole would exceed the limit.
    naive = (1 - harmonics.odd_energies(4, 11).sum()) / 2
    assert naive > lower_bound(4, 2, 2, "A", degree=4001).value


def test_the_heads_needed_are_the_least_that_the_bound_allows():
    for d, r in ((8, 1), (16, 4), (64, 8)):
        heads = heads_needed(d, r, 0.1)
        assert lower_bound(d, r, heads).value <= 0.1 < lower_bound(d, r, heads - 1).value
    assert heads_needed(8, 8, 0.1) == 1


def test_wrong_arguments_are_named(unchecked):
    with pytest.raises(UserError, match=r"^r must be an integer from 1 to d = 4, got 5\.$"):
        lower_bound(4, 5, 1)
    with pytest.raises(UserError, match=r"^heads must be an integer of at least 1, got 0\.$"):
        lower_bound(4, 1, 0)
    with pytest.raises(UserError, match=r"^variant must be one of 'A', 'B', 'C', got 'D'\.$"):
        lower_bound(4, 1, 1, "D")
    with pytest.raises(UserError, match=r"^d must be an integer of at least 3, got 2\.$"):
        lower_bound(2, 1, 1)
