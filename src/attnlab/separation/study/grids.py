"""Which cells each figure and claim asks for, at each scale.

Source of the grids: Deng, Song, Zhou (arXiv 2310.11685), Sections 7.1 and 7.2. The attention sweeps
run at the paper's grid and trial count at every scale; the regression sweeps are thinned below
`paper`, because a trial there costs n m random signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Literal

from attnlab.lab.cell import Cell
from attnlab.lab.study import Scale
from attnlab.separation.models import paper_width, regression_width
from attnlab.separation.study.cells import (
    AttentionPoint,
    RegressionPoint,
    SignSums,
    SuccessMap,
    TensorForm,
    attention,
    regression,
    sign_sums,
    success_map,
    tensor_form,
)

DELTA = 0.01
X = Literal["identity", "ones"]
XS: tuple[X, X] = ("identity", "ones")
FIGURE_OF: dict[X, str] = {"identity": "4", "ones": "5"}

# Panel -> the parameter it sweeps.
PANELS = {"a": "n", "b": "d", "c": "m", "d": "a1", "e": "a0", "f": "c"}

# n with many divisors, so that d = k + 2 can take many values.
MANY_DIVISORS = 5040


def attention_cell(seed: int, **parameters) -> Cell:
    parameters.setdefault("m", paper_width(parameters.get("n", 200), DELTA))
    return attention(AttentionPoint(**parameters, seed=seed))


def attention_sweep(panel: str, x: X, seed: int, *, keep_b: bool = True) -> list[Cell]:
    """Panel (a) to (f) of Figure 4 (X = I) or 5 (X = 1).

    In (f) the paper keeps b = 0.2 while c moves, so b + c is not 1; `keep_b=False` takes b = 1 - c.
    """
    match panel:
        case "a":
            points = [{"n": n, "d": 12} for n in range(200, 1001, 10)]
        case "b":
            points = [{"n": 256, "d": d} for d in (4, 6, 10, 18, 34, 66)]
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
    return [attention_cell(seed, x=x, **point) for point in points]


def regression_sweep(panel: str, scale: Scale, seed: int) -> list[Cell]:
    """Panel (a), n with m = log n, or (b), m at n = 1000, of Figure 3."""
    if panel == "a":
        step = {"quick": 100, "standard": 50, "paper": 10}[scale]
        points = [(n, regression_width(n)) for n in range(100, 2001, step)]
    else:
        dense = {"quick": 10, "standard": 20, "paper": 100}[scale]
        widths = [*range(1, dense + 1), *range(dense + 10, 101, 10)]
        points = [(1000, m) for m in widths]
    return [regression(RegressionPoint(n, m, seed=seed), cost=1 + n * m / 1e3) for n, m in points]


def two_level_sweep() -> list[Cell]:
    """The exact law of the regression model on data half at log n, half at 1.4 log n."""
    return [
        regression(RegressionPoint(n, regression_width(n), data="two-level", trials=0))
        for n in range(100, 2001, 100)
    ]


def sign_sum_cells(kind: Literal["softmax", "linear"], label: int, seed: int) -> list[Cell]:
    sizes = [100, 250, 500, 1000, 2000]
    return [sign_sums(SignSums(n, label, kind, seed=seed), cost=1 + n / 1e3) for n in sizes]


def informative_sign_sums(seed: int) -> Cell:
    """Lemma 4.1, part 2 at an n where its bound is below 1."""
    return sign_sums(SignSums(2**22, 0, "softmax", samples=30, seed=seed), cost=60.0)


def offset_sweep(d: int, x: X, seed: int) -> list[Cell]:
    """Thresholds (c + o) sqrt(log n) other than the paper's o = 0.1, at twice its width."""
    offsets = [round(0.05 * i, 2) for i in range(1, 25)]
    return [
        attention_cell(seed, n=256, d=d, m=30, x=x, offset=offset, trials=0) for offset in offsets
    ]


def dimension_sweep(b: float, x: X) -> list[Cell]:
    """Every d that n = 5040 allows, for the dimension from which the zero claims hold."""
    divisors = [k for k in range(2, 601) if MANY_DIVISORS % k == 0]
    return [
        attention_cell(0, n=MANY_DIVISORS, d=k + 2, m=15, x=x, b=b, c=round(1 - b, 3), trials=0)
        for k in divisors
    ]


DIMENSION_BS = (0.15, 0.2, 0.3, 0.4)


def cross_cell(x: X, seed: int, *, offset: float = 0.1, m: int = 15) -> Cell:
    return attention_cell(seed, x=x, model="cross", offset=offset, m=m, trials=1000)


def independent_cell(x: X, seed: int) -> Cell:
    return attention_cell(seed, x=x, shared_signs=False, trials=1000)


def tensor_cells(seed: int) -> list[Cell]:
    sizes = [(6, 3), (12, 5), (20, 4)]
    return [tensor_form(TensorForm(n, d, seed)) for n, d in sizes]


def map_cell(plane: Literal["d-m", "a0-a1"], x: X) -> Cell:
    return success_map(SuccessMap(plane, x), cost=20.0)


def cells(scale: Scale, seed: int) -> Sequence[Cell]:
    """Everything the study asks for."""
    attention_sweeps = [attention_sweep(panel, x, seed) for x in XS for panel in PANELS]
    return list(
        chain(
            *attention_sweeps,
            *(attention_sweep("f", x, seed, keep_b=False) for x in XS),
            *(regression_sweep(panel, scale, seed) for panel in "ab"),
            two_level_sweep(),
            *(
                sign_sum_cells(kind, label, seed)
                for kind in ("linear", "softmax")
                for label in (0, 1)
            ),
            [informative_sign_sums(seed)],
            *(offset_sweep(d, x, seed) for d in (4, 6, 10, 18, 34, 66) for x in XS),
            *(dimension_sweep(b, x) for b in DIMENSION_BS for x in XS),
            [cross_cell(x, seed) for x in XS],
            [cross_cell(x, seed, offset=0.5, m=30) for x in XS],
            [independent_cell(x, seed) for x in XS],
            tensor_cells(seed),
            [map_cell(plane, x) for plane in ("d-m", "a0-a1") for x in XS],
        )
    )
