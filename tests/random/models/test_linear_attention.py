import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.models.linear_attention import FullAttention, tokens
from attnlab.random.problem import SingleIndexRegression


@pytest.mark.parametrize("target", ["linear", "relu"])
def test_full_attention_reduces_to_a_linear_form_in_h(target, seed):
    d, length, n = 6, 9, 20
    rng = np.random.Generator(np.random.Philox(seed))
    full = SingleIndexRegression(d, length, 3, target, 0.1).full_prompts(n, seed=seed)
    V, K, Q = (rng.standard_normal((d + 1, d + 1)) for _ in range(3))
    V[d, :d] = 0
    attention = FullAttention(V, K, Q)
    short = full.prompts().features() @ attention.reduction().ravel()
    np.testing.assert_allclose(attention(full), short, rtol=1e-10, atol=1e-12 * np.abs(short).max())
    assert repr(attention) == "FullAttention(d=6)"


def test_a_layer_is_the_sum_over_tokens(seed):
    # A = Z + (1/l) sum over tokens j and k of V z_j (z_j^T K^T Q z_k) in column k.
    d, length = 3, 4
    rng = np.random.Generator(np.random.Philox(seed))
    full = SingleIndexRegression(d, length, 2).full_prompts(2, seed=seed)
    V, K, Q = (rng.standard_normal((d + 1, d + 1)) for _ in range(3))
    Z = tokens(full)
    expected = Z.copy()
    for i, column in np.ndindex(2, length + 1):
        for token in range(length + 1):
            weight = (K @ Z[i, :, token]) @ (Q @ Z[i, :, column])
            expected[i, :, column] += V @ Z[i, :, token] * weight / length
    found = FullAttention(V, K, Q).layer(Z)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


def test_tokens_hide_the_label_of_the_query(seed):
    full = SingleIndexRegression(3, 4, 2).full_prompts(5, seed=seed)
    Z = tokens(full)
    assert Z.shape == (5, 4, 5)
    assert (Z[:, 3, 4] == 0).all()
    np.testing.assert_array_equal(Z[:, :3, 4], full.query)


def test_values_that_let_inputs_vote_have_no_reduction(seed):
    V = np.random.Generator(np.random.Philox(seed)).standard_normal((4, 4))
    with pytest.raises(UserError, match=r"^V must have a last row of zeros but for its last entry"):
        FullAttention(V, np.eye(4), np.eye(4)).reduction()
