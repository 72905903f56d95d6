"""The work of attention: softmax needs all n^2 scores, linear attention needs none of them.

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685), abstract and Section 1. With
u_j = (A_1)_j X A_2^T, the output of linear attention is a product of five matrices, and

    u A_3 V = A_1 (X (A_2^T A_3 V)),    <u_j, 1> = (A_1)_j X (A_2^T 1)

need O(n d^2) multiplications instead of O(n^2 d). The exponential of softmax stands between the
factors, so that its scores have to be computed one by one.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnlab.separation.models.attention import normalise


@dataclass(frozen=True)
class Work:
    """What matrix products cost; the n^2 exponentials of softmax come on top."""

    multiplications: int
    largest: int  # entries of the largest matrix on the way


def softmax_work(
    A_1: Float[np.ndarray, "n d"],
    A_2: Float[np.ndarray, "n2 d"],
    A_3: Float[np.ndarray, "n2 d"],
    X: Float[np.ndarray, "d d"],
    V: Float[np.ndarray, "d d"],
) -> tuple[Float[np.ndarray, "n d"], Work]:
    """The output of softmax attention by its scores, and what its products cost.

    Parameters
    ----------
    A_1, A_2, A_3
        Queries, keys and values.
    X, V
        X = Q K^T and the value matrix.
    """
    done: list[tuple[int, int]] = []
    scores = _product(done, _product(done, A_1, X), A_2.T)
    output = _product(done, normalise(scores, "softmax"), _product(done, A_3, V))
    return output, _work(done)


def linear_work(
    A_1: Float[np.ndarray, "n d"],
    A_2: Float[np.ndarray, "n2 d"],
    A_3: Float[np.ndarray, "n2 d"],
    X: Float[np.ndarray, "d d"],
    V: Float[np.ndarray, "d d"],
) -> tuple[Float[np.ndarray, "n d"], Work]:
    """The output of linear attention without its scores, and what its products cost.

    The parameters are those of `softmax_work`.
    """
    done: list[tuple[int, int]] = []
    values = np.column_stack([_product(done, A_3, V), np.ones(len(A_3))])
    summed = _product(done, X, _product(done, A_2.T, values))
    found = _product(done, A_1, summed)
    return found[:, :-1] / found[:, -1:], _work(done)


def _product(done: list[tuple[int, int]], left: np.ndarray, right: np.ndarray) -> np.ndarray:
    (rows, inner), columns = left.shape, right.shape[1]
    done.append((rows * inner * columns, rows * columns))
    return left @ right


def _work(done: list[tuple[int, int]]) -> Work:
    return Work(sum(count for count, _ in done), max(size for _, size in done))
