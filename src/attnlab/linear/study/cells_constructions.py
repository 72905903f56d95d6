"""The cells of Section 5 and Appendix A: networks built by hand against what they should compute.

Source: Vladymyrov et al. (arXiv 2402.14180). The networks are in
`attnlab.linear.theory.constructions`; where the printed formula and the algebra differ, both are
measured. All in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, stream
from attnlab.linear.models.transformer import final_weights, spectral_form
from attnlab.linear.noise import Fixed
from attnlab.linear.problem import NoisyRegression, context_with_spectrum, gram, sums
from attnlab.linear.study.cells_state import relative
from attnlab.linear.theory import convergence
from attnlab.linear.theory.constructions import (
    least_squares_network,
    printed_step_adaptation_weights,
    step_adaptation_network,
    step_adaptation_weights,
    two_level_network,
    two_level_shrinkage,
)
from attnlab.linear.training.fixed_sample import draw


@dataclass(frozen=True)
class LeastSquares:
    """The network of Theorem 5.1 on a context with a given condition number."""

    kappa: float = 1e3
    """Largest over smallest eigenvalue of Sigma."""
    precision: float = 1e-3
    """Relative error that it should reach."""
    d: int = 6
    """Dimension of an input."""
    n: int = 12
    """Tokens in the context."""
    seed: int = 0
    """Seed of the context."""


@dataclass(frozen=True)
class LeastSquaresFound:
    layers: int  # that the recursion of Lemma A.3 asks for
    error: float  # largest |1 - f| over the eigenvalues, in the eigenbasis
    error_before: float | None  # with one layer less
    network_error: float  # |w^L - w*| / |w*| of the network on the Gram matrix


def run_least_squares(config: LeastSquares) -> LeastSquaresFound:
    kappa = arguments.positive("kappa", config.kappa)
    layers = convergence.layers_needed(kappa, config.precision)
    with jax.enable_x64(True):
        s = jnp.geomspace(1.0, kappa, arguments.integer("d", config.d, 2))
        for_X, for_y = jax.random.split(jax.random.key(stream(config) >> 8))
        X = context_with_spectrum(for_X, s, config.n)
        y = jax.random.normal(for_y, (config.n,))
        wanted = np.linalg.lstsq(np.asarray(X), np.asarray(y), rcond=None)[0]

        def worst(layers: int) -> float:
            network = least_squares_network(1.0, kappa, layers)
            return float(jnp.abs(1 - spectral_form(network, s).f[-1]).max())

        network = least_squares_network(1.0, kappa, layers)
        found = np.asarray(final_weights(network, gram(X, y)))
        return LeastSquaresFound(
            layers=layers,
            error=worst(layers),
            error_before=worst(layers - 1) if layers > 1 else None,
            network_error=float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted)),
        )


@dataclass(frozen=True)
class Rates:
    """The scalar recursion of Lemmas A.2 and A.3, and the slopes of Theorem 5.1."""

    points: int = 400
    """Condition numbers on either side of 1.1."""


@dataclass(frozen=True)
class RatesFound:
    contraction_close: float  # at kappa = 1.1
    contraction_largest: float  # from 1.1 to 1e8
    contraction_far: float  # at 1e8
    excess_largest: float  # of (kappa' - 1) / (kappa - 1)^2 up to 1.1
    excess_limit: float  # next to kappa = 1
    step_error: float  # largest deviation of Lemma A.2's step from (kappa - 1) / (kappa + 1)
    step_beyond: float  # largest error of that step over kappa - 1
    log_slope: float
    log_log_slope: float


def run_rates(config: Rates) -> RatesFound:
    points = arguments.integer("points", config.points, 2)
    far = np.geomspace(1.1, 1e8, points)
    near = 1 + np.geomspace(1e-8, 0.1, points)
    step = []
    for kappa in near:
        s = np.linspace(1.0, kappa, 50)
        step.append(float(np.abs(1 - 2 / (1 + kappa) * s).max()))
    wanted = [convergence.one_step_error(kappa) for kappa in near]
    return RatesFound(
        contraction_close=convergence.contraction(1.1),
        contraction_largest=max(convergence.contraction(kappa) for kappa in far),
        contraction_far=convergence.contraction(1e8),
        excess_largest=max(convergence.excess_constant(kappa) for kappa in near),
        excess_limit=convergence.excess_constant(1 + 1e-8),
        step_error=max(abs(a - b) for a, b in zip(step, wanted, strict=True)),
        step_beyond=max(a / (kappa - 1) for a, kappa in zip(step, near, strict=True)),
        log_slope=convergence.log_slope(),
        log_log_slope=convergence.log_log_slope(10.0),
    )


@dataclass(frozen=True)
class Rescaling:
    """The two-layer network of Theorem 5.2 at one noise level and context length."""

    sigma_1: float = 0.5
    """One of the two levels it is built for."""
    sigma_2: float = 1.5
    """The other."""
    sigma: float = 0.5
    """The level of the contexts."""
    n: int = 1000
    """Tokens in the context; inputs have variance 1/n."""
    d: int = 5
    """Dimension of an input."""
    contexts: int = 400
    """Contexts."""
    seed: int = 0
    """Seed of the contexts."""


@dataclass(frozen=True)
class RescalingFound:
    distance: float  # mean of |w - w_ridge| / |w_ridge|
    distance_error: float
    limit: float  # as n grows


def run_rescaling(config: Rescaling) -> RescalingFound:
    contexts = arguments.integer("contexts", config.contexts, 2)
    with jax.enable_x64(True):
        problem = NoisyRegression(config.d, config.n, Fixed(config.sigma), 1 / config.n)
        network = two_level_network(config.sigma_1, config.sigma_2, config.n)
        sample = draw(problem, jax.random.key(stream(config) >> 8), contexts)
        found = np.asarray(_final(network, sample.G))
    ridge = sample.oracle
    apart = np.linalg.norm(found - ridge, axis=1) / np.linalg.norm(ridge, axis=1)
    shrinkage = two_level_shrinkage(config.sigma_1, config.sigma_2, config.sigma)
    return RescalingFound(
        distance=float(apart.mean()),
        distance_error=float(apart.std(ddof=1)) / math.sqrt(contexts),
        limit=abs(shrinkage * (1 + config.sigma**2) - 1),
    )


@dataclass(frozen=True)
class StepSize:
    """Section 5.3: omega_xy in layer 1 and omega_yx in layer 2, against both formulas."""

    omega_xy: float = -1e-3
    """Of the first layer."""
    omega_yx: float = -0.05
    """Of the second layer."""
    sigma: float = 1.0
    """Noise level."""
    d: int = 5
    """Dimension of an input."""
    n: int = 20
    """Tokens in the context."""
    contexts: int = 20
    """Contexts."""
    seed: int = 0
    """Seed of the contexts, the same for every omega and sigma."""


@dataclass(frozen=True)
class StepSizeFound:
    corrected: float  # largest relative error of the formula with lambda
    printed: float  # mean relative error of the formula with rho, over |omega_yx alpha|
    shrinkage: float  # mean of 1 + omega_xy lambda


def run_step_size(config: StepSize) -> StepSizeFound:
    contexts = arguments.integer("contexts", config.contexts, 1)
    with jax.enable_x64(True):
        problem = NoisyRegression(config.d, config.n, Fixed(config.sigma))
        network = step_adaptation_network(config.omega_xy, config.omega_yx)
        omegas = config.omega_xy, config.omega_yx
        seed = stream(("step size", config.d, config.n, config.contexts, config.seed)) >> 8
        corrected, printed, shrinkage = [], [], []
        for key in jax.random.split(jax.random.key(seed), contexts):
            prompt = problem.sample(key)
            G = gram(prompt.X, prompt.y)
            w = final_weights(network, G)
            size = float(jnp.linalg.norm(config.omega_yx * sums(G)[1]))
            corrected.append(relative(w, step_adaptation_weights(*omegas, G)))
            off = jnp.linalg.norm(w - printed_step_adaptation_weights(*omegas, G))
            printed.append(float(off) / size)
            shrinkage.append(1 + config.omega_xy * float(G[-1, -1]))
    return StepSizeFound(max(corrected), float(np.mean(printed)), float(np.mean(shrinkage)))


@jax.jit
def _final(network, G):
    return jax.vmap(partial(final_weights, network))(G)


least_squares = CellKind("linear_least_squares", LeastSquares, LeastSquaresFound, run_least_squares)
rates = CellKind("linear_rates", Rates, RatesFound, run_rates)
rescaling = CellKind("linear_rescaling", Rescaling, RescalingFound, run_rescaling, version=2)
step_size = CellKind("linear_step_size", StepSize, StepSizeFound, run_step_size)

KINDS = (least_squares, rates, rescaling, step_size)
