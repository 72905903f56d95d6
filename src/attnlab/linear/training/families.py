"""The small families of linear transformers as least-squares problems: GD++ and DIAG.

Source: Vladymyrov et al. (arXiv 2402.14180). The residual is w^L - w_oracle. For DIAG, the normal
equations are summed in the four omegas of every layer and transformed to the parameters (heads or
free omegas) by the chain rule, so that all diagonal families share the compiled programs. GD++
computes w = f(Sigma) w*, and its loss is an integral over the eigenvalues of Sigma that needs no
sample.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.linear.kernels.diagonal_jacobian import jacobian_in_simd_layout
from attnlab.linear.kernels.simd_layout import (
    Matrices,
    Rows,
    from_simd_layout,
    half_squared_distance,
    patterns,
    run,
    to_simd_layout,
)
from attnlab.linear.models.weights import DiagonalWeights, DiagWeights, GDPlusPlus, Omegas
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.theory import laws
from attnlab.linear.training.fixed_sample import Sample
from attnlab.linear.training.levenberg_marquardt import NormalEquations, check_data

BLOCK = 256  # sequences at once, for which the tangents of one layer fit into a cache


class Block(NamedTuple):
    """Sequences on the device in SIMD layout; the last block is padded with weight 0."""

    G: Matrices
    oracle: Float[Array, "blocks d simd"]
    weight: Float[Array, "blocks simd"]


class DiagonalLeastSquares:
    """1/2 sum weight ||w^L - w_oracle||^2 over a sample, for diagonal networks.

    An omega that is `absent` (its name, such as "xy") keeps its value, which is 0 in a network
    without it.
    """

    def __init__(self, sample: Sample, absent: str | None = None) -> None:
        self.sample, self._absent = sample, absent
        self._blocks = _blocks(sample.G, sample.oracle, sample.weight)

    def losses(self, weights: DiagonalWeights) -> Float[np.ndarray, " N"]:
        """1/2 ||w^L - w_oracle||^2 of every sequence."""
        layers = patterns(_omegas(weights), self.sample.G.shape[1])
        parts = [
            half_squared_distance(run(layers, block.G)[1][0], block.oracle)
            for block in self._blocks
        ]
        return np.concatenate([from_simd_layout(part) for part in parts])[: len(self.sample.weight)]

    def objective(self, parameters: DiagWeights | Omegas) -> float:
        return float(self.sample.weight @ self.losses(parameters))

    def normal_equations(self, parameters: DiagWeights | Omegas) -> NormalEquations:
        layers = patterns(_omegas(parameters), self.sample.G.shape[1])
        sums = [
            _equations(*jacobian_in_simd_layout(layers, block.G), block) for block in self._blocks
        ]
        f, gradient, curvature = (sum(map(np.asarray, parts)) for parts in zip(*sums, strict=True))
        slopes = _slopes(parameters, self._absent)
        return NormalEquations(float(f), slopes.T @ gradient, slopes.T @ curvature @ slopes)


class SpectralLeastSquares:
    """GD++ on eigenvalues s of Sigma: 1/2 sum weight (f(s) - target)^2.

    The recursion is that of `spectral_form`, which is its test, written in g = 1 - f because the
    difference loses digits where f is near 1: g <- g (1 + omega_yx s m^2) and
    m <- (1 + omega_xx s m^2) m, from g = m = 1. It is in NumPy because the arrays are small.
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
        """The adjusted loss over the whole problem, without a sample, less the floor of GD++.

        Given an eigenvalue s, E (f w* - w_oracle)^2 is (1 + v/s) (f - s/(s + v))^2 plus a
        constant, with v = E sigma^2; the nodes and weights are those of the Wishart law. Each end
        of the spectrum that has fewer than `rarest` eigenvalues per sequence is left out.
        """
        laws.gd_plus_plus_floor(problem)  # refuses inputs whose variance is not 1
        s, r = laws.frequent_eigenvalues(problem.d, problem.n, rarest)
        v = problem.noise.second_moment()
        return SpectralLeastSquares(s, v / (s + v), r * (1 + v / s))

    def objective(self, parameters: GDPlusPlus) -> float:
        g = missing_share(parameters, self._s)
        with np.errstate(over="ignore", invalid="ignore"):
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


def missing_share(network: GDPlusPlus, s: Float[np.ndarray, "*k"]) -> Float[np.ndarray, "*k"]:
    """g = 1 - f: the share of w* that GD++ misses in the direction of an eigenvalue s of Sigma."""
    g, m = np.ones_like(s), np.ones_like(s)
    with np.errstate(over="ignore", invalid="ignore"):
        for xx, yx in _layers(network):
            k = s * m**2
            g, m = g * (1 + yx * k), m * (1 + xx * k)
    return g


def sequence_losses(
    weights: DiagonalWeights,
    G: Float[np.ndarray, "N p p"],
    oracle: Float[np.ndarray, "N d"],
) -> Float[np.ndarray, " N"]:
    """1/2 ||w^L - w_oracle||^2 of every sequence."""
    count, layers = check_data((G, oracle)), patterns(_omegas(weights), G.shape[1])
    rows = [run(layers, jnp.asarray(to_simd_layout(G[some])))[1][0] for some in _places(count)]
    w = -np.concatenate([from_simd_layout(row) for row in rows])[:count, :-1]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.square(w - oracle).sum(1) / 2


def _layers(parameters: GDPlusPlus):
    return zip(np.asarray(parameters.xx), np.asarray(parameters.yx), strict=True)


def _blocks(G: np.ndarray, oracle: np.ndarray, weight: np.ndarray) -> list[Block]:
    count = check_data((G, oracle, weight))
    padded = np.append(weight, np.zeros(-count % BLOCK)).reshape(-1, BLOCK)
    parts = [(G[some], oracle[some], own) for some, own in zip(_places(count), padded, strict=True)]
    return [Block(*(jnp.asarray(to_simd_layout(each)) for each in part)) for part in parts]


def _places(count: int) -> Int[np.ndarray, "blocks BLOCK"]:
    """The sequences of every block; copies of the first sequence complete the last block."""
    return np.append(np.arange(count), np.zeros(-count % BLOCK, int)).reshape(-1, BLOCK)


@jax.jit
def _equations(
    row: Rows, J: list[Float[Array, "blocks 4 d simd"]], block: Block
) -> tuple[Array, Array, Array]:
    root = jnp.sqrt(block.weight)[:, None]
    r = (-root * (row[:, :-1] + block.oracle)).reshape(-1)
    columns = root[:, None] * jnp.concatenate(J, axis=1)
    columns = jnp.swapaxes(columns, 0, 1).reshape(4 * len(J), -1)
    dot = partial(jnp.dot, precision="highest")
    return dot(r, r) / 2, dot(columns, r), dot(columns, columns.T)


def _omegas(weights: DiagonalWeights) -> Float[np.ndarray, "layers 4"]:
    """xx, xy, yx and yy of every layer, on the host."""
    match weights:
        case DiagWeights():
            p, q = _heads(weights)
            return np.einsum("alh,blh->lab", p, q).reshape(-1, 4)
        case Omegas():
            return np.stack([weights.xx, weights.xy, weights.yx, weights.yy], axis=1)
        case _:
            zero = np.zeros(len(weights.xx))
            return np.stack([weights.xx, zero, weights.yx, zero], axis=1)


def _slopes(
    parameters: DiagWeights | Omegas, absent: str | None = None
) -> Float[np.ndarray, "omegas parameters"]:
    """The derivatives of the omegas of all layers in the raveled parameters.

    They are 0 for an absent omega, so that no step of the search moves it.
    """
    one = np.eye(parameters.depth)
    if isinstance(parameters, Omegas):
        free = np.diag([float(name != absent) for name in vars(parameters)])
        return np.einsum("lm,ab->labm", one, free).reshape(4 * len(one), -1)
    p, q = _heads(parameters)
    by_p = np.einsum("lm,ac,blh->labcmh", one, np.eye(2), q)
    by_q = np.einsum("lm,bc,alh->labcmh", one, np.eye(2), p)
    flat = [by.reshape(4 * len(one), -1) for by in (by_p, by_q)]
    return np.concatenate(flat, axis=1)


def _heads(weights: DiagWeights) -> tuple[np.ndarray, np.ndarray]:
    """(p_x, p_y) and (q_x, q_y)."""
    return np.stack([weights.p_x, weights.p_y]), np.stack([weights.q_x, weights.q_y])
