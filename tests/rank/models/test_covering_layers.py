"""Three attention layers without an MLP refute Conjecture 8 as well.

Written out with matrices: tokens are columns [x; label; signs; choices], and every layer is that of
Definition 6, T_i = x_i + sum_h V_h X_{-i} softmax(X_{-i}^T M_h x_i), with heads of rank 1 or 0.
"""

import numpy as np
import pytest

from attnlab.rank.theory.sphere_nets import sphere_net
from tests.rank.models.test_covering_heads import prompts

GAIN = 1e6  # what is left of the residual y is y / GAIN
SHARP = 1e7  # c


def layer(X, heads):
    """The tokens after a self-masked layer; y is the last one.

    What a layer adds to the other tokens is left out: it goes into their signs and choices, which
    no head reads, and after the third layer nothing is read.
    """
    others, y = X[:, :-1], X[:, -1]
    found = y.copy()
    for M, V in heads:
        assert np.linalg.matrix_rank(M) <= 1
        assert np.linalg.matrix_rank(V) == 1
        scores = SHARP * others.T @ M @ y
        weights = np.exp(scores - scores.max())
        found += V @ others @ (weights / weights.sum())
    return np.concatenate([others, found[:, None]], axis=1)


def heads_of(net):
    """The heads of the three layers, and y's encoding; a point's is its label and zeros."""
    B, d = net.shape
    unit = np.eye(d + 1 + 2 * B)
    label, signs, choices = unit[d], unit[d + 1 : d + 1 + B], unit[d + 1 + B :]
    wide = np.pad(net, ((0, 0), (0, 1 + 2 * B)))
    first = [
        (np.outer(label, wide[b] - wide[other]), np.outer(signs[b], label))
        for b in range(B)
        for other in range(B)
        if other != b
    ]
    second = [(np.outer(label, signs[b]), np.outer(choices[b], label)) for b in range(B)]
    third = [
        (np.outer(wide[b], choices[b]), GAIN * np.outer(unit[j], unit[j]))
        for b in range(B)
        for j in range(d)
    ]
    mean = [(np.zeros_like(unit), -GAIN * (B - 1) * np.outer(unit[j], unit[j])) for j in range(d)]
    start = -(B - 2.0) * signs.sum(0) + choices.sum(0)
    return (first, second, third + mean), start[d:]


@pytest.mark.parametrize(("d", "directions"), [(2, 5), (3, 6)])
def test_three_layers_answer_the_neighbour_of_the_nearest_direction(d, directions, seed):
    net = sphere_net(d, directions)
    layers, start = heads_of(net)
    agreed = []
    for N in (2, 5, 20):
        for points, y in zip(*prompts(seed, 10, N, d), strict=True):
            tokens = np.zeros((len(start) + d, N + 1))
            tokens[:d, :N], tokens[:d, N] = points.T, y
            tokens[d, :N] = (-1.0) ** np.arange(N)
            tokens[d:, N] = start
            for heads in layers:
                tokens = layer(tokens, heads)
            chosen = net[(net @ y).argmax()]
            expected = points[(points @ chosen).argmax()]
            agreed.append(np.abs(tokens[:d, N] / GAIN - expected).max() < 1e-4)
    assert np.mean(agreed) > 0.9  # scores that a finite c does not tell apart are rare
