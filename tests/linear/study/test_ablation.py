"""The cell about a trained DIAG network without some of its omegas."""

import numpy as np
import pytest

from attnlab.linear.models.weights import Omegas
from attnlab.linear.study import compute_ablation, grids_full
from attnlab.linear.study.questions_ablation import LEVELS, Ablation


@pytest.fixture(scope="module")
def rows():
    digest = grids_full.RECIPE_DIGESTS[compute_ablation.RECIPE]
    return compute_ablation.ablation(Ablation(weights=digest, sequences=512)).rows


def test_every_quantity_has_a_mean_with_its_standard_error(rows):
    names = ["loss", "momentum", "rescaling", *["factor"] * len(LEVELS)]
    assert [row.quantity for row in rows] == names
    assert [row.sigma for row in rows if row.quantity == "factor"] == list(LEVELS)
    assert all(row.error > 0 for row in rows)


def test_a_network_without_y_in_its_inputs_and_without_rescaling_has_a_factor_of_one(monkeypatch):
    """GD++ has omega_xy = omega_yy = 0: nothing to leave out, and y keeps its scale."""
    layers = np.full(2, 0.01)
    plain = Omegas(xx=-layers, xy=0 * layers, yx=-layers, yy=0 * layers)
    monkeypatch.setattr(compute_ablation, "_omegas", lambda *given: plain)
    digest = grids_full.RECIPE_DIGESTS[compute_ablation.RECIPE]
    found = compute_ablation.ablation(Ablation(weights=digest, sequences=64)).rows
    values = {(row.quantity, row.sigma): row.value for row in found}
    assert values["momentum", None] == values["rescaling", None] == 0
    assert all(values["factor", sigma] == 1 for sigma in LEVELS)
