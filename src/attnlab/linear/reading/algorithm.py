"""Reading a linear transformer: from its weights to the effect of every layer and its quality.

Source: Vladymyrov et al. (arXiv 2402.14180). `read_linear` runs the network on contexts of several
noise levels. It collects the omegas, the step, rescaling, preconditioning and momentum of each
layer, the spectral filter, and the distances to GD++, to ridge with the true sigma and to Bayes.
Every sampled number is an `Estimate`; differences of losses are taken on the same sequences.
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
from attnlab.linear.models.predictors import LinearTransformer
from attnlab.linear.models.weights import (
    FullWeights,
    GDPlusPlus,
    Omegas,
    Weights,
    family_of,
    on_host,
    size_of,
)
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
from attnlab.stats.estimate import Estimate

SAMPLES = 4096


@dataclass(frozen=True)
class Replacement:
    """A simpler network in place of this one: its loss, and how much larger (+) that is."""

    loss: Estimate
    worse: Estimate


@dataclass(frozen=True)
class LayerReading:
    """One layer: its omegas, and its effect at every noise level.

    A noise level at which all contexts overflow is left out.
    """

    number: int
    xx: float
    xy: float
    yx: float
    yy: float
    levels: tuple[LayerAt, ...]


@dataclass(frozen=True)
class LevelReading:
    """The whole network at one noise level.

    `loss` is 1/2 E ||w^L - w_ridge||^2 for ridge with the true sigma, the adjusted loss;
    `bayes_loss` is that of Bayes, and `to_bayes` the distance of the network to Bayes. `filter` is
    exact for GD++ and None where a sequence overflowed.
    """

    sigma: float
    loss: Estimate
    bayes_loss: Estimate
    to_bayes: Estimate
    filter: ExactFilter | Filter | None
    overflowed: int


@dataclass(frozen=True, repr=False)
class LinearReading:
    """The result of `read_linear`; `diagonal` and `as_diagonal` exist for FULL weights only."""

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
        """The number of layers."""
        return len(self.layers)

    def __repr__(self) -> str:
        return f"LinearReading({self.family}, depth {self.depth}, loss {self.loss})"

    def as_dict(self) -> dict[str, Any]:
        """The reading in terms of JSON, without the weights."""
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
    units: contexts.Units | None = None,
) -> LinearReading:
    """Read a network on a problem, in the precision of its weights.

    Parameters
    ----------
    weights
        The weights of a network of any family.
    problem
        The problem whose contexts the network is run on.
    key
        The JAX key of the contexts; context i has the key fold_in(key, i), as in
        `attnlab.linear.simulation`.
    samples
        The number of contexts at each noise level.
    sigmas
        The noise levels; those of the problem's law unless given.
    units
        Of a network that answers scaled contexts: the units to which every context is scaled, and
        from which the answer is scaled back.
    """
    samples = arguments.integer("samples", samples, 2)
    family_of(weights)  # refuses what is no network
    own = size_of(weights)
    if own is not None and own != problem.d:
        raise UserError(f"d must be that of the weights, {own}, got {problem.d!r}.")
    levels = contexts.noise_levels(problem.noise) if sigmas is None else tuple(sigmas)
    levels = tuple(arguments.non_negative("sigmas", sigma) for sigma in levels)
    if not levels:
        raise UserError("sigmas must hold at least one noise level, got none.")
    lowest, _ = contexts.noise_range(problem.noise)
    contexts.check_noise_free(problem, (*levels, lowest))
    draws = _Draws(weights, problem, jax.random.key(0) if key is None else key, samples, units)
    with jax.enable_x64(True):
        return _read(draws, levels)


def _read(draws: "_Draws", levels: tuple[float, ...]) -> LinearReading:
    weights = draws.weights
    omegas = on_host(diagonal_of(weights))
    at_levels = [draws.level(sigma, omegas) for sigma in levels]
    nearest = nearest_diagonal(weights) if isinstance(weights, FullWeights) else None
    simpler: dict[str, Omegas | GDPlusPlus] = {"gd": nearest_gd_plus_plus(omegas)}
    if nearest is not None:
        simpler["diagonal"] = omegas
    loss, bayes_loss, replaced = draws.law(simpler)
    values = [np.asarray(part, np.float64) for part in (omegas.xx, omegas.xy, omegas.yx, omegas.yy)]
    return LinearReading(
        weights=weights,
        family=family_of(weights),
        problem=draws.problem,
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
        as_diagonal=replaced.get("diagonal"),
    )


@dataclass(frozen=True)
class _Draws:
    """The network on its contexts, which are drawn when they are needed and always the same."""

    weights: Weights
    problem: NoisyRegression
    key: PRNGKeyArray
    samples: int
    units: contexts.Units | None = None

    def level(self, sigma: float, omegas: Omegas) -> tuple[LevelReading, tuple[LayerAt, ...]]:
        n = self.problem.n
        drawn, oracle, bayes = self._contexts(sigma)
        given, back = contexts.in_units(drawn.G, self.units)
        answer = contexts.answers(LinearTransformer(self.weights), n, given)
        layers, overflowed = layers_at(self.weights, omegas, given, n, sigma)
        w = answer * back
        level = LevelReading(
            sigma=sigma,
            loss=Estimate.of(self._half_squares(w, oracle)),
            bayes_loss=Estimate.of(self._half_squares(bayes, oracle)),
            to_bayes=Estimate.of(self._half_squares(w, bayes)),
            filter=self._filter(given, answer),
            overflowed=overflowed,
        )
        return level, layers

    def law(
        self, simpler: dict[str, Omegas | GDPlusPlus]
    ) -> tuple[Estimate, Estimate, dict[str, Replacement]]:
        """The losses over the noise law: of the network, of Bayes, and of simpler networks."""
        drawn, oracle, bayes = self._contexts(None)
        given, back = contexts.in_units(drawn.G, self.units)

        def losses(network: Weights) -> np.ndarray:
            found = contexts.answers(LinearTransformer(network), self.problem.n, given)
            return self._half_squares(found * back, oracle)

        own = losses(self.weights)
        replaced = {}
        for name, network in simpler.items():
            values = losses(network)
            with np.errstate(invalid="ignore"):
                worse = values - own
            replaced[name] = Replacement(Estimate.of(values), Estimate.of(worse))
        return Estimate.of(own), Estimate.of(self._half_squares(bayes, oracle)), replaced

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
        """The contexts, and the answers of the oracle and of Bayes to them."""
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
