import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.separation.models import (
    KINDS,
    attention_output,
    normalise,
    tensor_attention_output,
    tensor_form,
)


def arrays(seed, n=5, n2=4, d=3):
    rng = np.random.Generator(np.random.Philox(seed))
    shapes = ((n, d), (n2, d), (n2, d), (d, d), (d, d))
    return [rng.uniform(0.1, 1.0, shape) for shape in shapes]


def test_a_block_of_the_tensor_form_is_a_row_of_the_scores(seed):
    # Claims C.3 and C.5; X is not symmetric, so reading it column by column would fail.
    A_1, A_2, _, X, _ = arrays(seed)
    A, x = tensor_form(A_1, A_2, X)
    scores = A_1 @ X @ A_2.T
    for j in range(5):
        np.testing.assert_allclose(A[4 * j : 4 * (j + 1)] @ x, scores[j], rtol=1e-13)
        wrong = A[4 * j : 4 * (j + 1)] @ X.T.reshape(-1)
        assert np.abs(wrong - scores[j]).max() > 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_the_tensor_form_gives_the_attention_output(kind, seed):
    A_1, A_2, A_3, X, V = arrays(seed)
    np.testing.assert_allclose(
        tensor_attention_output(A_1, A_2, A_3, X, V, kind),
        attention_output(A_1, A_2, A_3, X, V, kind),
        rtol=1e-12,
    )


def test_the_tensor_form_refuses_to_fill_the_memory():
    A, X = np.ones((300, 22)), np.eye(22)
    with pytest.raises(
        UserError, match=r"^A_1 and A_2 must give a tensor form of at most 16777216"
    ):
        tensor_form(A, A, X)


@pytest.mark.parametrize("kind", KINDS)
def test_attention_is_the_definition_written_out(kind, seed):
    A_1, A_2, A_3, X, V = arrays(seed)
    expected = np.zeros((5, 3))
    for j in range(5):
        u = np.array([A_1[j] @ X @ A_2[i] for i in range(4)])
        u = np.exp(u) if kind == "softmax" else u
        for i in range(4):
            expected[j] += u[i] / u.sum() * (A_3[i] @ V)
    np.testing.assert_allclose(attention_output(A_1, A_2, A_3, X, V, kind), expected, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_stand_for_repeated_keys(kind, seed):
    A_1, A_2, A_3, X, V = arrays(seed)
    counts = np.array([1.0, 3.0, 2.0, 1.0])
    repeat = counts.astype(int)
    np.testing.assert_allclose(
        normalise(A_1 @ X @ A_2.T, kind, counts) @ A_3 @ V,
        attention_output(A_1, A_2.repeat(repeat, 0), A_3.repeat(repeat, 0), X, V, kind),
        rtol=1e-13,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_weights_sum_to_one(kind, seed):
    u = np.random.Generator(np.random.Philox(seed)).uniform(1, 9, (6, 40))
    np.testing.assert_allclose(normalise(u, kind).sum(axis=1), 1, rtol=1e-14)


def test_softmax_of_large_scores_does_not_overflow():
    np.testing.assert_allclose(
        normalise(np.array([1e4, 1e4, 0.0]), "softmax"), [0.5, 0.5, 0.0], rtol=1e-15
    )


def test_a_zero_linear_normaliser_is_an_error_and_a_negative_one_is_not():
    scores = np.array([[1.0, 2.0], [0.1 + 0.2, -0.3]])
    with pytest.raises(
        UserError, match=r"^scores must not sum to zero in linear attention, got .*"
    ):
        normalise(scores, "linear")
    np.testing.assert_allclose(normalise(-scores[:1], "linear"), [[1 / 3, 2 / 3]], rtol=1e-15)


def test_shapes_are_checked_in_the_tests():
    from jaxtyping import TypeCheckError

    with pytest.raises(TypeCheckError):
        attention_output(
            np.ones((2, 3)), np.ones((4, 3)), np.ones((5, 3)), np.eye(3), np.eye(3), "softmax"
        )
