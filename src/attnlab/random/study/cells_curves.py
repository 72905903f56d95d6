"""The limit laws along one ratio, with the peak and the best ridge: what the explorer asks for.

The limit depends on the ratios n/d^2, l/d, k/d, m/n and lambda/d alone. It is evaluated at a
dimension so large that rounding sizes to integers does not show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from attnlab import arguments
from attnlab.lab.cell import CellKind, Outcome
from attnlab.lab.needs import ROW, Needs
from attnlab.maths.hermite import ACTIVATIONS
from attnlab.random.models import Model
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import RandomTransformer
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.study import panels
from attnlab.random.study.panels import TargetName
from attnlab.random.theory.error_point import ErrorPoint
from attnlab.random.theory.law import best_ridge, law, samples

Along = Literal["prompts", "length", "width", "ridge"]
ALONGS: tuple[Along, ...] = get_args(Along)
RANGES = {  # of the ratio, from its least to its largest value
    "prompts": (0.1, 4.0),
    "length": (0.25, 8.0),
    "width": (0.05, 4.0),
    "ridge": (1e-6, 10.0),
}
LINEAR = ("linear", "linear+intercept")
D = 2000


@dataclass(frozen=True, kw_only=True)
class LawCurve:
    """The errors of all models in the limit, along one ratio and at given other ones."""

    along: Along = "prompts"
    """The ratio that varies: prompts n/d^2, length l/d, width m/n or ridge lambda/d."""
    prompts: float = 1.5
    """n/d^2, prompts per squared dimension."""
    length: float = 1.0
    """l/d, labelled pairs per dimension."""
    width: float = 0.7
    """m/n, width per prompt."""
    ridge: float = 1e-4
    """lambda/d, with the penalty lambda n / d."""
    activation: str = "relu"
    """Activation of the random transformer."""
    target: TargetName = "relu"
    """The link function of the target."""
    tasks: float = 0.5
    """k/d, tasks in the pool per dimension."""
    noise: float = 0.01
    """Variance of the label noise, rho."""
    points: int = 48
    """Points of the curve, equally far apart on a logarithmic scale."""

    def __post_init__(self) -> None:
        arguments.one_of("along", self.along, ALONGS)
        arguments.one_of("activation", self.activation, ACTIVATIONS)
        arguments.one_of("target", self.target, panels.TARGETS)
        for name in ("prompts", "length", "width", "ridge", "tasks"):
            arguments.positive(name, getattr(self, name))
        arguments.integer("points", self.points, 3)


@dataclass(frozen=True)
class CurveRow:
    """One model at one value of the ratio.

    `mark` is empty on the curve, "peak" where the in-context error has an interior maximum, and
    "best ridge" for the error at the given ratios with the best ridge in place of the given one.
    """

    model: str
    at: float  # the ratio that varies
    icl: float | None
    idg: float | None
    train: float | None
    used_ridge: float  # lambda/d
    mark: str


def run_curve(config: LawCurve) -> Outcome[CurveRow]:
    """The curves of linear attention, with and without intercept, and of the transformer."""
    low, high = RANGES[config.along]
    values = np.geomspace(low, high, config.points).tolist()
    if config.along == "width":
        values = sorted({*values, 1.0})  # where the peak is
    rows = []
    for kind in (*LINEAR, f"random {config.activation}"):
        curve = [_point(config, kind, value) for value in values]
        rows += curve
        errors = [math.inf if row.icl is None else row.icl for row in curve]
        inner = [
            i
            for i in range(1, len(errors) - 1)
            if errors[i] > errors[i - 1] and errors[i] >= errors[i + 1]
        ]
        if inner:
            top = curve[max(inner, key=lambda i: errors[i])]
            values_of = (top.icl, top.idg, top.train, top.used_ridge)
            rows.append(CurveRow(kind, top.at, *values_of, "peak"))
        rows.append(_best(config, kind))
    return Outcome(rows)


def _point(config: LawCurve, kind: str, value: float) -> CurveRow:
    ratios = {name: getattr(config, name) for name in ALONGS} | {config.along: value}
    problem, model, n = _sizes(config, kind, ratios)
    (found,) = law(problem, model, n=n, ridge=ratios["ridge"] * D)
    return CurveRow(kind, value, *_errors(found), ratios["ridge"], "")


def _best(config: LawCurve, kind: str) -> CurveRow:
    ratios = {name: getattr(config, name) for name in ALONGS}
    problem, model, n = _sizes(config, kind, ratios)
    found = best_ridge(problem, model, n=n)
    ridge = found.ridge / D
    at = ridge if config.along == "ridge" else ratios[config.along]
    return CurveRow(kind, at, *_errors(found), ridge, "best ridge")


def _sizes(
    config: LawCurve, kind: str, ratios: dict[str, float]
) -> tuple[SingleIndexRegression, Model, int]:
    length, tasks = max(1, round(ratios["length"] * D)), max(1, round(config.tasks * D))
    problem = SingleIndexRegression(D, length, tasks, config.target, config.noise)
    n = samples(problem, ratios["prompts"])
    if kind in LINEAR:
        return problem, LinearAttention(intercept=kind == LINEAR[1]), n
    width = panels.width_at(n, ratios["width"])
    return problem, RandomTransformer(width, config.activation), n


def _errors(found: ErrorPoint) -> tuple[float | None, float | None, float | None]:
    return _finite(found.icl.value), _finite(found.idg.value), _finite(found.train.value)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def needs_of_curve(config: LawCurve) -> Needs:
    """The rows of three models."""
    return Needs(3 * ROW * config.points, reduce="points")


curve = CellKind("random_curve", LawCurve, CurveRow, run_curve, needs=needs_of_curve)
