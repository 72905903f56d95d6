import numpy as np
import pytest

from attnlab.errors import UserError
from attnlab.random.models.linear_attention import attention, reduction, tokens
from attnlab.random.problem import SingleIndexRegression


@pytest.mark.parametrize("target", ["linear", "relu"])
def test_full_attention_reduces_to_a_linear_form_in_h(target, seed):
    d, length, n = 6, 9, 20
    rng = np.random.Generator(np.random.Philox(seed))
    full = SingleIndexRegression(d, length, 3, target, 0.1).contexts(n, seed=seed)
    V, K, Q = (rng.standard_normal((d + 1, d + 1)) for _ in range(3))
    V[d, :d] = 0
    answer = attention(tokens(full), V, K, Q)[:, d, length]
    Gamma = reduction(V, K, Q)
    np.testing.assert_allclose(answer, full.prompts().features() @ Gamma.ravel(), rtol=1e-10)


def test_tokens_hide_the_label_of_the_query(seed):
    full = SingleIndexRegression(3, 4, 2).contexts(5, seed=seed)
    Z = tokens(full)
    assert Z.shape == (5, 4, 5)
    assert (Z[:, 3, 4] == 0).all()
    np.testing.assert_array_equal(Z[:, :3, 4], full.query)


def test_values_that_let_inputs_vote_have_no_reduction(seed):
    V = np.random.Generator(np.random.Philox(seed)).standard_normal((4, 4))
    with pytest.raises(UserError, match=r"^V must have a last row of zeros but for its last entry"):
        reduction(V, np.eye(4), np.eye(4))
