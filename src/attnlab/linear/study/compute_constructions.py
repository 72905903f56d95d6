"""The computation of the cells of Section 5 and Appendix A (`questions_constructions`)."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from attnlab.lab.cell import seed_of
from attnlab.linear.models.transformer import final_weights, spectral_form
from attnlab.linear.models.weights import GDPlusPlus
from attnlab.linear.noise import Fixed
from attnlab.linear.problem import NoisyRegression, context_with_spectrum, sums
from attnlab.linear.study.compute_state import relative
from attnlab.linear.study.questions_constructions import (
    LeastSquaresFound,
    LeastSquaresNetwork,
    Rates,
    RatesFound,
    Rescaling,
    RescalingFound,
    StepSize,
    StepSizeFound,
)
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
from attnlab.stats import Estimate

UNIT_EXCESS = (1e-3, 0.1, 1.0, 10.0)  # of the largest eigenvalue over 1, in Lemma A.2
PADDED = 32  # the depth of a padded network is a multiple of this


def least_squares(config: LeastSquaresNetwork) -> LeastSquaresFound:
    """Run the network of Theorem 5.1 with as many layers as the recursion needs."""
    kappa = config.kappa
    layers = convergence.layers_needed(kappa, config.precision)
    s = np.geomspace(1.0, kappa, config.d)
    with jax.enable_x64(True):
        for_X, for_y = jax.random.split(jax.random.key(seed_of(config)))
        X = np.asarray(context_with_spectrum(for_X, jnp.asarray(s), config.n))
        y = np.asarray(jax.random.normal(for_y, (config.n,)))
        wanted = np.linalg.lstsq(X, y, rcond=None)[0]

        def worst(layers: int) -> float:
            network = _padded(least_squares_network(1.0, kappa, layers))
            return float(np.abs(1 - np.asarray(spectral_form(network, jnp.asarray(s)).f[-1])).max())

        network, context = _padded(least_squares_network(1.0, kappa, layers)), _context(X, y)
        found = np.asarray(final_weights(network, context))
        return LeastSquaresFound(
            layers=layers,
            error=worst(layers),
            error_before=worst(layers - 1) if layers > 1 else None,
            network_error=float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted)),
        )


def _padded(network: GDPlusPlus) -> GDPlusPlus:
    """The network with layers of zeros, which do nothing, so that one program serves all depths."""
    more = -network.depth % PADDED
    return GDPlusPlus(*(np.append(part, np.zeros(more)) for part in (network.xx, network.yx)))


def _context(X: np.ndarray, y: np.ndarray) -> jax.Array:
    E = np.column_stack([X, y])
    return jnp.asarray(E.T @ E)


def rates(config: Rates) -> RatesFound:
    """Evaluate the scalar recursion on a grid of condition numbers."""
    far = np.geomspace(1.1, 1e8, config.points)
    near = 1 + np.geomspace(1e-8, 0.1, config.points)
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
        unit_step=max(_unit_step(eps, seed) for eps in UNIT_EXCESS for seed in range(5)),
        log_slope=convergence.log_slope(),
        log_log_slope=convergence.log_log_slope(10.0),
    )


def _unit_step(eps: float, seed: int, d: int = 6, n: int = 12) -> float:
    """|sum y_i x_i - w*| over eps |w*| (Lemma A.2), with eigenvalues of Sigma from 1 to 1 + eps."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((n, d)))[0]
    right = np.linalg.qr(rng.standard_normal((d, d)))[0]
    X = left * np.sqrt(np.linspace(1.0, 1 + eps, d)) @ right
    # Labels along the largest eigenvalue are the worst case.
    y = X @ right[-1] if seed == 0 else rng.standard_normal(n)
    wanted = np.linalg.lstsq(X, y, rcond=None)[0]
    return float(np.linalg.norm(X.T @ y - wanted) / (eps * np.linalg.norm(wanted)))


def rescaling(config: Rescaling) -> RescalingFound:
    """Measure the distance of the network of Theorem 5.2 to ridge."""
    with jax.enable_x64(True):
        problem = NoisyRegression(config.d, config.n, Fixed(config.sigma), 1 / config.n)
        network = two_level_network(config.sigma_1, config.sigma_2, config.n)
        sample = draw(problem, jax.random.key(seed_of(config)), config.contexts)
        found = np.asarray(_final(network, sample.G))
    ridge = sample.oracle
    distances = np.linalg.norm(found - ridge, axis=1) / np.linalg.norm(ridge, axis=1)
    distance = Estimate.of(distances)
    shrinkage = two_level_shrinkage(config.sigma_1, config.sigma_2, config.sigma)
    return RescalingFound(
        distance=distance.value,
        distance_error=distance.standard_error,
        limit=abs(shrinkage * (1 + config.sigma**2) - 1),
    )


def step_size(config: StepSize) -> StepSizeFound:
    """Compare the network of Section 5.3 with both formulas for its answer."""
    rng = np.random.default_rng(seed_of(config, without=("omega_xy", "omega_yx", "sigma")))
    network = step_adaptation_network(config.omega_xy, config.omega_yx)
    corrected, printed, shrinkage = [], [], []
    with jax.enable_x64(True):
        for _ in range(config.contexts):
            X, w = rng.standard_normal((config.n, config.d)), rng.standard_normal(config.d)
            G = _context(X, X @ w + config.sigma * rng.standard_normal(config.n))
            found = final_weights(network, G)
            exact = step_adaptation_weights(config.omega_xy, config.omega_yx, G)
            text = printed_step_adaptation_weights(config.omega_xy, config.omega_yx, G)
            size = np.linalg.norm(config.omega_yx * np.asarray(sums(G).alpha))
            corrected.append(relative(found, exact))
            printed.append(float(np.linalg.norm(found - text) / size))
            shrinkage.append(1 + config.omega_xy * float(G[-1, -1]))
    return StepSizeFound(max(corrected), float(np.mean(printed)), float(np.mean(shrinkage)))


@jax.jit
def _final(network, G):
    return jax.vmap(partial(final_weights, network))(G)
