"""The standard error of a GD++ loss without noise, from the exact law of the eigenvalues.

Without noise w = (1 - g(Sigma)) w* (Vladymyrov et al., arXiv 2402.14180, GD++), and the loss of a
sequence is 1/2 sum_i g(s_i)^2 w_i^2. For four layers and more it is dominated by eigenvalues so
rare that a sample contains one of them or none. A sample without them underestimates its own
standard error: at five layers the means of samples of 65,536 sequences vary eight times as much as
the standard error of each sample suggests.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from attnlab.linear.models.transformer import spectral_form
from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.theory.laws import frequent_eigenvalues

SELDOM = 0.1  # fraction of evaluations that contain an eigenvalue at least as far out


def standard_errors(
    network: GDPlusPlus, problem: NoisyRegression, count: int
) -> Float[np.ndarray, " reads"]:
    """Lower bounds for the mean over `count` sequences, read after K = 0, 1, ..., L layers.

    E loss^2 = 1/4 (3 sum_i E g_i^4 + sum_{i != j} E g_i^2 g_j^2). The second sum is left out; it is
    small where rare eigenvalues dominate. Eigenvalues that fewer than `SELDOM` of the evaluations
    contain are left out too, at both ends of the spectrum, because the variance would otherwise be
    that of events that do not occur.
    """
    s, r = frequent_eigenvalues(problem.d, problem.n, SELDOM / count)
    g = 1 - np.asarray(spectral_form(network, jnp.asarray(s)).f)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = 0.75 * g**4 @ r - (g**2 @ r / 2) ** 2
    return np.sqrt(np.where(np.isfinite(variance), np.maximum(variance, 0), 0) / count)
