"""A diagonal linear transformer on the Gram matrices of many problems, in NumPy.

It is the recursion of `attnlab.linear.models.transformer.gram_form`, which is its test, for free
omegas: a layer has S = pattern * G, elementwise, and takes G to (I + S) G (I + S)^T. Of the product
R of the layers only M and the answer w = -(last row) are computed. It stays because the regressor
must work without JAX.
"""

import numpy as np
from jaxtyping import Float


def answers(
    omegas: Float[np.ndarray, "layers 4"], G: Float[np.ndarray, "problems p p"]
) -> Float[np.ndarray, "stages problems d"]:
    """w^l for every layer l = 0, 1, ..., L; w^0 = 0.

    With [[A, b], [c^T, e]] = S: M <- (I + A) M - b w^T and w <- (1 + e) w - M^T c (Lemma 4.3 with
    its sign corrected). Numbers that overflow become infinite or NaN without a warning.
    """
    problems, d = len(G), G.shape[-1] - 1
    M = np.broadcast_to(np.eye(d), (problems, d, d))
    stages = [np.zeros((problems, d))]
    with np.errstate(over="ignore", invalid="ignore"):
        for layer, (xx, xy, yx, yy) in enumerate(omegas):
            pattern = np.full((d + 1, d + 1), xx)
            pattern[:d, d], pattern[d, :d], pattern[d, d] = xy, yx, yy
            S = pattern * G
            w, b, c = stages[-1], S[:, :d, d], S[:, d, :d]
            stages.append((1 + S[:, d, d:]) * w - (c[:, None] @ M)[:, 0])
            if layer < len(omegas) - 1:
                M = M + S[:, :d, :d] @ M - b[:, :, None] * w[:, None]
                half = G + S @ G
                G = half + half @ S.swapaxes(1, 2)
    return np.stack(stages)
