"""The cells about FULL networks at each scale.

The shipped networks are evaluated at `quick` (the best of five) and at `standard` and `paper`
(every one). `paper` also trains what ships, all ten laws and seven depths from five starts, which
is meant for a GPU, and `standard` trains FULL on one law for minutes. The table of digests says
which networks ship, so that planning opens no file; a test compares it with the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from attnlab.lab.cell import Cell
from attnlab.lab.study import Scale
from attnlab.linear.study import grids, grids_axis
from attnlab.linear.study.cells_full import (
    ablation,
    full_evaluation,
    full_growth,
    full_matrices,
    full_structure,
    full_training,
    many_starts,
)
from attnlab.linear.study.questions_ablation import Ablation
from attnlab.linear.study.questions_full import (
    MODELS,
    FullEvaluation,
    FullGrowth,
    FullMatrices,
    FullStructure,
    FullTraining,
    ManyStarts,
)
from attnlab.linear.study.table_1 import DEPTHS, LAWS

DIGESTS = {
    "uniform:0": "41eb4e96d9c484aa",
    "uniform:1": "4046882e49cdde64",
    "uniform:2": "479100bd277fdfbc",
    "uniform:3": "4b8506d50953a803",
    "uniform:4": "f9492c1fe09d0f5b",
    "uniform:5": "74c492a89daca02b",
    "uniform:6": "6f57dd818e994bb8",
    "uniform:7": "f19212a64c41ebd2",
    "categorical:1,3": "f1814a9db658060f",
    "categorical:1,3,5": "f91c94d14ddc8206",
}
# Of the networks on U(0,5) that other recipes than the one of all laws and depths trained.
RECIPE_DIGESTS: dict[str, str] = {
    "printed": "220d166b2ac471f8",
    "printed-diag": "1da88c96662578d2",
    "printed-gd++": "a0c49dec28888c8a",
    "from-diag": "672dbfd904e3a792",
}
# FULL by the paper's recipe on other laws, where most networks with clipped gradients have a tail:
# the depth, and the digest of the networks.
PRINTED_ELSEWHERE: dict[str, tuple[int, str]] = {
    "uniform:1": (3, "96d1bd52ec95e08e"),
    "uniform:2": (3, "57e85b79110df389"),
    "uniform:3": (3, "4648e296c76f3081"),
}
STARTS = 5  # from random weights of all layers; the numbers from 5 on are of grown networks
STEPS = 200_000  # the paper's
LAW_BY_LAW = 5  # layers from which every law is a cell of its own, so that a processor can train it
NEAR_DIAG = (4, 7), 70_000  # depths of FULL that starts near DIAG, and its steps
RECIPE_DEPTH = 4  # of the networks that the paper's recipe trains, on U(0,5)
HEAT_MAP = grids.TWO, 4  # Figure 4 shows four layers on {1, 3}
# On a processor: one law, one and two layers, and batches that take minutes rather than hours.
SMALL: dict[str, Any] = {"batch": 512, "held_out": 4096, "chunk": 500, "steps": 6000, "starts": 2}
SMALL_DEPTHS = (1, 2)


def shipped(law: str, scale: Scale, seed: int) -> list[Cell]:
    """The shipped networks of a law; empty where there are none."""
    if law not in DIGESTS:
        return []
    which = "best" if scale == "quick" else "every"
    shared = grids.evaluated(law, scale, seed)
    config = FullEvaluation(networks=which, weights=DIGESTS[law], **shared)
    return [full_evaluation(config, cost=1.0 if scale == "quick" else 5.0)]


def by_recipe(recipe: str, scale: Scale, seed: int, law: str = grids.U5) -> list[Cell]:
    """The shipped networks of a recipe on a law, every start; empty where there are none.

    "printed", "printed-gd++" and "printed-diag" are the paper's recipe for FULL, GD++ and DIAG, and
    "from-diag" is FULL that started near DIAG. Laws beside U(0,5) have "printed" alone.
    """
    digest = RECIPE_DIGESTS.get(recipe) if law == grids.U5 else None
    if recipe == "printed" and law in PRINTED_ELSEWHERE:
        digest = PRINTED_ELSEWHERE[law][1]
    if digest is None:
        return []
    sequences = grids.size(scale).sequences
    shared: dict[str, Any] = {"recipe": recipe, "noise": law, "sequences": sequences, "seed": seed}
    config = FullEvaluation(networks="every", weights=digest, **shared)
    return [full_evaluation(config, cost=0.5)]


def trained(scale: Scale, seed: int) -> list[Cell]:
    """Training of FULL and of the other recipes, one cell per depth; `quick` has none."""
    if scale == "standard":
        return [_training(grids.U5, depth, seed, **SMALL) for depth in SMALL_DEPTHS]
    if scale == "quick":
        return []
    every, (near, steps) = " ".join(LAWS), NEAR_DIAG
    return [
        *(_training(every, depth, seed) for depth in DEPTHS if depth < LAW_BY_LAW),
        *(_training(law, depth, seed) for depth in DEPTHS if depth >= LAW_BY_LAW for law in LAWS),
        _training(grids.U5, DEPTHS[-1] + 1, seed),
        *(
            _training(grids.U5, RECIPE_DEPTH, seed, recipe=recipe)
            for recipe in ("printed", "printed-gd++", "printed-diag")
        ),
        *(
            _training(law, depth, seed, recipe="printed")
            for law, (depth, _) in PRINTED_ELSEWHERE.items()
        ),
        *(_training(grids.U5, depth, seed, recipe="from-diag", steps=steps) for depth in near),
    ]


def grown(scale: Scale, seed: int) -> list[Cell]:
    """Networks of all depths grown layer by layer, one cell per noise law; at `paper` alone."""
    if scale != "paper":
        return []
    configs = [FullGrowth(laws=law, seed=seed) for law in LAWS]
    return [full_growth(each, cost=_cost(each) * (each.depth + 1) / 2) for each in configs]


def figure_4_starts(scale: Scale, seed: int) -> list[Cell]:
    """The network of Figure 4 from twenty starts; at `paper` alone."""
    if scale != "paper":
        return []
    law, depth = HEAT_MAP
    config = ManyStarts(laws=law, depth=depth, seed=seed, steps=STEPS)
    return [many_starts(config, cost=_cost(config))]


def _training(laws: str, depth: int, seed: int, **changes: Any) -> Cell:
    config = FullTraining(laws=laws, depth=depth, seed=seed, **{"steps": STEPS, **changes})
    return full_training(config, cost=_cost(config))


def _cost(config: FullTraining) -> float:
    networks = config.starts * len(config.laws.split())
    return 5 + config.steps * config.batch * config.depth * networks / 2e8


def ablated(scale: Scale, seed: int) -> list[Cell]:
    """The DIAG network of the paper's recipe without some of its omegas; empty if none ships."""
    if "printed-diag" not in RECIPE_DIGESTS:
        return []
    digest, sequences = RECIPE_DIGESTS["printed-diag"], grids.size(scale).sequences
    return [ablation(Ablation(grids.U5, RECIPE_DEPTH, digest, sequences, seed), cost=2.0)]


def structures() -> list[Cell]:
    """The structure of P and Q of the shipped networks, one cell per law."""
    return [full_structure(FullStructure(law, digest), 0.05) for law, digest in DIGESTS.items()]


def heat_map() -> list[Cell]:
    """The network of Figure 4; empty where it does not ship."""
    law, layers = HEAT_MAP
    return [full_matrices(FullMatrices(law, layers, DIGESTS[law]))] if law in DIGESTS else []


def cells(scale: Scale, seed: int) -> Sequence[Cell]:
    """All cells of the study."""
    planned = chain(
        grids.cells(scale, seed),
        grids_axis.trained(scale, seed),
        *(shipped(law, scale, seed) for law in LAWS),
        trained(scale, seed),
        grown(scale, seed),
        figure_4_starts(scale, seed),
        *(by_recipe(recipe, scale, seed) for recipe in ("printed", *MODELS)),
        *(by_recipe("printed", scale, seed, law) for law in PRINTED_ELSEWHERE),
        ablated(scale, seed),
        structures(),
        heat_map(),
    )
    return list({cell.key: cell for cell in planned}.values())
