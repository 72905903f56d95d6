"""Rows of the paper scale that follow the limit laws, with a little noise: nothing is simulated.

What every claim must say on them is known from the laws, and a departure of any size can be put in.
"""

import math
from functools import cache

import numpy as np

from attnlab.lab.study import View
from attnlab.random.study import cells, grids, panels
from attnlab.random.study.cells import Fitted, LawPoint, problem_of
from attnlab.random.study.cells_checks import DistanceFound
from attnlab.random.study.gaussian_floor import Floor, gaussian_pairs
from attnlab.random.theory.law import law

SCALE, SEED = "paper", 0
NOISE = 0.01  # relative, of one error in one run
FLOOR = 0.0137
GAP = 5.0  # times 1/d: the gap between transformers and their equivalents as drawn, by dimension


@cache
def limits(panel, d, length, tasks, target):
    """The limit law at every point of a panel: model, n, width, ridge and the two errors."""
    problem = problem_of(grids.Run(panel, d, length, tasks, target))
    grid = panels.grid(panel, problem)
    return [
        (
            point.model,
            point.n,
            getattr(point.model, "width", None),
            point.ridge,
            point.icl.value,
            point.idg.value,
        )
        for point in law(problem, grid.models, n=grid.n, ridge=grid.ridges)
    ]


def finite_size(config, model):
    """The factor by which a transformer's error is larger at finite d than in the limit."""
    drawn = config.panel == "size" and not getattr(config, "rescale", False)
    return math.exp(GAP / config.d) if drawn and model in panels.ACTIVATIONS else 1.0


def run_rows(config):
    """One run: the laws with noise of its own."""
    points = limits(config.panel, config.d, config.length, config.tasks, config.target)
    noise = np.random.default_rng([config.run, config.d, config.length]).normal(size=len(points))
    rows = []
    for (model, n, width, ridge, icl, idg), each in zip(points, noise, strict=True):
        name = panels.name_of(model)
        f = math.exp(NOISE * each) * finite_size(config, name)
        rows.append(Fitted(name, "", None, False, n, width, ridge, icl * f, idg * f, icl, 1.0, ""))
    return rows


def law_rows(config):
    """The limit, and a refinement that knows the gap at finite d, of the models that have one."""
    points = limits(config.panel, config.d, config.length, config.tasks, config.target)
    rows = []
    for model, n, width, ridge, icl, idg in points:
        name = panels.name_of(model)
        rows.append(LawPoint(name, n, width, ridge, "limit", icl, idg, icl, 0.0))
        if cells._is_refined(model, config.panel):
            f = finite_size(config, name)
            rows.append(LawPoint(name, n, width, ridge, "refined", icl * f, idg * f, icl, 0.001))
    return rows


def distance_rows(config):
    """Distances that vanish as 1/d, beside those of Gaussian samples."""
    kurtosis = 40 / config.d + 100 / config.d**2
    rows = {
        "lemma-1": (kurtosis, Floor(FLOOR, 0.0)),
        "rescaled": (0.0, Floor(FLOOR, 0.0)),
        "corollary-2": (kurtosis, gaussian_pairs(config.prompts)),
    }
    return [
        DistanceFound(
            statement=name,
            kolmogorov=math.hypot(0.017 * k, floor.kolmogorov),
            kolmogorov_error=1e-4,
            kurtosis=math.hypot(k, floor.kurtosis),
            kurtosis_error=0.02 * kurtosis,
            norm_variance=k / 3,
            norm_variance_error=0.01 * k,
            samples=16,
            floor=FLOOR,
        )
        for name, (k, floor) in rows.items()
    ]


def view(quick):
    """All cells of the paper scale; tables and identities are those of a recorded run."""
    makers = {"random_run": run_rows, "random_law": law_rows, "random_gaussianity": distance_rows}
    results = {}
    for cell in grids.cells(SCALE, SEED):
        make = makers.get(cell.kind.name)
        results[cell.key] = quick.results[cell.key] if make is None else make(cell.config)
    return View(SCALE, SEED, results)
