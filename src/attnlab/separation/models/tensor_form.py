"""The paper's tensor form of attention: scores as a product with A_1 (x) A_2.

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685), Fact A.1, Definitions C.1 and
C.4, Claims C.3 and C.5. It serves the claim that both forms agree; nothing else computes with it.
"""

import numpy as np
from jaxtyping import Float

from attnlab.errors import UserError
from attnlab.separation.models.attention import Kind, normalise

LARGEST = 2**24  # entries of A_1 (x) A_2; 128 MiB


def tensor_form(
    A_1: Float[np.ndarray, "n d"], A_2: Float[np.ndarray, "n2 d"], X: Float[np.ndarray, "d d"]
) -> tuple[Float[np.ndarray, "n*n2 d*d"], Float[np.ndarray, " d*d"]]:
    """(A, x) = (A_1 (x) A_2, vec X), vec reading X row by row (Fact A.1).

    Block j, the rows j n2 to (j + 1) n2 of A, times x is row j of A_1 X A_2^T (Claims C.3, C.5).
    """
    require_small(A_1.size * A_2.size)
    return np.kron(A_1, A_2), X.reshape(-1)


def require_small(entries: int) -> None:
    """Refuse a tensor form of too many entries."""
    if entries > LARGEST:
        raise UserError(
            f"A_1 and A_2 must give a tensor form of at most {LARGEST} entries, got {entries}."
        )


def tensor_scores(
    A_1: Float[np.ndarray, "n d"], A_2: Float[np.ndarray, "n2 d"], X: Float[np.ndarray, "d d"]
) -> Float[np.ndarray, "n n2"]:
    """Row j is A_j x, block j of A_1 (x) A_2 times vec X: u_lin of Definition C.1."""
    A, x = tensor_form(A_1, A_2, X)
    return np.stack([block @ x for block in A.reshape(len(A_1), len(A_2), -1)])


def tensor_attention_output(
    A_1: Float[np.ndarray, "n d"],
    A_2: Float[np.ndarray, "n2 d"],
    A_3: Float[np.ndarray, "n2 d"],
    X: Float[np.ndarray, "d d"],
    V: Float[np.ndarray, "d d"],
    kind: Kind = "softmax",
) -> Float[np.ndarray, "n d"]:
    """The attention output c as Definitions C.1 and C.4 have it, block by block.

    Parameters
    ----------
    A_1, A_2, A_3
        Queries, keys and values.
    X, V
        X = Q K^T and the value matrix.
    kind
        "softmax" or "linear".
    """
    f = normalise(tensor_scores(A_1, A_2, X), kind)
    columns = (A_3 @ V).T
    return np.array([[f_j @ column for column in columns] for f_j in f])
