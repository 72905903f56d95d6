"""Softmax and linear attention with explicit normalisation.

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685), equation (1), Definitions
3.2 and 3.3. With X = Q K^T, row j of the output is

    c_j = <u_j, 1>^{-1} u_j A_3 V,    u_j = exp((A_1)_j X A_2^T)  or  (A_1)_j X A_2^T.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float

from attnlab import arguments
from attnlab.errors import UserError

Kind = Literal["softmax", "linear"]
KINDS: tuple[Kind, Kind] = ("softmax", "linear")


def normalise(
    scores: Float[np.ndarray, "*batch k"],
    kind: Kind,
    counts: Float[np.ndarray, " k"] | None = None,
) -> Float[np.ndarray, "*batch k"]:
    """f = u / <u, 1> along the last axis, u = exp(scores) or scores.

    `counts` says that entry i stands for counts[i] equal entries; its weight is their sum. The
    normaliser of linear attention may be negative, as the paper allows it to be, but not zero.
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
) -> Float[np.ndarray, "rows d"]:
    """The attention output c, one row per query.

    Parameters
    ----------
    queries, keys, values
        A_1, A_2 and A_3.
    X, V
        X = Q K^T and the value matrix.
    kind
        "softmax" or "linear".
    """
    return normalise(queries @ X @ keys.T, kind) @ (values @ V)
