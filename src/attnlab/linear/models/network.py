"""A linear transformer together with what is known about it, and its file.

`Network` is what `linear.train`, `linear.load` and the shipped collection return. It answers
prompts, as every predictor does, and can be saved and read. The weights alone are in
`attnlab.linear.models.weights`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxtyping import Array, Float

from attnlab.errors import UserError
from attnlab.linear.models.files import load_linear, save_linear
from attnlab.linear.models.predictors import LinearTransformer
from attnlab.linear.models.weights import Weights, family_of, on_host, size_of
from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression, Prompt
from attnlab.stats.estimate import Estimate


@dataclass(frozen=True, repr=False)
class Network:
    """The weights of a linear transformer, the problem it was trained on, and its loss there.

    Parameters
    ----------
    weights
        The weights of one of the families, with NumPy or JAX arrays.
    problem
        The problem that it was trained on, or None if that is not known.
    loss
        Its adjusted loss on fresh sequences of the problem, or None if that is not known.
    about
        Further facts in terms of JSON: the metadata of a file, the run and its diagnosis.
    """

    weights: Weights
    problem: NoisyRegression | None = None
    loss: Estimate | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        family_of(self.weights)  # refuses what is no network

    @property
    def family(self) -> str:
        """FULL, AXIS, DIAG, DIAG with free omegas, or GD++.

        AXIS networks are stored as FULL matrices, of which training left most entries 0; they say
        so in `about`.
        """
        return self.about.get("trained_as") or family_of(self.weights)

    @property
    def depth(self) -> int:
        """The number of layers."""
        return self.weights.depth

    @property
    def predictor(self) -> LinearTransformer:
        """The network as a predictor, with the fast path `weights(G, n)`."""
        return LinearTransformer(self.weights)

    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        """The prediction for the query of one prompt."""
        return self.predictor(prompt)

    def __repr__(self) -> str:
        layers = "1 layer" if self.depth == 1 else f"{self.depth} layers"
        parts = [f"{self.family}, {layers}"]
        if self.problem is not None:
            problem = self.problem
            parts.append(f"d = {problem.d}, n = {problem.n}, noise {problem.noise.name}")
        if self.loss is not None:
            parts.append(f"loss {self.loss}")
        return f"Network({', '.join(parts)})"


def save(path: Path | str, network: Network | Weights, **about: Any) -> None:
    """Write a network to a safetensors file, which `load` and `attnlab read` open.

    Parameters
    ----------
    path
        The file; its folder must exist.
    network
        A network, or weights alone.
    about
        Further facts for the metadata of the file, in terms of JSON; a noise law is accepted as
        `noise`. The problem and the loss of a network are written by themselves.
    """
    known: dict[str, Any] = {}
    if isinstance(network, Network):
        known.update(network.about)
        if network.problem is not None:
            problem = network.problem
            known.update(d=problem.d, n=problem.n, noise=problem.noise.name)
            if problem.variance != 1.0:
                known["variance"] = problem.variance
        if network.loss is not None:
            loss = network.loss
            known.update(loss=loss.value, loss_standard_error=loss.standard_error)
            known["loss_samples"] = loss.samples
        network = network.weights
    save_linear(path, on_host(network), **{**known, **about})


def load(path: Path | str) -> Network:
    """The network of a file that `save` wrote, in double precision."""
    weights, about = load_linear(path, float)
    return Network(weights, _problem(weights, about), _loss(about), about)


def _problem(weights: Weights, about: Mapping[str, Any]) -> NoisyRegression | None:
    """The problem that the metadata describe; None where they do not name all of it."""
    d, n, noise = about.get("d", size_of(weights)), about.get("n"), about.get("noise")
    if d is None or n is None or not isinstance(noise, str):
        return None
    variance = about.get("variance", 1.0)
    try:
        given = tuple(variance) if isinstance(variance, list) else variance
        return NoisyRegression(d, n, parse_noise(noise), given)
    except UserError:
        return None  # the law of another program


def _loss(about: Mapping[str, Any]) -> Estimate | None:
    match [about.get(name) for name in ("loss", "loss_standard_error", "loss_samples")]:
        case [float() | int() as value, float() | int() as error, int(samples)]:
            return Estimate(float(value), float(error), samples)
    return None
