"""What a cell with training keeps of every seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnlab.rank.models.attention import RankAttention
    from attnlab.rank.training.populations import Population


@dataclass(frozen=True)
class TrainedRow:
    """One seed. Numbers are None where the member diverged; `status` says how."""

    member: int
    head_count: int
    weights: int  # in the whole model
    test: float | None  # squared error on held-out prompts
    test_error: float | None  # its standard error
    least_training: float | None  # of the means over 100 steps, as the paper's figures show
    last_training: float | None
    angle: float | None  # of K Q^T to the identity in degrees, mean over the first layer's heads
    angle_spread: float | None  # standard deviation over those heads
    median_angle: float | None  # median over those heads, as in Figure 2
    form_norm: float | None  # of K Q^T (Frobenius), mean over those heads
    median_norm: float | None
    form_rank: int | None  # largest numerical rank of K Q^T over the first layer's heads
    status: str


def rows_of(population: Population, layers: RankAttention, d: int) -> list[TrainedRow]:
    """One row per member; `layers` are the first attention layers of all members, stacked."""
    import numpy as np

    from attnlab.rank.training.forms import forms_of

    trained, forms = population.trained, forms_of(layers, d)
    angles, norms = np.asarray(forms.angles), np.asarray(forms.norms)
    return [
        TrainedRow(
            member=i,
            head_count=layers.heads,
            weights=population.weights,
            test=_finite(error.value),
            test_error=_finite(error.standard_error),
            least_training=_finite(np.nanmin(trained.losses[:, i])),
            last_training=None if i in trained.stopped else _finite(trained.losses[-1, i]),
            angle=_finite(angles[i].mean()),
            angle_spread=_finite(angles[i].std()),
            median_angle=_finite(np.median(angles[i])),
            form_norm=_finite(norms[i].mean()),
            median_norm=_finite(np.median(norms[i])),
            form_rank=forms.rank(i),
            status=trained.status[i],
        )
        for i, error in enumerate(population.errors)
    ]


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
