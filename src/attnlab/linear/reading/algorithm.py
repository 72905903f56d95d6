"""Reading a linear transformer: from its weights to what every layer does and how good it is.

Source: Vladymyrov et al. (arXiv 2402.14180). `read_linear` runs the network on contexts of several
noise levels and gathers the omegas, each layer's step, rescaling, preconditioning and momentum, the
spectral filter, and the distances to GD++, to ridge that knows sigma and to Bayes. Every sampled
number is an `Estimate`; differences of losses are taken on the same sequences.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.bayes import Bayes
from attnlab.linear.models.files import family_of, size_of
from attnlab.linear.models.predictors import LinearTransformer
from attnlab.linear.models.weights import FullWeights, GDPlusPlus, Omegas, Weights
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.reading import contexts
from attnlab.linear.reading.diagonal import (
    NearestDiagonal,
    diagonal_of,
    nearest_diagonal,
    nearest_gd_plus_plus,
)
from attnlab.linear.reading.layers import LayerAt, layers_at
from attnlab.linear.reading.spectrum import ExactFilter, Filter, exact_filter, fit_filter
from attnlab.linear.simulation import estimate
from attnlab.stats.estimate import Estimate

SAMPLES = 4096


@dataclass(frozen=True)
class Replacement:
    """A simpler network in the place of this one: its loss, and how much worse (+) it is."""

    loss: Estimate
    worse: Estimate


@dataclass(frozen=True)
class LayerReading:
    """One layer: its omegas and what it does at every noise level (nothing where all overflow)."""

    number: int
    xx: float
    xy: float
    yx: float
    yy: float
    levels: tuple[LayerAt, ...]


@dataclass(frozen=True)
class LevelReading:
    """The whole network at one noise level.

    `loss` is its 1/2 E ||w^L - w_ridge||^2 to ridge with the true sigma (the adjusted loss),
    `bayes_loss` that of Bayes, `to_bayes` the network's own distance to Bayes; `filter` is exact
    for GD++ and None where a sequence overflowed.
    """

    sigma: float
    loss: Estimate
    bayes_loss: Estimate
    to_bayes: Estimate
    filter: ExactFilter | Filter | None
    overflowed: int


@dataclass(frozen=True)
class LinearReading:
    """What `read_linear` finds; `diagonal` and its replacement exist for FULL weights only."""

    weights: Weights
    family: str
    problem: NoisyRegression
    omegas: Omegas
    layers: tuple[LayerReading, ...]
    levels: tuple[LevelReading, ...]
    loss: Estimate
    bayes_loss: Estimate
    gd_plus_plus: Replacement
    size_xy: float
    size_yy: float
    diagonal: NearestDiagonal | None = None
    as_diagonal: Replacement | None = None

    @property
    def depth(self) -> int:
        return len(self.layers)

    def as_dict(self) -> dict[str, Any]:
        """The reading in terms of JSON: numbers, lists and objects; the problem by its name."""
        problem = self.problem
        whole = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del whole["weights"]
        whole["problem"] = {
            "d": problem.d,
            "n": problem.n,
            "noise": problem.noise.name,
            "variance": problem.variance,
        }
        if self.diagonal is not None:
            distances = {name: getattr(self.diagonal, name) for name in ("P", "Q", "layer")}
            whole["diagonal"] = {"verdict": self.diagonal.verdict, **distances}
        return _plain(whole)


def read_linear(
    weights: Weights,
    problem: NoisyRegression,
    *,
    key: PRNGKeyArray | None = None,
    samples: int = SAMPLES,
    sigmas: Sequence[float] | None = None,
) -> LinearReading:
    """Read a network on a problem, in the precision of its weights.

    `sigmas` are the noise levels to look at; the law's own unless given. Sequence i has the key
    fold_in(key, i), as in `attnlab.linear.simulation`.
    """
    samples = arguments.integer("samples", samples, 2)
    family, own = family_of(weights), size_of(weights)
    if own is not None and own != problem.d:
        raise UserError(f"d must be that of the weights, {own}, got {problem.d!r}.")
    levels = contexts.noise_levels(problem.noise) if sigmas is None else tuple(sigmas)
    levels = tuple(arguments.non_negative("sigmas", sigma) for sigma in levels)
    if not levels:
        raise UserError("sigmas must hold at least one noise level, got none.")
    lowest, _ = contexts.noise_range(problem.noise)
    contexts.check_noise_free(problem, (*levels, lowest))
    draws = _Draws(weights, problem, jax.random.key(0) if key is None else key, samples)
    omegas = diagonal_of(weights)
    at_levels = [draws.level(sigma, omegas) for sigma in levels]
    nearest = nearest_diagonal(weights) if isinstance(weights, FullWeights) else None
    gd, diagonal = nearest_gd_plus_plus(omegas), None
    loss, bayes_loss, replaced = draws.law({"gd": gd} | ({"diagonal": omegas} if nearest else {}))
    if nearest is not None:
        diagonal = replaced["diagonal"]
    values = [np.asarray(part, np.float64) for part in (omegas.xx, omegas.xy, omegas.yx, omegas.yy)]
    return LinearReading(
        weights=weights,
        family=family,
        problem=problem,
        omegas=omegas,
        layers=tuple(
            LayerReading(
                layer + 1,
                *four,
                levels=tuple(read[layer] for _, read in at_levels if read),
            )
            for layer, four in enumerate(np.stack(values, -1).tolist())
        ),
        levels=tuple(level for level, _ in at_levels),
        loss=loss,
        bayes_loss=bayes_loss,
        gd_plus_plus=replaced["gd"],
        size_xy=float(np.linalg.norm(values[1])),
        size_yy=float(np.linalg.norm(values[3])),
        diagonal=nearest,
        as_diagonal=diagonal,
    )


@dataclass(frozen=True)
class _Draws:
    """The network on its contexts, drawn again for every question and always the same."""

    weights: Weights
    problem: NoisyRegression
    key: PRNGKeyArray
    samples: int

    def level(self, sigma: float, omegas: Omegas) -> tuple[LevelReading, tuple[LayerAt, ...]]:
        n = self.problem.n
        drawn, oracle, bayes = self._contexts(sigma)
        w = contexts.answers(LinearTransformer(self.weights), n, drawn.G)
        layers, overflowed = layers_at(self.weights, omegas, drawn.G, n, sigma)
        level = LevelReading(
            sigma=sigma,
            loss=estimate(self._half_squares(w, oracle)),
            bayes_loss=estimate(self._half_squares(bayes, oracle)),
            to_bayes=estimate(self._half_squares(w, bayes)),
            filter=self._filter(drawn.G, w),
            overflowed=overflowed,
        )
        return level, layers

    def law(
        self, simpler: dict[str, Omegas | GDPlusPlus]
    ) -> tuple[Estimate, Estimate, dict[str, Replacement]]:
        """The losses over the noise law, of the network, of Bayes and of the simpler networks."""
        drawn, oracle, bayes = self._contexts(None)

        def losses(network: Weights) -> np.ndarray:
            found = contexts.answers(LinearTransformer(network), self.problem.n, drawn.G)
            return self._half_squares(found, oracle)

        own = losses(self.weights)
        replaced = {}
        for name, network in simpler.items():
            values = losses(network)
            with np.errstate(invalid="ignore"):
                worse = values - own
            replaced[name] = Replacement(estimate(values), estimate(worse))
        return estimate(own), estimate(self._half_squares(bayes, oracle)), replaced

    def _filter(self, G: np.ndarray, w: np.ndarray) -> ExactFilter | Filter | None:
        if not np.isfinite(w).all():
            return None
        if isinstance(self.weights, FullWeights):
            return fit_filter(G, w)
        omegas = self.weights.omegas()
        if np.any(omegas.xy) or np.any(omegas.yy):
            return fit_filter(G, w)
        return exact_filter(nearest_gd_plus_plus(omegas), G)

    def _contexts(self, sigma: float | None) -> tuple[contexts.Contexts, np.ndarray, np.ndarray]:
        """The contexts, and how the oracle and Bayes answer them."""
        dtype = jax.tree.leaves(self.weights)[0].dtype
        drawn = contexts.contexts(self.problem, self.key, self.samples, sigma, dtype)
        bayes = contexts.answers(Bayes(self.problem.noise), self.problem.n, drawn.G)
        return drawn, contexts.oracle_answers(drawn), bayes

    def _half_squares(
        self, left: Float[np.ndarray, "samples d"], right: Float[np.ndarray, "samples d"]
    ) -> Float[np.ndarray, " samples"]:
        variances = np.broadcast_to(np.asarray(self.problem.variance, np.float64), self.problem.d)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.square(np.asarray(left, np.float64) - right) @ variances / 2


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: _plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | jax.Array):
        return _plain(np.asarray(value, np.float64).tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
