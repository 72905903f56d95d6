"""Softmax and linear attention with explicit normalisation, and the paper's tensor form of both.

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685), equation (1), Definitions
3.2, 3.3, C.1 and C.4. With X = Q K^T, row j of the output is

    c_j = <u_j, 1>^{-1} u_j A_3 V,    u_j = exp((A_1)_j X A_2^T)  or  (A_1)_j X A_2^T.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError

Kind = Literal["softmax", "linear"]
KINDS: tuple[Kind, Kind] = ("softmax", "linear")

TENSOR_FORM_LIMIT = 2**24  # entries of A_1 (x) A_2; 128 MiB


def normalise(
    scores: Float[np.ndarray, "*batch k"],
    kind: Kind,
    counts: Float[np.ndarray, " k"] | None = None,
) -> Float[np.ndarray, "*batch k"]:
    """f = u / <u, 1> along the last axis, u = exp(scores) or scores.

    `counts` says that entry i stands for counts[i] equal entries; its weight is their sum. A
    linear normaliser may be negative, as the paper allows it to be, but not zero.
    """
    if arguments.one_of("kind", kind, KINDS) == "softmax":
        u = np.exp(scores - scores.max(axis=-1, keepdims=True))
    else:
        u = scores
    if counts is not None:
        u = u * counts
    total = u.sum(axis=-1, keepdims=True)
    if kind == "linear":
        cancelled = np.abs(total) <= 1e-14 * np.abs(u).sum(axis=-1, keepdims=True)
        if cancelled.any():
            row = int(np.flatnonzero(cancelled)[0])
            raise UserError(
                f"scores must not sum to zero in linear attention, got the sum "
                f"{float(total.flat[row])!r} in row {row}."
            )
    return u / total


def attention_output(
    queries: Float[np.ndarray, "rows d"],
    keys: Float[np.ndarray, "k d"],
    values: Float[np.ndarray, "k d"],
    X: Float[np.ndarray, "d d"],
    V: Float[np.ndarray, "d d"],
    kind: Kind = "softmax",
    counts: Float[np.ndarray, " k"] | None = None,
) -> Float[np.ndarray, "rows d"]:
    """c, one row a query; `counts` are the multiplicities of the keys where they are distinct."""
    return normalise(queries @ X @ keys.T, kind, counts) @ (values @ V)


def regression_weights(
    u: Float[np.ndarray, "*batch n"], kind: Kind
) -> Float[np.ndarray, "*batch n"]:
    """f_exp or f_lin of the softmax-regression model, from the logits u = A x."""
    return normalise(u, kind)


def tensor_form(
    A_1: Float[np.ndarray, "n d"], A_2: Float[np.ndarray, "n2 d"], X: Float[np.ndarray, "d d"]
) -> tuple[Float[np.ndarray, "n*n2 d*d"], Float[np.ndarray, " d*d"]]:
    """(A, x) = (A_1 (x) A_2, vec X), vec reading X row by row (Fact A.1).

    Block j, the rows j n2 to (j + 1) n2 of A, times x is row j of A_1 X A_2^T (Claims C.3, C.5).
    """
    entries = A_1.size * A_2.size
    if entries > TENSOR_FORM_LIMIT:
        raise UserError(
            f"A_1 and A_2 must give a tensor form of at most {TENSOR_FORM_LIMIT} entries, "
            f"got {entries}."
        )
    return np.kron(A_1, A_2), X.reshape(-1)


def tensor_attention_output(
    A_1: Float[np.ndarray, "n d"],
    A_2: Float[np.ndarray, "n2 d"],
    A_3: Float[np.ndarray, "n2 d"],
    X: Float[np.ndarray, "d d"],
    V: Float[np.ndarray, "d d"],
    kind: Kind = "softmax",
) -> Float[np.ndarray, "n d"]:
    """c, by the letter of Definitions C.1 and C.4: block by block of the tensor form."""
    A, x = tensor_form(A_1, A_2, X)
    blocks = A.reshape(len(A_1), len(A_2), -1)
    f = np.stack([normalise(block @ x, kind) for block in blocks])
    columns = (A_3 @ V).T
    return np.array([[f_j @ column for column in columns] for f_j in f])
