"""The numbers of which the matrices of an AXIS network are made, and the matrices from them.

A matrix of AXIS is a block on (x_1, .., x_k, y) and one number on the other inputs
(`attnlab.linear.models.axis`): (k + 1)^2 + 1 numbers in place of (d + 1)^2. The file that ships
holds these; both directions keep every bit, also the sign of a zero, so that digests stay.
"""

import numpy as np
from jaxtyping import Float

DIRECTIONS = (1, 2)  # numbers k of directions that are looked for


def numbers_of(
    matrices: Float[np.ndarray, "layers 1 p p"],
) -> Float[np.ndarray, "layers ..."]:
    """The blocks, row by row, and the number on the rest; other matrices as they are."""
    layers, _, side, _ = matrices.shape
    for k in DIRECTIONS:
        if side <= k + 1:
            break
        ends = _ends(k, side)
        blocks = matrices[:, 0][:, ends[:, None], ends].reshape(layers, -1)
        found = np.concatenate([blocks, matrices[:, 0, k, k][:, None]], 1)
        if matrices_of(found, side).tobytes() == matrices.tobytes():
            return found
    return matrices


def matrices_of(
    numbers: Float[np.ndarray, "layers ..."], side: int
) -> Float[np.ndarray, "layers 1 p p"]:
    """The matrices with `side` rows; the inverse of `numbers_of`."""
    if numbers.ndim != 2:
        return numbers
    layers, rest = len(numbers), numbers[:, -1]
    k = round((numbers.shape[1] - 1) ** 0.5) - 1
    ends = _ends(k, side)
    found = np.zeros((layers, side, side), numbers.dtype)
    # A zero has the sign of the number on the rest.
    found[:, k : side - 1] = rest[:, None, None] * np.eye(side, dtype=numbers.dtype)[k : side - 1]
    found[:, ends[:, None], ends] = numbers[:, :-1].reshape(layers, k + 1, k + 1)
    return found[:, None]


def _ends(k: int, side: int) -> np.ndarray:
    return np.array([*range(k), side - 1])
