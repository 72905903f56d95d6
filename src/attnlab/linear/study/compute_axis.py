"""The computation of the cells that train AXIS networks (`cells_axis`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from itertools import count, takewhile

import jax
import jax.numpy as jnp
import numpy as np

from attnlab.errors import UserError
from attnlab.lab.cell import Outcome, config_values, seed_of
from attnlab.lab.units import Units
from attnlab.linear.models.axis import AxisWeights
from attnlab.linear.models.weights import DiagWeights, GDPlusPlus
from attnlab.linear.noise import NoiseLaw, parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.questions_axis import AxisDepthRow, AxisTraining
from attnlab.linear.study.table_1 import LAWS
from attnlab.linear.training.axis_growth import AxisGrowthEffort, TrainedAxisDepth, grow_axis
from attnlab.linear.training.batches import NoiseTable, noise_tables
from attnlab.linear.training.fresh_sample import Sampling
from attnlab.linear.weights.diagonal import DIMENSION, TOKENS, diagonal_networks

PARENT = "parent"  # a network from which deeper ones grow


def effort_of(config: AxisTraining) -> AxisGrowthEffort:
    """The effort that a configuration describes."""
    return AxisGrowthEffort(
        screening=(config.screening, 1),
        refinement=(config.refinement, 1),
        final=(config.final, config.final_pools),
        draws=config.draws,
        kept=config.kept,
        parents=config.parents,
        evaluation=(config.evaluations, config.evaluated),
        coarse=Sampling(
            config.coarse_chunk, config.coarse_pool, config.coarse_worst, config.coarse_compared
        ),
        fine=Sampling(config.fine_chunk, config.fine_pool, config.fine_worst, config.fine_compared),
    )


def training(config: AxisTraining) -> Outcome[AxisDepthRow]:
    """Grow all depths; each is kept with the networks from which deeper ones grow."""
    law = parse_noise(config.noise)
    with jax.enable_x64(True):  # a key of more than 32 bits needs it, too
        # Networks of a depth do not depend on how many depths follow.
        key = jax.random.key(seed_of(config, without=("depth",)))
        units = Units("depth", config.depth)
        rows = [AxisDepthRow(**values) for values in units.notes or ()]
        arrays = dict(units.arrays)
        for grown in grow_axis(
            NoisyRegression(config.d, config.n),
            noise_table(law),
            key,
            config.depth,
            starts=_starts(config, law),
            effort=effort_of(config),
            axes=config.axes,
            dtype=jnp.dtype(config.precision),
            trained=[_parents(arrays, depth + 1) for depth in range(units.done)],
        ):
            rows.append(_row(grown, config.evaluations * config.evaluated))
            arrays.update(_arrays(grown))
            units.finish(lambda: ([config_values(row) for row in rows], arrays))
    return Outcome(rows, {name: arrays[name] for name in arrays if not name.startswith(PARENT)})


def noise_table(law: NoiseLaw) -> NoiseTable:
    """The law as a table with as many pieces as any of Table 1, so that all share one program."""
    tables = noise_tables([law, *map(parse_noise, LAWS)])
    return jax.tree.map(lambda part: part[0], tables)


def _starts(config: AxisTraining, law: NoiseLaw) -> list[DiagWeights]:
    """The shipped diagonal networks by depth, if they are those of the digest."""
    if not config.weights:
        return []
    if (config.d, config.n) != (DIMENSION, TOKENS):
        raise UserError(
            f"d and n must be {DIMENSION} and {TOKENS}, those of the shipped networks that are "
            f"further starting points, got {config.d} and {config.n}."
        )
    # Without noise GD++ is trained on the exact law of the eigenvalues and has no tail.
    family, held = "diag" if law.second_moment() else "gd++", diagonal_networks()
    if law.name not in held.laws(family):
        accepted = ", ".join(held.laws(family))
        raise UserError(
            f"noise must be one of {accepted} for shipped networks as further starting points, "
            f"got {config.noise!r}."
        )
    digest = held.digest(family, law.name)
    if config.weights != digest:
        raise UserError(
            f"weights must be the digest of the shipped networks, {digest!r}, or empty, "
            f"got {config.weights!r}."
        )
    depths = held.depths(family, law.name)[: config.depth]
    found = [held.weights(family, law.name, depth) for depth in depths]
    return [each.diag() if isinstance(each, GDPlusPlus) else each for each in found]


def _row(grown: TrainedAxisDepth, samples: int) -> AxisDepthRow:
    return AxisDepthRow(
        layers=grown.depth,
        loss=_finite(grown.loss.value),
        error=_finite(grown.loss.standard_error),
        largest=_finite(grown.largest),
        samples=samples,
        origin=grown.origin,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _arrays(grown: TrainedAxisDepth) -> dict[str, np.ndarray]:
    """The network of a depth under "<depth>/P|Q", and its parents under `_parent`."""
    found = {f"{grown.depth}/{name}": part for name, part in vars(grown.weights).items()}
    for place, parent in enumerate(grown.parents):
        for name, part in vars(parent).items():
            found[f"{_parent(grown.depth, place)}/{name}"] = part
    return {name: np.asarray(part) for name, part in found.items()}


def _parents(arrays: Mapping[str, np.ndarray], depth: int) -> list[AxisWeights]:
    """The parents of a depth that an earlier sitting has trained, best first."""
    names = [item.name for item in fields(AxisWeights)]
    held = takewhile(lambda place: f"{_parent(depth, place)}/{names[0]}" in arrays, count())
    return [
        AxisWeights(**{name: arrays[f"{_parent(depth, place)}/{name}"] for name in names})
        for place in held
    ]


def _parent(depth: int, place: int) -> str:
    return f"{PARENT}/{depth}/{place}"
