"""What a panel fits: models, sample sizes and ridges, given by ratios that do not depend on d.

Figure 1 varies n (panel `n`); Figure 2 varies l (`length`), m (`width`) and m with the ridge
(`ridge`, and `ridge-degree-4` with the equivalent model of degree 4). `size` repeats two widths and
two ridges at several d, `linear` and `intercept` do so for linear attention alone, without and with
an intercept, and `sign` for an activation outside Theorem 3. `degrees` has some widths of `width`,
for simulation at several d and for the laws that predict how far apart transformers and equivalent
models of every degree are. `length-degrees` is the grid of `length` with such predictions at every
l; only laws are asked for it.
The law's n/d^2 is n/(d (d+1)) at finite d, so n is that multiple of d (d + 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from attnlab import arguments
from attnlab.random.models import Model
from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import EquivalentModel, RandomTransformer
from attnlab.random.problem import SingleIndexRegression
from attnlab.random.theory.law import samples

PanelName = Literal[
    "n",
    "length",
    "length-degrees",
    "width",
    "ridge",
    "ridge-degree-4",
    "size",
    "linear",
    "intercept",
    "sign",
    "degrees",
]
PANELS: tuple[PanelName, ...] = get_args(PanelName)
TargetName = Literal["relu", "tanh", "linear"]
TARGETS: tuple[TargetName, ...] = ("relu", "tanh", "linear")

TAUS = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 2.5, 3.0)
PSIS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.5, 2.0, 3.0)
LENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
RIDGES = (1e-8, 1e-4, 1e-2, 0.1, 1.0, 10.0)
DEGREES = (1, 2, 4)
PREDICTS_EVERY_DEGREE: tuple[PanelName, ...] = ("degrees", "length-degrees", "ridge-degree-4")
DEGREE_PSIS = (0.25, 0.5, 1.5, 3.0)  # of `PSIS`, and away from the peak at m = n
ACTIVATIONS = ("relu", "tanh")
TAU, SMALL = 1.5, 1e-8
SIZE_PSIS, SIZE_RIDGES = (0.5, 1.5), (1e-8, 0.1)
LINEAR = [LinearAttention(), LinearAttention(intercept=True)]


@dataclass(frozen=True)
class Grid:
    """Every model at every n and ridge."""

    models: list[Model]
    n: list[int]
    ridges: list[float]


def grid(panel: PanelName, problem: SingleIndexRegression) -> Grid:
    """The models, sample sizes and ridges of a panel at the dimension of the problem."""
    arguments.one_of("panel", panel, PANELS)
    n, square = samples(problem, TAU), problem.d**2
    both: dict[str, tuple[int, ...]] = dict.fromkeys(ACTIVATIONS, DEGREES)
    match panel:
        case "n":
            sizes = [samples(problem, tau) for tau in TAUS]
            return Grid([*LINEAR, *_models([square], both)], sizes, [SMALL])
        case "length" | "length-degrees":
            return Grid([*LINEAR, *_models([square], both)], [n], [SMALL])
        case "width":
            return Grid(_models([width_at(n, psi) for psi in PSIS], both), [n], [SMALL])
        case "degrees":
            return Grid(_models([width_at(n, psi) for psi in DEGREE_PSIS], both), [n], [SMALL])
        case "ridge" | "ridge-degree-4":
            widths = [width_at(n, psi) for psi in PSIS]
            degree = 1 if panel == "ridge" else DEGREES[-1]
            return Grid(_models(widths, {"relu": (degree,)}), [n], [*RIDGES])
        case "size":
            widths = [width_at(n, psi) for psi in SIZE_PSIS]
            low: dict[str, tuple[int, ...]] = dict.fromkeys(ACTIVATIONS, (1,))
            return Grid([*LINEAR, *_models(widths, low)], [n], [*SIZE_RIDGES])
        case "linear":
            return Grid([LinearAttention()], [n], [*SIZE_RIDGES])
        case "intercept":
            return Grid([*LINEAR], [n], [*SIZE_RIDGES])
        case "sign":
            widths = [width_at(n, psi) for psi in SIZE_PSIS]
            return Grid(_models(widths, {"sign": (1,)}), [n], [*SIZE_RIDGES])


def width_at(n: int, psi: float) -> int:
    """m = psi n, rounded."""
    return max(round(psi * n), 1)


def name_of(model: Model) -> str:
    """linear, linear+intercept, relu, tanh, relu r=1 and so on."""
    if isinstance(model, LinearAttention):
        return "linear+intercept" if model.intercept else "linear"
    if isinstance(model, EquivalentModel):
        return f"{model.activation} r={model.degree}"
    return str(model.activation)


def _models(widths: list[int], degrees: dict[str, tuple[int, ...]]) -> list[Model]:
    models: list[Model] = []
    for activation, several in degrees.items():
        models += [RandomTransformer(width, activation) for width in widths]
        models += [EquivalentModel(width, activation, r) for r in several for width in widths]
    return models
