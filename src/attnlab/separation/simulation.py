"""Monte Carlo of Pr[E_success], called like the exact law in `separation.theory.success_law`.

Attention outputs have at most d - 1 distinct rows, so a trial multiplies only those by its signs.
The same indicators from all n rows, `success_indicators_full`, are the oracle they are tested with.
"""

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int8

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.separation.models.attention import Kind, regression_weights
from attnlab.separation.models.threshold_network import (
    NETWORKS,
    AttentionNetwork,
    RegressionNetwork,
    attention_features,
    exceeds,
)
from attnlab.separation.problem.attention import SpikedPair
from attnlab.separation.problem.regression import RegressionPair
from attnlab.separation.rademacher import generators, rademacher
from attnlab.stats.estimate import Estimate

BLOCK = 2**21  # numbers held at once, 16 MiB of float64


def success(
    problem: SpikedPair | RegressionPair,
    network: AttentionNetwork | RegressionNetwork,
    *,
    trials: int = 100,
    seed: int = 0,
    block: int = BLOCK,
) -> Estimate:
    """The frequency p of E_success in independent trials, fresh signs (and data) in each.

    The standard error is sqrt(p (1 - p) / trials), which is 0 when all trials agree; that is no
    certainty, and `attnlab.stats.binomial` has intervals that know it. `block` bounds the
    numbers held at once and changes nothing in the result.
    """
    trials = arguments.integer("trials", trials, 1)
    data_rng, sign_rng = generators(seed, 2)
    groups = 1 if network.shared_signs else len(NETWORKS)
    count = 0
    match problem, network:
        case SpikedPair(), AttentionNetwork():
            features = _features(problem, network, full=False)
            tau, m = problem.threshold(network.offset), network.width
            per_trial = m * (groups * problem.d + features[..., 0].size)
            for size in _sizes(trials, per_trial, block):
                signs = rademacher(sign_rng, _sign_shape(network, size, problem.d))
                count += int(_attention_indicators(features, signs, tau).sum())
        case RegressionPair(), RegressionNetwork():
            per_trial = (groups * network.width + 4) * problem.n
            for size in _sizes(trials, per_trial, block):
                data = problem.sample(data_rng, size)
                signs = rademacher(sign_rng, _sign_shape(network, size, problem.n))
                count += int(regression_indicators(data, network, signs).sum())
        case _:
            raise UserError(
                f"network must be an AttentionNetwork for attention pairs and a RegressionNetwork "
                f"for regression pairs, got {type(network).__name__} for {type(problem).__name__}."
            )
    p = count / trials
    return Estimate(p, math.sqrt(p * (1 - p) / trials), trials)


def success_indicators(
    problem: SpikedPair, network: AttentionNetwork, signs: Int8[np.ndarray, "trials *y"]
) -> Bool[np.ndarray, " trials"]:
    """E_success in each trial, from the distinct rows.

    `signs` has shape (trials, m, d), or (trials, 4, m, d) where the signs are not shared.
    """
    _require_shape(signs, network, problem.d)
    features = _features(problem, network, full=False)
    return _attention_indicators(features, signs, problem.threshold(network.offset))


def success_indicators_full(
    problem: SpikedPair, network: AttentionNetwork, signs: Int8[np.ndarray, "trials *y"]
) -> Bool[np.ndarray, " trials"]:
    """E_success in each trial, from all n rows of attention between the full matrices."""
    _require_shape(signs, network, problem.d)
    features = _features(problem, network, full=True)
    return _attention_indicators(features, signs, problem.threshold(network.offset))


def regression_indicators(
    data: tuple[Float[np.ndarray, "trials n"], Float[np.ndarray, "trials n"]],
    network: RegressionNetwork,
    signs: Int8[np.ndarray, "trials *y"],
) -> Bool[np.ndarray, " trials"]:
    """E_success in each trial of the regression model, for given logits (u0, u1) and signs.

    `signs` has shape (trials, m, n), or (trials, 4, m, n) where the signs are not shared.
    """
    _require_shape(signs, network, data[0].shape[1])
    f = np.stack([regression_weights(data[label], kind) for kind, label in NETWORKS], axis=1)
    y = signs.astype(np.float64)
    if signs.ndim == 3:
        top = (y @ f.swapaxes(1, 2)).max(axis=1)
    else:
        top = (y @ f[..., None])[..., 0].max(axis=2)
    return _succeeds(top, network.tau)


def sign_sums(
    problem: RegressionPair, label: int, kind: Kind, samples: int, seed: int = 0
) -> Float[np.ndarray, " samples"]:
    """Samples of <f, sigma> (Lemmas 4.1 and 4.2), fresh data and signs in each."""
    label, samples = arguments.label(label), arguments.integer("samples", samples, 1)
    data_rng, sign_rng = generators(seed, 2)
    parts = []
    for size in _sizes(samples, 4 * problem.n, BLOCK):
        f = regression_weights(problem.sample(data_rng, size)[label], kind)
        parts.append((f * rademacher(sign_rng, (size, problem.n))).sum(axis=1))
    return np.concatenate(parts)


def _features(
    problem: SpikedPair, network: AttentionNetwork, *, full: bool
) -> Float[np.ndarray, "4 r d"]:
    each = [
        attention_features(problem, network, label, kind, full=full) for kind, label in NETWORKS
    ]
    return np.stack([features.rows for features in each])


def _attention_indicators(
    features: Float[np.ndarray, "4 r d"], signs: Int8[np.ndarray, "trials *y"], tau: float
) -> Bool[np.ndarray, " trials"]:
    networks, r, d = features.shape
    trials, y = len(signs), signs.astype(np.float64)
    if signs.ndim == 3:
        # Rows before trials: the maxima then run along memory, which is most of the time.
        scores = features.reshape(-1, d) @ y.reshape(-1, d).T
        top = scores.reshape(networks, r, trials, -1).max(axis=1).max(axis=2).T
    else:
        top = (y @ features.swapaxes(1, 2)).max(axis=(2, 3))
    return _succeeds(top, tau)


def _succeeds(top: Float[np.ndarray, "trials 4"], tau: float) -> Bool[np.ndarray, " trials"]:
    """E_success from the largest score of each network."""
    fires = exceeds(top, tau)
    return fires[:, 0] & ~fires[:, 1:].any(axis=1)


def _sign_shape(
    network: AttentionNetwork | RegressionNetwork, trials: int, length: int
) -> tuple[int, ...]:
    groups = () if network.shared_signs else (len(NETWORKS),)
    return (trials, *groups, network.width, length)


def _require_shape(
    signs: Int8[np.ndarray, "..."], network: AttentionNetwork | RegressionNetwork, length: int
) -> None:
    expected = _sign_shape(network, len(signs), length)
    if signs.shape != expected:
        wanted = ", ".join(map(str, expected[1:]))
        raise UserError(f"signs must have shape (trials, {wanted}), got {signs.shape}.")


def _sizes(trials: int, per_trial: int, block: int) -> Iterator[int]:
    """Block sizes that add up to `trials`, each holding about `block` numbers or one trial."""
    size = max(arguments.integer("block", block, 1) // per_trial, 1)
    for start in range(0, trials, size):
        yield min(size, trials - start)
