"""What the limit laws say by themselves, at the paper's setting: tables, limits and minima.

The setting is a ReLU target, alpha = 1, kappa = 1/2 and tau = 1.5 unless stated otherwise.
References are limits of the same formulas computed in another way, or values of another law. No
simulation is involved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from attnlab.random.study.panels import LENGTHS, TAUS
from attnlab.random.theory import linear_attention_law as linear
from attnlab.random.theory.linear_attention_law import LINEAR, Setting, target_constants
from attnlab.random.theory.transformer_law import (
    RandomFeaturesLaw,
    best_delta,
    feature_constants,
    peak_constant,
)

TAU, KAPPA = 1.5, 0.5
WIDE = 1e9  # psi where infinity is meant
LONG = (0.1, *LENGTHS, 16.0, 32.0, 100.0)
NARROW = (0.001, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
DELTAS = (1e-4, 1e-6, 1e-8)


@dataclass(frozen=True)
class Number:
    """One number of a table: its model, the place `at` on the table's axis, value and reference."""

    table: str
    model: str
    at: float
    value: float
    reference: float | None


def numbers(noise: float) -> list[Number]:
    """Every table, one after the other."""
    setting = Setting(1.0, KAPPA, noise, target_constants("relu"))
    return [
        *_published(noise),
        *_implicit(setting),
        *_lengths(noise),
        *_widths(setting),
        *_samples(noise),
        *_peaks(setting),
        *_best(setting),
        *_against_linear(noise),
    ]


def _features(setting: Setting, model: str, tau: float, psi: float, delta: float = 0.0):
    return RandomFeaturesLaw(setting, feature_constants(model), tau, psi, delta)


def with_ridge(target: str, model: str, tau: float, ridge: float, d: int, noise: float) -> float:
    """The in-context error of a model of Figure 1, with m = d^2, at a ridge that is not small.

    Parameters
    ----------
    target, model
        The link function, and "linear" or the activation of a transformer.
    tau
        n/d^2.
    ridge, d
        lambda, and the dimension: it acts on the transformers through lambda/d.
    noise
        Variance of the label noise, rho.
    """
    setting = Setting(1.0, KAPPA, noise, target_constants(target))
    if model == "linear":
        return linear.errors(setting, tau, ridge).icl
    return _features(setting, model, tau, 1 / tau, ridge / d).errors().icl


def _published(noise: float) -> Iterator[Number]:
    """Linear targets: Lu et al.'s law by its own formula, and as random features without c*."""
    setting = Setting(1.0, KAPPA, noise, LINEAR)
    bare = feature_constants("linear")._replace(cs=0.0)
    for tau in (TAU, 3.0):
        own = linear.errors(setting, tau, 0.0)
        other = RandomFeaturesLaw(setting, bare, tau, 2.0).errors()
        yield Number("reduces to Lu", "icl", tau, other.icl, own.icl)
        yield Number("reduces to Lu", "idg", tau, other.idg, own.idg)


def _implicit(setting: Setting) -> Iterator[Number]:
    for model in ("relu", "tanh"):
        law = _features(setting, model, TAU, WIDE)
        lam = law.effective_ridge
        same = linear.errors(setting, TAU, lam, intercept=model == "relu")
        yield Number("implicit ridge", model, lam, law.errors().icl, same.icl)


def _lengths(noise: float) -> Iterator[Number]:
    """Error against l/d at n = 1.5 d^2; the transformers have m = d^2."""
    for alpha in LONG:
        setting = Setting(alpha, KAPPA, noise, target_constants("relu"))
        for model in ("relu", "tanh"):
            error = _features(setting, model, TAU, 1 / TAU).errors().icl
            yield Number("length", model, alpha, error, None)
        for model, intercept in (("linear", False), ("linear+intercept", True)):
            error = linear.errors(setting, TAU, 0.0, intercept).icl
            yield Number("length", model, alpha, error, None)


def _widths(setting: Setting) -> Iterator[Number]:
    constant = linear.constant_error(setting)
    for psi in (*NARROW, 1.1, 1.5, 2.0, 3.0, 10.0, 100.0, WIDE):
        for model in ("relu", "tanh"):
            error = _features(setting, model, TAU, psi).errors().icl
            yield Number("width", model, psi, error, constant)


def _samples(noise: float) -> Iterator[Number]:
    """Error against n/d^2 with m = d^2, as in Figure 1; tau = 1 has no finite limit."""
    for target in ("relu", "tanh"):
        setting = Setting(1.0, KAPPA, noise, target_constants(target))
        constant = linear.constant_error(setting)
        for tau in TAUS:
            if tau == 1.0:
                continue
            for model in ("relu", "tanh"):
                error = _features(setting, model, tau, 1 / tau).errors().icl
                yield Number(f"{target} target", model, tau, error, constant)
            for model, intercept in (("linear", False), ("linear+intercept", True)):
                error = linear.errors(setting, tau, 0.0, intercept).icl
                yield Number(f"{target} target", model, tau, error, constant)


def _peaks(setting: Setting) -> Iterator[Number]:
    """e_IDG sqrt(delta) at m = n against its limit."""
    for model in ("relu", "tanh"):
        for delta in DELTAS:
            law = _features(setting, model, TAU, 1.0, delta)
            value = law.errors().idg * math.sqrt(delta)
            yield Number("peak", model, delta, value, peak_constant(law))


def _best(setting: Setting) -> Iterator[Number]:
    """The best lambda/d at several widths; the reference is the ridgeless error there."""
    for psi in (0.5, 0.9, 1.1, 1.5, 3.0):
        for model in ("relu", "tanh"):
            law = _features(setting, model, TAU, psi)
            delta, error = best_delta(law)
            yield Number("best delta", model, psi, delta, None)
            yield Number("best error", model, psi, error, law.errors().icl)


def _against_linear(noise: float) -> Iterator[Number]:
    """Best-ridge transformer over best-ridge linear attention with intercept, on a small grid."""
    for alpha in (0.3, 1.0, 4.0, 30.0):
        for kappa in (0.2, 1.0, 20.0):
            setting = Setting(alpha, kappa, noise, target_constants("relu"))
            for tau in (0.3, 1.5, 20.0):
                _, least = linear.best_ridge(setting, tau, intercept=True)
                for psi in (0.1, 2.0, 100.0):
                    for model in ("relu", "tanh"):
                        law = _features(setting, model, tau, psi)
                        # With the intercept for tanh as well: the mean is no part of the question.
                        law = replace(law, features=law.features._replace(c0=1.0))
                        yield Number("against linear", model, psi, best_delta(law)[1], least)
