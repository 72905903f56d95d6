"""Which points each figure and claim needs, and in which cells they are computed.

Source of the grids: Deng, Song, Zhou (arXiv 2310.11685), Sections 7.1 and 7.2. The attention sweeps
have the paper's grid and number of trials at every scale; the regression sweeps are thinned below
`paper`, because a trial there takes n m random signs. A panel is one cell with many rows. A point
that several panels share belongs to the first of them, and a larger scale adds cells to those of
the smaller ones, so that no point is stored twice. Grids are kept, since claims ask for them again
and again and the key of a point takes longer than what is done with it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal

from attnlab.lab.cell import AnyCell, Cell, Sweep
from attnlab.lab.study import SCALES, Scale
from attnlab.separation.models import KINDS, Kind, paper_width, regression_width
from attnlab.separation.study import grids_spikes, grids_theory
from attnlab.separation.study.cells_attention import AttentionPoint, attention
from attnlab.separation.study.cells_lemmas import SignSums, TensorForm, sign_sums, tensor_form
from attnlab.separation.study.cells_map import SuccessMap, success_map
from attnlab.separation.study.cells_published import PublishedAccuracies, published
from attnlab.separation.study.cells_regression import RegressionPoint, regression
from attnlab.separation.study.cells_work import AttentionWork, work
from attnlab.separation.study.grids_theory import DELTA

X = Literal["identity", "ones"]
XS: tuple[X, X] = ("identity", "ones")
FIGURE_OF: dict[X, str] = {"identity": "4", "ones": "5"}
PLANES: tuple[Literal["d-m", "a0-a1"], ...] = ("d-m", "a0-a1")

# Panel -> the parameter it sweeps.
PANELS = {"a": "n", "b": "d", "c": "m", "d": "a1", "e": "a0", "f": "c"}
PANEL_DS = (4, 6, 10, 18, 34, 66)  # of panel (b)
OFFSET_N = 256  # the n of panel (b)


def attention_cell(seed: int, **parameters) -> Cell:
    """A point of the attention model, with the paper's width unless another one is given."""
    parameters.setdefault("m", paper_width(parameters.get("n", 200), DELTA))
    return attention(AttentionPoint(**parameters, seed=seed))


def law_cell(**parameters) -> Cell:
    """A point of the exact law alone, which no seed changes."""
    return attention_cell(0, **parameters, trials=0)


@functools.cache
def attention_sweep(panel: str, x: X, seed: int, *, keep_b: bool = True) -> Sequence[Cell]:
    """Panel (a) to (f) of Figure 4 (X = I) or 5 (X = 1).

    In (f) the paper keeps b = 0.2 while c moves, so b + c is not 1; `keep_b=False` takes b = 1 - c.
    """
    match panel:
        case "a":
            points = [{"n": n, "d": 12} for n in range(200, 1001, 10)]
        case "b":
            points = [{"n": 256, "d": d} for d in PANEL_DS]
        case "c":
            points = [{"m": m} for m in range(1, 81)]
        case "d":
            points = [{"a1": round(0.1 + 0.036 * i, 3)} for i in range(81)]
        case "e":
            points = [{"a0": i / 100} for i in range(1, 81)]
        case "f":
            cs = [round(0.5 + 0.005 * i, 3) for i in range(81)]
            points = [{"c": c, "b": 0.2 if keep_b else round(1 - c, 3)} for c in cs]
        case _:
            raise KeyError(panel)
    return tuple(attention_cell(seed, x=x, **point) for point in points)


@functools.cache
def regression_sweep(panel: str, scale: Scale, seed: int) -> Sequence[Cell]:
    """Panel (a), n with m = log n, or (b), m at n = 1000, of Figure 3."""
    if panel == "a":
        step = {"quick": 100, "standard": 50, "paper": 10}[scale]
        points = [(n, regression_width(n)) for n in range(100, 2001, step)]
    else:
        dense = {"quick": 10, "standard": 20, "paper": 100}[scale]
        widths = [*range(1, dense + 1), *range(dense + 10, 101, 10)]
        points = [(1000, m) for m in widths]
    return tuple(regression(RegressionPoint(n, m, seed=seed)) for n, m in points)


def thinned(panel: str, scale: Scale) -> str:
    """What a scale leaves out of a panel, named by figure and letter; empty if nothing."""
    number, letter = panel
    if number != "3":
        return ""
    shown, every = (len(regression_sweep(letter, each, 0)) for each in (scale, SCALES[-1]))
    return "" if shown == every else f"{shown} of the {every} points of Figure 3({letter})"


def two_level_sweep() -> list[Cell]:
    """The exact law of the regression model on data half at log n, half at 1.4 log n."""
    return [
        regression(RegressionPoint(n, regression_width(n), data="two-level", trials=0))
        for n in range(100, 2001, 100)
    ]


def sign_sum_cells(kind: Kind, label: int, seed: int) -> list[Cell]:
    """The sums of Lemmas 4.1 and 4.2 at growing n."""
    return [sign_sums(SignSums(n, label, kind, seed=seed)) for n in (100, 250, 500, 1000, 2000)]


@functools.cache
def offset_sweep(d: int, x: X) -> Sequence[Cell]:
    """Thresholds (c + o) sqrt(log n) other than the paper's o = 0.1, at the theorem's width."""
    offsets = [round(0.05 * i, 2) for i in range(1, 25)]
    m = grids_theory.width(grids_theory.THEOREM_C, OFFSET_N)
    return tuple(law_cell(n=OFFSET_N, d=d, m=m, x=x, offset=offset) for offset in offsets)


def cross_cell(x: X, seed: int, *, offset: float = 0.1, m: int = 15) -> Cell:
    """Our cross-attention datasets."""
    return attention_cell(seed, x=x, model="cross", offset=offset, m=m, trials=1000)


def independent_cell(x: X, seed: int) -> Cell:
    """Four networks that draw their signs independently."""
    return attention_cell(seed, x=x, shared_signs=False, trials=1000)


def tensor_cells(seed: int) -> list[Cell]:
    """Sizes at which both forms of attention are compared."""
    return [tensor_form(TensorForm(n, d, seed)) for n, d in ((6, 3), (12, 5), (20, 4))]


def published_accuracies() -> Cell:
    """What others measured on long sequences."""
    return published(PublishedAccuracies())


def work_cells(seed: int) -> list[Cell]:
    """Growing lengths at which the work of both kinds of attention is counted."""
    return [work(AttentionWork(n, seed=seed)) for n in (64, 256, 1024)]


def map_cell(plane: Literal["d-m", "a0-a1"], x: X) -> Cell:
    """A map of the exact law."""
    return success_map(SuccessMap(plane, x), cost=0.2)


@functools.cache
def cells(scale: Scale, seed: int) -> Sequence[AnyCell]:
    """Everything that the study computes, every point in exactly one cell."""
    panels = [attention_sweep(panel, x, seed) for x in XS for panel in PANELS]
    summed = [point for x in XS for point in attention_sweep("f", x, seed, keep_b=False)]
    cross = [cross_cell(x, seed, offset=o, m=m) for o, m in ((0.1, 15), (0.5, 30)) for x in XS]
    panels += [[*summed, *cross, *(independent_cell(x, seed) for x in XS)]]
    laws = [[point for x in XS for d in PANEL_DS for point in offset_sweep(d, x)]]
    up_to = SCALES[: SCALES.index(scale) + 1]
    regressions = [regression_sweep(panel, each, seed) for each in up_to for panel in "ab"]
    sums = [point for k in KINDS for label in (0, 1) for point in sign_sum_cells(k, label, seed)]
    return (
        *one_sweep_per_group(panels),
        *one_sweep_per_group(laws, cost=0.0005),
        *one_sweep_per_group(regressions, cost=0.015),
        *one_sweep_per_group([two_level_sweep()]),
        *one_sweep_per_group([sums]),
        *one_sweep_per_group(theory_groups(), cost=0.0005),
        *one_sweep_per_group([tensor_cells(seed)]),
        *one_sweep_per_group([work_cells(seed)]),
        *one_sweep_per_group([grids_theory.moment_cells(seed)]),
        published_accuracies(),
        *(map_cell(plane, x) for plane in PLANES for x in XS),
    )


def theory_groups() -> list[Sequence[Cell]]:
    """The exact laws of the theorem and the lemmas, in groups of one kind."""
    every = [point for b in grids_theory.THEOREM_BS for point in grids_theory.theorem_map(b)]
    every += [grids_theory.asymptotic_point(), *grids_theory.corner_sweep()]
    every += [point for e in grids_theory.FIRE_EXPONENTS for point in grids_theory.fire_sweep(e)]
    every += [*grids_theory.cross_theorem(), *grids_spikes.spike_points()]
    return [
        every,
        [point for b in grids_theory.THEOREM_BS for point in grids_theory.least_dimensions(b)],
        [point for b in grids_spikes.SPIKE_BS for point in grids_spikes.least_spikes(b)],
        [point for k in grids_spikes.LIMIT_DIMENSIONS for point in grids_spikes.largest_spikes(k)],
        grids_theory.lemma_sweep(),
        grids_theory.tail_cells(),
        grids_theory.entry_sweep(),
        grids_theory.linear_spike_cells(),
        [point for x in XS for point in grids_theory.row_sweep(x)],
    ]


def one_sweep_per_group(groups: Sequence[Sequence[Cell]], cost: float = 0.002) -> list[AnyCell]:
    """One sweep for each group of points of one kind; a shared point belongs to the first group."""
    seen: set[str] = set()
    sweeps = []
    for group in groups:
        new = {point.key: point for point in group if point.key not in seen}
        seen.update(new)
        if new:
            points = tuple(new.values())
            sweeps.append(Sweep(points[0].kind, points, cost * len(points)))
    return sweeps
