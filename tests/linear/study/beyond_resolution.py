"""For every sampled claim of `linear`: inputs that depart by twice the resolution r of the check.

Each entry maps r, in the unit of the claim, to changes of the rows (`rows.changed`).
"""

import math
from collections.abc import Callable

from attnlab.linear.study import claims_tuned, grids
from attnlab.linear.study.claims_noiseless import LINE
from attnlab.linear.study.table_1 import COMPARED, PAPER, UNIFORM
from tests.linear.study.rows import (
    BAYES,
    law_values,
    network_value,
    profile_value,
    valley,
)

Changes = list[tuple[str, Callable]]


def losses(kind: str, when: Callable, value: Callable) -> Changes:
    """Losses over the noise law set to value(config, row) where when(config, row)."""

    def change(config, row):
        whole = row.sigma is None and row.read == row.layers
        return {"loss": value(config, row)} if whole and when(config, row) else {}

    return [(kind, change)]


def of_family(name: str, depth: int | None = None) -> Callable:
    return lambda c, r: c.family == name and (depth is None or r.layers == depth)


def to_paper(factor: float, c, r) -> float:
    return factor * PAPER[COMPARED[r.model], r.layers, c.noise]


def baseline(name: str, value: Callable) -> Changes:
    """Losses of a predictor without layers over the noise law, set to value(config, row)."""

    def change(config, row):
        return {"loss": value(config, row)} if (row.model, row.sigma) == (name, None) else {}

    return [("baselines", change)]


def level(kind: str, model: str, value: Callable) -> Changes:
    """Profiles on U(0,5), read after the last layer, set to value(row) where that is not None."""

    def change(config, row):
        own = row.model == model and row.sigma is not None and row.read == row.layers
        found = value(row) if own and config.noise == grids.U5 else None
        return {} if found is None else {"loss": found}

    return [(kind, change)]


def reads(value: Callable) -> Changes:
    """Rows of trained networks on U(0,5), set to value(row) where that is not None."""

    def change(config, row):
        found = value(row) if config.noise == grids.U5 else None
        return {} if found is None else {"loss": found}

    return [("training", change)]


def _last_gain(r: float) -> Changes:
    """DIAG above TUNEDRR on the uniform law with the largest s_max."""
    return losses(
        "training",
        lambda c, row: c.family == "diag" and c.noise == UNIFORM[7],
        lambda c, row: (1 + 2 * r) * PAPER["TUNEDRR", 0, UNIFORM[7]],
    )


def _layer_that_adds(r: float) -> Changes:
    """The third layer of the paper's recipe leaves a larger loss than the second."""

    def change(config, row):
        hit = config.recipe == "printed" and row.sigma is None and row.read == 3
        return {"loss": (1 + 2 * r) * 1.5 * row.loss} if hit else {}

    return [("full_evaluation", change)]


def _between(row, share: float) -> float:
    """A loss that keeps `share` of the middle layer's loss."""
    return share * profile_value("DIAG", row.layers, row.layers // 2, row.sigma)


def _seldom(r: float) -> Changes:
    """No evaluation shows a printed loss of five layers, where the line less 2 r is below 0."""
    assert 2 * r > LINE
    larger = lambda c, row: {"mean": 1e9} if row.layers == 5 else {}  # noqa: E731
    return [("noiseless_evaluations", larger)]


def _spread(r: float) -> Changes:
    """Evaluations of three layers that are above the printed loss by twice the factor r."""
    return [
        (
            "noiseless_evaluations",
            lambda c, row: {"mean": 2 * r * PAPER["GD++", row.layers, UNIFORM[0]]},
        )
    ]


def _full_below_diag(r: float, low: float, high: float) -> Changes:
    """FULL on {1,3} below DIAG at a share of 1/2 + 2 r of the untrained levels of a range."""
    own = [0.25 * k for k in range(17) if low < 0.25 * k < high and k not in (4, 12)]
    hit = own[: math.ceil((0.5 + 2 * r) * len(own))]

    def change(config, row):
        deep = config.noise == grids.TWO and row.layers == row.read == 7
        below = {"loss": 0.5 * profile_value("DIAG", 7, 7, row.sigma or 0.0)}
        return below if deep and row.sigma in hit else {}

    return [("full_evaluation", change)]


def tuned_id(law: str) -> str:
    return f"tuned-{law.replace(':', '-').replace(',', '-')}"


BEYOND: dict[str, Callable[[float], Changes]] = {
    "theorem-4.2": lambda r: [
        ("cosine", lambda c, row: {"mean_square": (1 + 2 * r) * row.predicted})
    ],
    "equation-5": lambda r: [
        ("known_noise", lambda c, row: {"excess": -4 * r} if row.multiple == 2 else {})
    ],
    "adjustment-constant": lambda r: [
        ("adjustment", lambda c, row: {"difference": 2 * r * row.oracle})
    ],
    "theorem-4.2-rate": lambda r: [
        (
            "cosine",
            lambda c, row: {
                "mean_square": row.mean_square * (c.n / 350) ** (4 * r),
                "mean_square_error": row.mean_square_error * (c.n / 350) ** (4 * r),
            },
        )
    ],
    "query-noise": lambda r: [("known_noise", lambda c, row: {"added": 1 + 2 * r})],
    "ridge-rescaled-ols": lambda r: [
        ("rescaled", lambda c, row: {"distance": row.distance * (row.n / 20) ** (2 * r)})
    ],
    "theorem-5.2": lambda r: [
        ("rescaling", lambda c, row: {"distance": row.distance * (c.n / 100) ** (2 * r)})
    ],
    "theorem-5.2-third-level": lambda r: [
        ("rescaling", lambda c, row: {"distance": row.limit + 2 * r} if row.limit else {})
    ],
    "table-1-gd": lambda r: losses(
        "training", of_family("gd++", 3), lambda c, row: to_paper(1 + 2 * r, c, row)
    ),
    "table-1-gd-reproduced": lambda r: losses(
        "training", of_family("gd++", 2), lambda c, row: to_paper(1 - 2 * r, c, row)
    ),
    "table-1-diag": lambda r: losses(
        "training", of_family("diag", 4), lambda c, row: to_paper(1 + 2 * r, c, row)
    ),
    "table-1-noiseless": _spread,
    "noiseless-evaluations": _seldom,
    "table-1-noiseless-others": lambda r: losses(
        "full_evaluation",
        lambda c, row: c.noise == UNIFORM[0] and row.layers == 4,
        lambda c, row: to_paper(1 + 2 * r, c, row),
    ),
    "table-1-axis": lambda r: losses(
        "reference", lambda c, row: row.layers == 4, lambda c, row: to_paper(1 + 2 * r, c, row)
    ),
    "table-1-one-layer": lambda r: baseline("one layer", lambda c, row: (1 + 2 * r) * row.loss),
    "table-1-ridges": lambda r: baseline(
        "ADARR", lambda c, row: (1 + 2 * r) * PAPER["ADARR", 0, c.noise]
    ),
    "gd-is-constrr": lambda r: losses(
        "training",
        of_family("gd++"),
        lambda c, row: (1 + 2 * r) * max(law_values(c.noise)["GD++ floor"], 1e-20),
    ),
    "gd-higher": lambda r: losses(
        "training",
        of_family("diag", 7),
        lambda c, row: (1 + 2 * r) * law_values(c.noise)["GD++ floor"],
    ),
    "gd-stalls": lambda r: losses(
        "training",
        of_family("diag"),
        lambda c, row: (1 + 2 * r) * law_values(c.noise)["GD++ floor"],
    ),
    "four-layers-beat-adarr-diag": lambda r: losses(
        "training",
        of_family("diag", 4),
        lambda c, row: (1 + 2 * r) * PAPER["ADARR", 0, c.noise] + 1e-9,
    ),
    "gain-grows": _last_gain,
    "tuned-improves": lambda r: baseline(
        "TUNEDRR", lambda c, row: (1 + 2 * r) * PAPER["ADARR", 0, c.noise]
    ),
    "more-heads": lambda r: losses(
        "training",
        of_family("omegas", 3),
        lambda c, row: (1 - 2 * r) * network_value("DIAG", c.noise, 4),
    ),
    "iterative-adarr": lambda r: [
        ("iterations", lambda c, row: {"loss": (1 + 2 * r) * 0.068} if row.steps > 30 else {})
    ],
    **{
        claim.id: lambda r, claim=claim: losses(
            "training",
            lambda c, row: c.family == "diag" and row.layers == 7 and claim.id == tuned_id(c.noise),
            lambda c, row: (1 + 2 * r) * PAPER["TUNEDRR", 0, c.noise],
        )
        for claim in claims_tuned.CLAIMS
    },
    "very-accurate": lambda r: losses(
        "training",
        lambda c, row: c.family == "diag" and row.layers == 7 and c.noise in BAYES,
        lambda c, row: (
            BAYES[c.noise]
            + (0.05 + 2 * r) * (BAYES[c.noise] + law_values(c.noise)["oracle (unadjusted)"])
        ),
    ),
    "surpasses-many-baselines": lambda r: losses(
        "training",
        of_family("diag", 7),
        lambda c, row: (1 + 2 * r) * PAPER["TUNEDRR", 0, c.noise],
    ),
    **{
        f"outperforms-{model.lower()}": lambda r, kind=kind: losses(
            kind,
            lambda c, row: getattr(c, "family", "diag") == "diag" and row.layers == 7,
            lambda c, row: (1 + 2 * r) * PAPER["TUNEDRR", 0, c.noise],
        )
        for model, kind in {"DIAG": "training", "FULL": "full_evaluation"}.items()
    },
    "two-levels-full-better": lambda r: losses(
        "full_evaluation",
        lambda c, row: c.noise == grids.TWO and row.layers == 7,
        lambda c, row: (1 + 2 * r) * network_value("DIAG", grids.TWO, 7),
    ),
    "two-levels-diag-untrained": lambda r: _full_below_diag(r, -1, 9),
    "two-levels-diag-interpolates": lambda r: _full_below_diag(r, 1, 3),
    "two-levels-diag-below": lambda r: _full_below_diag(r, -1, 1),
    "two-levels-diag-extrapolates": lambda r: _full_below_diag(r, 3, 9),
    "three-levels-rough": lambda r: [
        (
            "full_evaluation",
            lambda c, row: (
                {"loss": profile_value("DIAG", 7, 7, row.sigma)}
                if (c.noise, row.layers, row.read) == (grids.THREE, 7, 7) and row.sigma is not None
                else {}
            ),
        )
    ],
    "figure-5": _layer_that_adds,
    "symmetry-broken": lambda r: losses(
        "reference",
        lambda c, row: row.layers == 5,
        lambda c, row: (1 + 2 * r) * network_value("DIAG", c.noise, 5),
    ),
    "gd-range": lambda r: level(
        "training", "GD++", lambda row: (1 - 2 * r) * 0.03 * row.sigma + 1e-31
    ),
    "gd-profile": lambda r: level(
        "training", "GD++", lambda row: (1 + 2 * r) * valley(row.sigma, 2.9)
    ),
    "adarr-profile": lambda r: level(
        "baselines", "ADARR", lambda row: 0.15 + 2 * r * 0.15 if row.sigma == 4 else None
    ),
    "tuned-profile": lambda r: level(
        "baselines", "TUNEDRR", lambda row: (1 + 2 * r) * 0.09 if row.sigma > 3 else None
    ),
    "two-layers-one-variance": lambda r: level(
        "training",
        "DIAG",
        lambda row: (1 - 2 * r) * 0.3 if (row.layers, row.sigma) == (2, 5) else None,
    ),
    "three-layers-improve": lambda r: level(
        "training",
        "DIAG",
        lambda row: (
            (1 + 2 * r) * valley(row.sigma, 2.9) if (row.layers, row.sigma) == (5, 3) else None
        ),
    ),
    "figure-5-at-the-end": lambda r: reads(
        lambda row: (
            (1 - 2 * r) * network_value(row.model, grids.U5, 4)
            if (row.layers, row.read, row.sigma) == (4, 3, None)
            else None
        )
    ),
    "figure-7-gd": lambda r: reads(
        lambda row: (
            valley(row.sigma, 5.9 + 2 * r)
            if row.model == "GD++" and (row.layers, row.read) == (4, 3) and row.sigma is not None
            else None
        )
    ),
    "figure-7-diag": lambda r: reads(
        lambda row: (
            _between(row, 0.5 * (1 + 2 * r))
            if row.model == "DIAG" and row.sigma is not None and row.read == row.layers > 2
            else None
        )
    ),
    "axis-beats-papers-full": lambda r: losses(
        "reference",
        lambda c, row: row.layers % 2 == 1 or row.layers == 2,
        lambda c, row: to_paper(1.01, c, row),
    ),
    "one-layer-law": lambda r: losses(
        "training",
        lambda c, row: row.layers == 1,
        lambda c, row: (1 + 2 * r) * law_values(c.noise)["one layer"],
    ),
    "gd-floor": lambda r: losses(
        "training", of_family("gd++", 7), lambda c, row: (1 - 2 * r) * row.loss
    ),
    "bayes-uniform-5": lambda r: losses(
        "reference", lambda c, row: row.layers == 7, lambda c, row: (1.05 + 2 * r) * BAYES[c.noise]
    ),
    "bayes-categorical-1-3": lambda r: losses(
        "reference", lambda c, row: row.layers == 7, lambda c, row: (1.5 + 2 * r) * BAYES[c.noise]
    ),
    "bayes-floor": lambda r: losses(
        "reference", lambda c, row: row.layers == 7, lambda c, row: (1 - 2 * r) * BAYES[c.noise]
    ),
}
