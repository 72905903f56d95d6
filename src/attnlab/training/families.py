"""The small families of linear transformers as least-squares problems: GD++ and DIAG.

Source: Vladymyrov et al. (arXiv 2402.14180). The residual is w^L - w_oracle. For DIAG, the normal
equations are summed in the four omegas of every layer and carried over to the parameters (one head
or free omegas) by the chain rule, so all diagonal families share the compiled programs. GD++ is
w = f(Sigma) w*: its loss is an integral over the eigenvalues of Sigma, known without a sample.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from attnlab.models.linear_transformer import final_weights
from attnlab.models.linear_weights import DiagWeights, GDPlusPlus, Omegas, Weights
from attnlab.problems.noisy_regression import NoisyRegression
from attnlab.theory import linear_laws
from attnlab.training.diagonal_jacobian import diagonal_jacobian
from attnlab.training.fixed_sample import Sample
from attnlab.training.levenberg_marquardt import NormalEquations, check_data

BLOCK = 256  # sequences at once: the tangents of seven layers fill a cache


class Block(NamedTuple):
    """Sequences on the device; the last block is filled up at weight 0."""

    G: Float[Array, "block p p"]
    oracle: Float[Array, "block d"]
    weight: Float[Array, " block"]


class DiagonalLeastSquares:
    """1/2 sum weight ||w^L - w_oracle||^2 over a sample, for the diagonal families."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._blocks = _blocks(sample.G, sample.oracle, sample.weight)

    def losses(self, weights: Weights) -> Float[np.ndarray, " N"]:
        """1/2 ||w^L - w_oracle||^2 of every sequence."""
        parts = [_losses(weights, block) for block in self._blocks]
        return np.concatenate(parts)[: len(self.sample.weight)]

    def objective(self, parameters: DiagWeights | Omegas) -> float:
        return float(self.sample.weight @ self.losses(parameters))

    def normal_equations(self, parameters: DiagWeights | Omegas) -> NormalEquations:
        omegas, by_parameters = _omegas(parameters)
        slopes = np.asarray(by_parameters)
        sums = [_equations(*diagonal_jacobian(omegas, block.G), block) for block in self._blocks]
        f, gradient, curvature = (sum(map(np.asarray, parts)) for parts in zip(*sums, strict=True))
        return NormalEquations(float(f), slopes.T @ gradient, slopes.T @ curvature @ slopes)


class SpectralLeastSquares:
    """GD++ on eigenvalues s of Sigma: 1/2 sum weight (f(s) - target)^2.

    In g = 1 - f, which loses no digits where f is near 1: g <- g (1 + omega_yx s m^2) and
    m <- (1 + omega_xx s m^2) m, from g = m = 1.
    """

    def __init__(
        self,
        s: Float[np.ndarray, " N"],
        missing: Float[np.ndarray, " N"],
        weight: Float[np.ndarray, " N"],
    ) -> None:
        """`missing` is 1 - target."""
        check_data((s, missing, weight))
        self._s, self._missing, self._root = s, missing, np.sqrt(weight)

    @staticmethod
    def exact(problem: NoisyRegression, rarest: float = 0.0) -> "SpectralLeastSquares":
        """The problem itself, no sample: its adjusted loss less the floor of GD++.

        Given an eigenvalue s, E (f w* - w_oracle)^2 is (1 + v/s) (f - s/(s + v))^2 and a constant,
        v = E sigma^2; the nodes and weights are those of the Wishart law. The ends of the spectrum
        beyond which there are fewer than `rarest` eigenvalues a sequence are left out.
        """
        linear_laws.gd_plus_plus_floor(problem)  # refuses inputs that are not of unit variance
        s, r = linear_laws.wishart_eigenvalues(problem.d, problem.n)
        v = problem.noise.second_moment()
        below = np.cumsum(np.where(s > 0, r, 0))
        seen = (s > 0) & (r > 0) & (below >= rarest) & (below[-1] - below >= rarest)
        s, r = s[seen], r[seen]
        return SpectralLeastSquares(s, v / (s + v), r * (1 + v / s))

    def objective(self, parameters: GDPlusPlus) -> float:
        g, m = np.ones_like(self._s), np.ones_like(self._s)
        with np.errstate(over="ignore", invalid="ignore"):
            for xx, yx in _layers(parameters):
                k = self._s * m**2
                g, m = g * (1 + yx * k), m * (1 + xx * k)
            r = self._root * (g - self._missing)
            return float(r @ r) / 2

    def normal_equations(self, parameters: GDPlusPlus) -> NormalEquations:
        s, L = self._s, len(parameters.xx)
        g, m = np.ones_like(s), np.ones_like(s)
        dg, dm = np.zeros((2, L, len(s))), np.zeros((2, L, len(s)))  # in xx, then in yx
        with np.errstate(over="ignore", invalid="ignore"):
            for layer, (xx, yx) in enumerate(_layers(parameters)):
                k = s * m**2
                dg = dg * (1 + yx * k) + 2 * yx * g * s * m * dm
                dm = dm * (1 + 3 * xx * k)
                dg[1, layer], dm[0, layer] = g * k, m * k
                g, m = g * (1 + yx * k), m * (1 + xx * k)
            r = self._root * (g - self._missing)
            J = (self._root * dg).reshape(2 * L, -1)
            return NormalEquations(float(r @ r) / 2, J @ r, J @ J.T)


def sequence_losses(
    weights: Weights, G: Float[np.ndarray, "N p p"], oracle: Float[np.ndarray, "N d"]
) -> Float[np.ndarray, " N"]:
    """1/2 ||w^L - w_oracle||^2 of every sequence, for any weights."""
    return DiagonalLeastSquares(Sample(G, oracle, np.full(len(G), 1 / len(G)), len(G))).losses(
        weights
    )


def _layers(parameters: GDPlusPlus):
    return zip(np.asarray(parameters.xx), np.asarray(parameters.yx), strict=True)


def _blocks(G: np.ndarray, oracle: np.ndarray, weight: np.ndarray) -> list[Block]:
    count = check_data((G, oracle, weight))
    places = np.concatenate([np.arange(count), np.zeros(-count % BLOCK, int)])
    padded = np.append(weight, np.zeros(-count % BLOCK))
    parts = [
        (G[some], oracle[some], padded[start : start + BLOCK])
        for start in range(0, len(places), BLOCK)
        for some in [places[start : start + BLOCK]]
    ]
    return [Block(*map(jnp.asarray, part)) for part in parts]


@jax.jit
def _losses(weights: Weights, block: Block) -> Float[Array, " block"]:
    w = jax.vmap(partial(final_weights, weights))(block.G)
    return jnp.square(w - block.oracle).sum(1) / 2


@jax.jit
def _equations(
    w: Float[Array, "block d"], J: Float[Array, "block p d"], block: Block
) -> tuple[Array, Array, Array]:
    root = jnp.sqrt(block.weight)
    r = (root[:, None] * (w - block.oracle)).reshape(-1)
    columns = jnp.swapaxes(root[:, None, None] * J, 0, 1).reshape(J.shape[1], -1)
    dot = partial(jnp.dot, precision="highest")
    return dot(r, r) / 2, dot(columns, r), dot(columns, columns.T)


@jax.jit
def _omegas(parameters: DiagWeights | Omegas) -> tuple[Array, Array]:
    """The omegas, layer by layer, and their derivatives in the raveled parameters."""
    theta, unravel = ravel_pytree(parameters)

    def flat(theta: Array) -> Array:
        return unravel(theta).omegas().matrix().reshape(-1)

    return flat(theta).reshape(-1, 4), jax.jacfwd(flat)(theta)
