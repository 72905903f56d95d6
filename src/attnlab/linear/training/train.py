"""`linear.train`: train linear transformers on a problem.

GD++, DIAG and the axis networks are trained by depth growth, one depth from the other
(`growth`, `axis_growth`); FULL matrices are trained by Adam from small random weights, as in
Vladymyrov et al. (arXiv 2402.14180) (`recipes`). Every network comes with its adjusted loss on
sequences that its training did not use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, overload

import jax
import numpy as np

from attnlab import arguments
from attnlab.errors import UserError
from attnlab.linear.models.network import Network
from attnlab.linear.models.weights import on_host
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.simulation import loss
from attnlab.linear.training.axis_growth import AxisGrowthEffort, grow_axis
from attnlab.linear.training.batches import noise_tables
from attnlab.linear.training.fresh_sample import Sampling
from attnlab.linear.training.growth import GrowthEffort, grow
from attnlab.linear.training.recipes import (
    PAPER,
    PAPER_STEPS,
    Recipe,
    small_random,
    train_regression,
)
from attnlab.training.population import member_keys

Family = Literal["gd++", "diag", "omegas", "no-momentum", "no-rescaling", "axis", "full"]
FAMILIES: tuple[Family, ...] = get_args(Family)
Amount = Literal["quick", "thorough"]
AXES = 1  # directions that axis networks treat differently
SCALE = 0.1  # standard deviation of the entries of FULL at the start
EVALUATED = 20_000  # fresh sequences behind the loss of FULL

QUICK_GROWTH = GrowthEffort(
    starts=2, screening=96, sequences=768, pool=4096, tail=96, rounds=1, fresh=16_384
)
QUICK_AXIS = AxisGrowthEffort(
    screening=(8, 1),
    refinement=(8, 1),
    final=(3, 2),
    draws=1,
    kept=2,
    parents=2,
    evaluation=(8, 4096),
    coarse=Sampling(256, 1024, 32, 1024),
    fine=Sampling(512, 2048, 64, 2048),
)
QUICK_RECIPE = Recipe("oracle", batch=256, learning_rate=3e-3, warmup=0.05, final=0.0, clip=1.0)
QUICK_STEPS = 1000


@dataclass(frozen=True, repr=False)
class TrainedNetworks(Sequence[Network]):
    """Trained networks in the order of their depths, each with its loss."""

    networks: tuple[Network, ...]

    @overload
    def __getitem__(self, index: int) -> Network: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Network, ...]: ...
    def __getitem__(self, index: int | slice) -> Network | tuple[Network, ...]:
        return self.networks[index]

    def __len__(self) -> int:
        return len(self.networks)

    def __iter__(self) -> Iterator[Network]:
        return iter(self.networks)

    def at(self, depth: int) -> Network:
        """The network with this number of layers."""
        for network in self.networks:
            if network.depth == depth:
                return network
        depths = ", ".join(str(network.depth) for network in self.networks)
        raise UserError(f"depth must be one of {depths}, got {depth!r}.")

    def __repr__(self) -> str:
        listed = "".join(f"\n  {network!r}" for network in self.networks)
        return f"TrainedNetworks({listed}\n)"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{network.family}</td><td>{network.depth}</td><td>{network.loss}</td></tr>"
            for network in self.networks
        )
        head = "<tr><th>family</th><th>layers</th><th>adjusted loss</th></tr>"
        return f"<table>{head}{rows}</table>"


def train(
    problem: NoisyRegression,
    family: Family = "diag",
    depth: int = 3,
    *,
    seed: int = 0,
    effort: Amount | GrowthEffort | AxisGrowthEffort | Recipe = "quick",
    steps: int | None = None,
) -> TrainedNetworks:
    """Train linear transformers and measure their losses on fresh sequences.

    Parameters
    ----------
    problem
        The problem; for every family but "full" its inputs must have variance 1.
    family
        "gd++", "diag" (one head), "omegas" (DIAG with free omegas), "no-momentum" (free omegas
        without omega_xy), "no-rescaling" (without omega_yy) or "axis" (matrices that treat one
        input direction differently from the others): trained by depth growth, and the result has
        every depth from 1 on. "full" (any matrices): trained by Adam from random weights, and
        the result has the given depth only.
    depth
        The number of layers of the deepest network.
    seed
        The seed of everything random.
    effort
        "quick" takes seconds to minutes; "thorough" is the effort behind Table 1, or the recipe of
        the paper for "full". A `GrowthEffort`, `AxisGrowthEffort` or `Recipe` gives the details.
    steps
        The number of Adam steps, for "full" only: 1,000 for "quick" and 200,000 otherwise.
    """
    arguments.one_of("family", family, FAMILIES)
    arguments.integer("depth", depth, 1)
    key = jax.random.key(arguments.integer("seed", seed, 0))
    if steps is not None and family != "full":
        raise UserError(f"steps must not be given for the family {family!r}, got {steps!r}.")
    if family == "full":
        recipe = _chosen(effort, QUICK_RECIPE, PAPER, Recipe)
        if steps is None:
            steps = QUICK_STEPS if effort == "quick" else PAPER_STEPS
        return _by_adam(problem, depth, seed, recipe, arguments.integer("steps", steps, 1))
    if family == "axis":
        return _axis(problem, key, depth, _chosen(effort, QUICK_AXIS, AxisGrowthEffort()))
    grown = grow(family, problem, key, depth, effort=_chosen(effort, QUICK_GROWTH, GrowthEffort()))
    return TrainedNetworks(
        tuple(
            Network(each.weights, problem, each.fresh, {"stopped": each.diagnosis.value})
            for each in grown
        )
    )


def _axis(
    problem: NoisyRegression, key: Any, depth: int, effort: AxisGrowthEffort
) -> TrainedNetworks:
    if problem.variance != 1.0:
        raise UserError(f"variance must be 1 for depth growth, got {problem.variance!r}.")
    with jax.enable_x64(True):
        noise = jax.tree.map(lambda part: part[0], noise_tables([problem.noise]))
        grown = list(grow_axis(problem, noise, key, depth, effort=effort, axes=AXES))
    return TrainedNetworks(
        tuple(
            Network(
                on_host(each.weights),
                problem,
                each.loss,
                {"trained_as": "AXIS", "grown_from": each.origin},
            )
            for each in grown
        )
    )


def _by_adam(
    problem: NoisyRegression, depth: int, seed: int, recipe: Recipe, steps: int
) -> TrainedNetworks:
    for_weights, for_batches = jax.random.split(jax.random.key(seed))
    scale = SCALE / np.sqrt(problem.n / 20)  # the tokens' Gram matrix grows as n
    start = small_random(
        "full", member_keys(for_weights, 1), depth, problem.d, scale=scale, dtype=np.float32
    )
    done = train_regression(problem, [problem.noise], start, for_batches, recipe, steps=steps)
    weights = jax.tree.map(lambda part: np.asarray(part, np.float64), done.member(0))
    found = loss(weights, problem, EVALUATED, seed=seed + 1)
    return TrainedNetworks((Network(weights, problem, found, {"status": done.status[0]}),))


def _chosen(effort: Any, quick: Any, thorough: Any, kind: type | None = None) -> Any:
    """The details of an effort that is given by name or as such."""
    kind = kind or type(quick)
    if isinstance(effort, kind):
        return effort
    if effort not in ("quick", "thorough"):
        raise UserError(
            f"effort must be 'quick', 'thorough' or a {kind.__name__} for this family, "
            f"got {effort!r}."
        )
    return quick if effort == "quick" else thorough
