"""Long cells without steps: stopped after every unit and continued, they have the same bytes."""

import pytest

from attnlab.lab.task import attempt
from attnlab.lab.watch import Watch
from attnlab.linear.study.cells import axis, noiseless_evaluations, training
from attnlab.linear.study.cells_full import full_evaluation
from attnlab.linear.study.questions_full import FullEvaluation
from attnlab.linear.study.questions_networks import Reference, Training
from attnlab.linear.study.questions_noiseless import NoiselessEvaluations
from attnlab.linear.weights.full import full_networks
from attnlab.linear.weights.shipped import shipped

LAW = "uniform:2"
EFFORT = {"starts": 1, "screening": 8, "fitted": 48, "pool": 96, "tail": 4, "rounds": 0}
SMALL = {"d": 3, "n": 6, "sequences": 32, "level_sequences": 16, "sigma_max": 1.0, "fresh": 64}
DRAWN = {"sequences": 16, "sigma_max": 0.0, "noise": LAW}
CELLS = {
    "diag": training(Training(**SMALL, **EFFORT, family="diag", depth=3)),
    "gd++": training(Training(**SMALL, **EFFORT, family="gd++", depth=2)),
    "reference": axis(Reference(weights=shipped().digest(LAW), **DRAWN)),
    "full": full_evaluation(
        FullEvaluation(weights=full_networks().digest(LAW, "clipped"), **DRAWN)
    ),
    "noiseless": noiseless_evaluations(
        NoiselessEvaluations(d=2, n=5, depth=3, starts=1, sequences=40, evaluations=3)
    ),
}
UNITS = {"diag": "depth", "gd++": "depth", "reference": "depth", "full": "network"}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_that_is_stopped_after_units_has_the_same_bytes(name, tmp_path, monkeypatch):
    monkeypatch.setattr("attnlab.lab.sitting.REPORT_EVERY", 0.0)
    cell, shown = CELLS[name], []
    whole = attempt(cell)
    assert not whole.error
    asked = iter([True, True])  # stopped after the first unit, and after the next one
    watch = Watch(tmp_path, report=lambda *far: shown.append(far), stop=lambda: next(asked, False))
    sittings = [attempt(cell, watch)]
    while sittings[-1].stopped:
        sittings.append(attempt(cell, watch))
    total, unit = shown[0][1], UNITS.get(name, "evaluation")
    assert len(sittings) == min(total, 3)
    assert shown[:2] == [(1, total, unit), (2, total, unit)]
    assert sittings[0].error == f"stopped at {unit} 1 of {total}, from which it continues"
    assert (sittings[-1].part, sittings[-1].weights) == (whole.part, whole.weights)
