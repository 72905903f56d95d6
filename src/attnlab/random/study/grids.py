"""Which cells each figure and claim needs, at each scale.

The ratios of the sweeps are the same at every scale (see `panels`); a scale sets the dimension, the
number of runs and the number of test prompts. `paper` is d = 80 with 20 runs, as in Demir, Dogan
(arXiv 2509.15152); the text gives no grids, so those are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from attnlab.lab.cell import Cell
from attnlab.lab.study import Scale
from attnlab.random.study.cells import Laws, Run, laws, run
from attnlab.random.study.cells_checks import (
    Distance,
    Numbers,
    Reduction,
    distance,
    numbers,
    reduction,
)
from attnlab.random.study.cells_conditional import Conditional, conditional
from attnlab.random.study.panels import LENGTHS, PanelName, TargetName

# Models of degree 4 are closer to the transformer than those of degree 1, so that half of the runs
# tell their gap from a tenth.
HALF_OF_THE_RUNS: tuple[PanelName, ...] = ("ridge-degree-4",)


@dataclass(frozen=True)
class Size:
    """Dimensions, runs and prompts of a scale."""

    d: int
    runs: int
    test: int
    dimensions: tuple[int, ...]  # for rates and extrapolation
    size_runs: int
    prompts: int  # the refinement's, on figures
    size_prompts: int
    distances: tuple[int, ...]
    degrees: tuple[int, ...]  # dimensions below d for equivalent models of every degree
    distance_prompts: int = 4000  # behind each distance from Gaussian
    # By panel and dimension: runs for limits, where the usual number does not know them well enough
    limit_runs: Mapping[PanelName, Mapping[int, int]] = field(default_factory=dict)


SIZES: dict[Scale, Size] = {
    "quick": Size(24, 4, 1000, (16, 22, 28), 12, 6000, 40_000, (16, 24, 32, 48, 64), (16, 20)),
    "standard": Size(
        50, 10, 5000, (24, 32, 50), 16, 20_000, 60_000, (16, 24, 32, 48, 64, 96), (24, 32)
    ),
    "paper": Size(
        d=80,
        runs=20,
        test=20_000,
        dimensions=(30, 50, 80),
        size_runs=20,
        prompts=60_000,
        size_prompts=60_000,
        distances=(16, 32, 48, 64, 96, 128),
        degrees=(30, 50),
        distance_prompts=64_000,
        # The limit of a + b/d + c/d² through d = 30, 50 and 80 is .9, -4.2 and 4.3 times what is
        # found there. Log ratios spread most at small d, where runs cost least: these numbers make
        # every limit known to a tenth, and cost less than a larger dimension would.
        limit_runs={
            "size": {30: 60, 50: 160, 80: 25},
            "linear": {30: 200, 50: 400, 80: 160},
            "intercept": {30: 120, 50: 300, 80: 120},
            "degrees": {30: 60, 50: 48},
        },
    ),
}


def size(scale: Scale) -> Size:
    """The sizes of a scale."""
    return SIZES[scale]


def length_at(d: int, alpha: float) -> int:
    """l = alpha d, rounded."""
    return max(round(alpha * d), 1)


def panel_runs(
    panel: PanelName, scale: Scale, seed: int, *, target: TargetName = "relu", alpha: float = 1.0
) -> list[Cell]:
    """The runs of one panel of Figures 1 and 2."""
    at = size(scale)
    return [
        run(
            Run(
                panel,
                at.d,
                length_at(at.d, alpha),
                at.d // 2,
                target,
                run=i,
                test=at.test,
                seed=seed,
            ),
            cost=(at.d / 24) ** 4 * (0.6 if panel != "length" else 0.3),
        )
        for i in range(max(2, at.runs // 2) if panel in HALF_OF_THE_RUNS else at.runs)
    ]


def panel_laws(
    panel: PanelName, scale: Scale, seed: int, *, target: TargetName = "relu", alpha: float = 1.0
) -> Cell:
    """The laws of one panel of Figures 1 and 2."""
    at = size(scale)
    config = Laws(
        panel, at.d, length_at(at.d, alpha), at.d // 2, target, prompts=at.prompts, seed=seed
    )
    return laws(config, cost=0.6)


def length_laws(scale: Scale, seed: int, alpha: float) -> Cell:
    """The laws of Figure 2(a) at l = alpha d, with the refinement of equivalent models of all
    degrees."""
    return panel_laws("length-degrees", scale, seed, alpha=alpha)


def degree_laws(scale: Scale, seed: int) -> Cell:
    """The laws of equivalent models of degrees 1, 2 and 4 at widths of Figure 2(b)."""
    return panel_laws("degrees", scale, seed)


def runs_for_limits(at: Size, panel: PanelName, d: int, usual: int) -> range:
    """The numbers of the runs of a panel at one dimension."""
    return range(at.limit_runs.get(panel, {}).get(d, usual))


def degree_dimensions(scale: Scale) -> tuple[int, ...]:
    """The dimensions at which equivalent models of every degree are fitted."""
    at = size(scale)
    return (*at.degrees, at.d)


def degree_runs(scale: Scale, seed: int, d: int) -> list[Cell]:
    """Transformers and equivalent models of degrees 1, 2 and 4 at dimension d, n = 1.5 d^2.

    At the dimension of the figures they are among the runs of Figure 2(b).
    """
    at = size(scale)
    if d == at.d:
        return panel_runs("width", scale, seed)
    return [
        run(
            Run("degrees", d, d, d // 2, "relu", run=i, test=at.test, seed=seed),
            cost=(d / 24) ** 4 * 0.4,
        )
        for i in runs_for_limits(at, "degrees", d, at.runs)
    ]


def size_runs(scale: Scale, seed: int, d: int, *, rescale: bool = False) -> list[Cell]:
    """The point n = 1.5 d^2, l = d at dimension d, with two widths and two ridges.

    Prompts of one norm (`rescale`) are drawn for the usual number of runs, the first of the others.
    """
    at = size(scale)
    runs = range(at.size_runs) if rescale else runs_for_limits(at, "size", d, at.size_runs)
    return [
        run(
            Run("size", d, d, d // 2, "relu", run=i, test=at.test, rescale=rescale, seed=seed),
            cost=(d / 24) ** 4 / 4,
        )
        for i in runs
    ]


def sign_runs(scale: Scale, seed: int, *, rescale: bool) -> list[Cell]:
    """The same point at one dimension for `sign`, which Theorem 3 does not cover."""
    at = size(scale)
    d = at.dimensions[1]
    return [
        run(
            Run("sign", d, d, d // 2, "relu", run=i, test=at.test, rescale=rescale, seed=seed),
            cost=(d / 24) ** 4 / 8,
        )
        for i in range(at.size_runs)
    ]


def size_laws(scale: Scale, seed: int, d: int) -> Cell:
    """The laws of the same point."""
    config = Laws("size", d, d, d // 2, "relu", prompts=size(scale).size_prompts, seed=seed)
    return laws(config, cost=0.6)


def linear_runs(scale: Scale, seed: int, d: int) -> list[Cell]:
    """Linear attention on a linear target, the setting of Lu et al."""
    at = size(scale)
    return [
        run(
            Run("linear", d, d, d // 2, "linear", run=i, test=at.test, seed=seed),
            cost=(d / 24) ** 4 / 16,
        )
        for i in runs_for_limits(at, "linear", d, 2 * at.size_runs)
    ]


def nonlinear_runs(scale: Scale, seed: int, d: int) -> list[Cell]:
    """Linear attention on a ReLU target, with and without an intercept.

    The runs of `size` fit these models as well, and serve where no more runs are asked for.
    """
    at = size(scale)
    runs = runs_for_limits(at, "intercept", d, 0)
    if not runs:
        return size_runs(scale, seed, d)
    return [
        run(
            Run("intercept", d, d, d // 2, "relu", run=i, test=at.test, seed=seed),
            cost=(d / 24) ** 4 / 8,
        )
        for i in runs
    ]


def linear_laws(scale: Scale, seed: int, d: int) -> Cell:
    """The limit law of the same setting."""
    return laws(Laws("linear", d, d, d // 2, "linear", prompts=0, seed=seed), cost=0.05)


def distances(scale: Scale, seed: int) -> list[Cell]:
    """The distances from Gaussian by dimension."""
    at = size(scale)
    return [
        distance(
            Distance(d, d, d // 2, prompts=at.distance_prompts, seed=seed),
            cost=d / 100 * at.distance_prompts / 4000,
        )
        for d in at.distances
    ]


def reductions(seed: int) -> list[Cell]:
    """The reduction of attention, with fewer and with more pairs than dimensions."""
    return [reduction(Reduction(d, length, seed=seed)) for d, length in ((6, 4), (12, 20))]


def conditional_law(seed: int) -> Cell:
    """Pre-activations given the prompt; an identity at every d, so that no scale has another."""
    return conditional(Conditional(seed=seed))


def law_numbers() -> Cell:
    """The tables of the laws; they depend neither on a scale nor on a seed."""
    return numbers(Numbers(), cost=2.0)


def cells(scale: Scale, seed: int) -> Sequence[Cell]:
    """All cells of the study, each of them once."""
    at = size(scale)
    targets: tuple[TargetName, ...] = ("relu", "tanh")
    others: tuple[PanelName, ...] = ("width", "ridge", "ridge-degree-4")
    planned = chain(
        [law_numbers(), *reductions(seed), conditional_law(seed), *distances(scale, seed)],
        *(panel_runs("n", scale, seed, target=target) for target in targets),
        (panel_laws("n", scale, seed, target=target) for target in targets),
        *(panel_runs("length", scale, seed, alpha=alpha) for alpha in LENGTHS),
        (length_laws(scale, seed, alpha) for alpha in LENGTHS),
        *(panel_runs(panel, scale, seed) for panel in others),
        (panel_laws(panel, scale, seed) for panel in others),
        [degree_laws(scale, seed)],
        *(size_runs(scale, seed, d) for d in at.dimensions),
        (size_laws(scale, seed, d) for d in at.dimensions),
        size_runs(scale, seed, at.dimensions[1], rescale=True),
        *(sign_runs(scale, seed, rescale=rescale) for rescale in (False, True)),
        *(linear_runs(scale, seed, d) for d in at.dimensions),
        *(nonlinear_runs(scale, seed, d) for d in at.dimensions),
        (linear_laws(scale, seed, d) for d in at.dimensions),
        *(degree_runs(scale, seed, d) for d in at.degrees),
    )
    return list(dict.fromkeys(planned))
