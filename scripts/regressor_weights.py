"""Trains the networks of `attnlab.linear.regressor`: free-omega DIAG, one for every d and n / d.

    python scripts/regressor_weights.py OUT [d]

writes OUT/regressor_dD_nN.safetensors. Existing files are kept, so that it can be stopped and
started again. In all contexts the largest eigenvalue of Sigma and lambda are the same, as in the
regressor, so that the best network depends on n / d and d only. At n / d = 2 the network is trained
by depth growth; for every other ratio the weights of the neighbouring ratio are trained further.
Training is by Levenberg-Marquardt in double precision, on sequences from fixed seeds.
"""

import platform
import sys
import time
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from attnlab import __version__
from attnlab.linear.kernels.diagonal_jacobian import diagonal_jacobian
from attnlab.linear.models.files import load_linear, save_linear
from attnlab.linear.models.transformer import final_weights
from attnlab.linear.models.weights import Omegas
from attnlab.linear.noise import Uniform
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.training.fixed_sample import generator
from attnlab.linear.training.levenberg_marquardt import (
    NormalEquations,
    SearchLimits,
    levenberg_marquardt,
)
from attnlab.linear.training.starting_points import insert_layer
from attnlab.stats import Estimate

SIZES = {4: (2, 4), 10: (7, 10, 13)}  # a network's d, and those of the sequences it is trained on
# n / d, and the one whose weights it starts from
BEFORE = {2: None, 1: 2, 0.5: 1, 0.25: 0.5, 4: 2, 8: 4, 16: 8, 32: 16, 64: 32, 256: 64}
DEPTH = 7
LOUDEST = 3.0  # sigma ~ U(0, LOUDEST sqrt(tr C)): R^2 from 1 down to 0.1
DECADES = 3.0  # half of the sequences have inputs of unequal variance, by so many powers of 10
SCREENING, MIDDLE, WHOLE, FRESH = 512, 1024, 4096, 16384  # sequences
STARTS, NEAR_ZERO = 6, (0.05, 0.5)  # number of new layers tried at a depth, and their sizes
GROWN_STEPS, CONTINUED_STEPS = 40, 15  # steps of Levenberg-Marquardt on all sequences
BLOCK = 256
DRAWN, EVALUATED = 0, 1  # seeds of the training sequences and of the evaluation sequences


class Units(NamedTuple):
    """The largest eigenvalue of Sigma, and lambda, in every context of a network."""

    top: float
    lam: float

    @staticmethod
    def of(problem: NoisyRegression) -> "Units":
        """Typical values of a problem: the Marchenko-Pastur edge, and E lambda."""
        edge = (problem.n**0.5 + problem.d**0.5) ** 2
        return Units(edge, problem.n * (problem.d + problem.noise.second_moment()))


class Contexts(NamedTuple):
    """Gram matrices in the units of training, the oracle's weights, and the metric of the loss.

    1/2 ||root (w^L - oracle)||^2 is half the excess squared error at a fresh input over the mean
    square of the labels; for the answer 0 it is at most 1/2. Contexts of smaller d are padded with
    zeros, which changes nothing.
    """

    G: Float[np.ndarray, "N p p"]
    oracle: Float[np.ndarray, "N d"]
    root: Float[np.ndarray, "N d"]

    def first(self, count: int) -> "Contexts":
        return Contexts(*(part[:count] for part in self))


def problem_of(d: int, ratio: float) -> NoisyRegression:
    return NoisyRegression(d, max(round(ratio * d), 1), Uniform(LOUDEST * d**0.5))


def contexts(d: int, ratio: float, seed: int, count: int, units: Units) -> Contexts:
    """`count` sequences of all sizes that represent d, in random order."""
    rng = np.random.default_rng((seed, d, round(1000 * ratio)))
    sizes = rng.choice(SIZES[d], count)
    parts = [
        _padded(_drawn(rng, size, max(round(ratio * size), 1), some, units), max(SIZES[d]))
        for size in SIZES[d]
        if (some := int((sizes == size).sum()))
    ]
    order = rng.permutation(count)
    return Contexts(*(np.concatenate(pieces)[order] for pieces in zip(*parts, strict=True)))


def _drawn(rng: np.random.Generator, d: int, n: int, count: int, units: Units) -> Contexts:
    """x ~ N(0, C), w ~ N(0, I), with C = I in half of them and spread over decades in the rest."""
    spread = np.where(rng.random(count) < 0.5, 0, rng.uniform(0, DECADES, count))
    C = 10 ** (-spread[:, None] * rng.random((count, d)))
    w = rng.standard_normal((count, d, 1))
    sigma = LOUDEST * np.sqrt(C.sum(1)) * rng.random(count)
    k = min(n, d + 1)
    B = np.tril(rng.standard_normal((count, d + 1, k)), -1)  # Bartlett's factor
    B[:, range(k), range(k)] = np.sqrt(rng.chisquare(n - np.arange(k), (count, k)))
    inputs = B[:, :d] * np.sqrt(C)[..., None]
    labels = w.swapaxes(1, 2) @ inputs + sigma[:, None, None] * B[:, d:]
    factor = np.concatenate([inputs, labels], axis=1)
    G = factor @ factor.swapaxes(1, 2)
    system = G[:, :d, :d] + (sigma**2)[:, None, None] * np.eye(d)
    oracle = np.linalg.solve(system, G[:, :d, d:])[..., 0]

    x_scale = np.sqrt(units.top / np.linalg.eigvalsh(G[:, :d, :d])[:, -1])[:, None]
    y_scale = np.sqrt(units.lam / G[:, d, d])[:, None]
    scale = np.concatenate([np.repeat(x_scale, d, axis=1), y_scale], axis=1)
    oracle = oracle * y_scale / x_scale
    root = np.sqrt(C * n / units.lam) * x_scale
    root /= np.sqrt(np.maximum(np.square(root * oracle).sum(1, keepdims=True), 1))
    return Contexts(G * scale[:, :, None] * scale[:, None], oracle, root)


def _padded(sample: Contexts, widest: int) -> Contexts:
    more = widest - sample.oracle.shape[1]
    places = [*range(widest - more), widest]
    G = np.zeros((len(sample.G), widest + 1, widest + 1))
    G[:, np.array(places)[:, None], places] = sample.G
    return Contexts(G, *(np.pad(part, ((0, 0), (0, more))) for part in sample[1:]))


class ContextLeastSquares:
    """The mean loss over contexts, computed in blocks."""

    def __init__(self, sample: Contexts) -> None:
        self._count = len(sample.G)
        assert self._count % BLOCK == 0
        self._blocks = [
            Contexts(*(jnp.asarray(part[start : start + BLOCK]) for part in sample))
            for start in range(0, self._count, BLOCK)
        ]

    def losses(self, omegas: Omegas) -> Float[np.ndarray, " N"]:
        return np.concatenate([_losses(omegas, block) for block in self._blocks])

    def objective(self, parameters: Omegas) -> float:
        return float(self.losses(parameters).mean())

    def normal_equations(self, parameters: Omegas) -> NormalEquations:
        rows = np.stack(list(vars(parameters).values()), axis=1)  # layers x (xx, xy, yx, yy)
        omegas = jnp.asarray(rows)
        sums = [_equations(*diagonal_jacobian(omegas, block.G), block) for block in self._blocks]
        f, g, H = (sum(map(np.asarray, parts)) / self._count for parts in zip(*sums, strict=True))
        order = np.arange(rows.size).reshape(rows.shape).T.ravel()  # by name, as the parameters are
        return NormalEquations(float(f), g[order], H[np.ix_(order, order)])


@jax.jit
def _losses(omegas: Omegas, block: Contexts):
    w = jax.vmap(lambda G: final_weights(omegas, G))(block.G)
    return jnp.square(block.root * (w - block.oracle)).sum(1) / 2


@jax.jit
def _equations(w, J, block: Contexts):
    r = (block.root * (w - block.oracle)).reshape(-1)
    columns = jnp.swapaxes(block.root[:, None] * J, 0, 1).reshape(J.shape[1], -1)
    return r @ r / 2, columns @ r, columns @ columns.T


def starting_points(network: Omegas, problem: NoisyRegression, key: jax.Array) -> list[Omegas]:
    """The network with new layers near zero: first, in the middle and last.

    omega_yx is negative, a step down the gradient. From four layers on each new layer is tried in
    only one of the places.
    """
    x = 1 / problem.n
    y = x / (problem.d + problem.noise.second_moment())
    layers = generator(key).standard_normal((STARTS, 4)) * (x, y, x, y)
    layers *= np.geomspace(*NEAR_ZERO, STARTS)[:, None]
    layers[:, 2] = -np.abs(layers[:, 2])
    depth = network.depth
    places = sorted({0, (depth + 1) // 2, depth})
    if depth >= 4:
        return [insert_layer(network, places[i % 3], layer) for i, layer in enumerate(layers)]
    return [insert_layer(network, place, layer) for layer in layers for place in places]


def grown(problem: NoisyRegression, sample: Contexts) -> Omegas:
    """Depths 1 to DEPTH, each from the depth before with a new layer, near zero or empty."""
    screening, middle = (ContextLeastSquares(sample.first(count)) for count in (SCREENING, MIDDLE))
    network = Omegas(*(np.zeros(0) for _ in range(4)))
    for depth in range(1, DEPTH + 1):
        starts = starting_points(network, problem, jax.random.key(depth))
        fits = [levenberg_marquardt(screening, start, SearchLimits(8, 1e-4)) for start in starts]
        best = sorted(fits, key=lambda fit: fit.objective)[:3]
        fits = [
            levenberg_marquardt(screening, fit.parameters, SearchLimits(15, 1e-4)) for fit in best
        ]
        tried = [fit.parameters for fit in fits]
        if depth > 1:
            tried.append(Omegas(*(np.append(0.0, part) for part in vars(network).values())))
        network = min(tried, key=middle.objective)
        network = levenberg_marquardt(middle, network, SearchLimits(20, 1e-4)).parameters
        print(f"  {depth} layers: {middle.objective(network):.5f}", flush=True)
    return network


def in_units(omegas: Omegas, old: Units, new: Units) -> Omegas:
    """The same network in other units: xx and yx go with Sigma, xy and yy with lambda."""
    x, y = old.top / new.top, old.lam / new.lam
    xx, xy, yx, yy = (np.asarray(part) for part in vars(omegas).values())
    return Omegas(xx * x, xy * y, yx * x, yy * y)


def file_of(folder: Path, d: int, ratio: float) -> Path:
    return folder / f"regressor_d{d}_n{problem_of(d, ratio).n}.safetensors"


def train(folder: Path, d: int, ratio: float) -> None:
    begun = time.perf_counter()
    problem = problem_of(d, ratio)
    units = Units.of(problem)
    sample = contexts(d, ratio, DRAWN, WHOLE, units)
    before = BEFORE[ratio]
    if before is None:
        start = grown(problem, sample)
    else:
        start, _ = load_linear(file_of(folder, d, before))
        start = in_units(start, Units.of(problem_of(d, before)), units)
        middle = ContextLeastSquares(sample.first(MIDDLE))
        start = levenberg_marquardt(middle, start, SearchLimits(30, 1e-4)).parameters
    steps = GROWN_STEPS if before is None else CONTINUED_STEPS
    fit = levenberg_marquardt(ContextLeastSquares(sample), start, SearchLimits(steps, 1e-5))
    fresh = ContextLeastSquares(contexts(d, ratio, EVALUATED, FRESH, units))
    found = Estimate.of(fresh.losses(fit.parameters))
    value, error = found.value, found.standard_error
    save_linear(
        file_of(folder, d, ratio),
        Omegas(*(np.asarray(part) for part in vars(fit.parameters).values())),
        d=d,
        n=problem.n,
        noise=problem.noise,
        loss=value,
        loss_standard_error=error,
        loss_is="half the excess squared error over ridge that knows the noise, at a fresh input, "
        "as a share of the labels' mean square",
        training_loss=fit.objective,
        largest_eigenvalue=units.top,
        label_square_sum=units.lam,
        trained_on_d=SIZES[d],
        trained_on_decades=DECADES,
        sequences=WHOLE,
        command="python scripts/regressor_weights.py OUT",
        made_with=f"attnlab {__version__}, jax {jax.__version__}, numpy {np.__version__}, float64, "
        f"{jax.devices()[0].device_kind} ({platform.machine()})",
    )
    print(
        f"d={d} n={problem.n}: {fit.objective:.5f} trained, {value:.5f} +- {error:.5f} fresh, "
        f"{fit.diagnosis.value} ({time.perf_counter() - begun:.0f} s)",
        flush=True,
    )


def main() -> None:
    folder = Path(sys.argv[1])
    jax.config.update("jax_enable_x64", True)
    for d in [int(given) for given in sys.argv[2:]] or SIZES:
        for ratio in BEFORE:
            if ratio * min(SIZES[d]) >= 1 and not file_of(folder, d, ratio).exists():
                train(folder, d, ratio)


if __name__ == "__main__":
    main()
