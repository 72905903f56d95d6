"""What holds for every study that ships, the next one included."""

import pytest

from attnlab.lab.catalog import load_study, study_names
from attnlab.lab.ledger import NO_SCALE, judge
from attnlab.lab.study import SCALES, View


@pytest.fixture(params=study_names())
def study(request):
    return load_study(request.param)


def test_without_results_a_claim_is_undecided_and_says_what_to_run(study):
    """But for those that count from the paper's own numbers alone."""
    for claim in study.claims:
        entry = judge(study, claim, View("quick", 0, {}))
        if entry.decided:
            assert entry.grade == "exact"
            assert entry.resolution is None
        else:
            assert f"attnlab reproduce {study.name} --scale" in entry.note or NO_SCALE in entry.note


def test_every_figure_named_by_a_claim_exists(study):
    figures = {figure.id for figure in study.figures}
    assert {name for claim in study.claims for name in claim.figures} <= figures


@pytest.mark.parametrize("scale", SCALES)
def test_every_cell_of_every_scale_is_of_a_declared_kind(study, scale):
    kinds = {kind.name for kind in study.kinds}
    assert {cell.kind.name for cell in study.cells(scale, 0)} <= kinds


def test_ids_are_unique_and_every_claim_names_its_source(study):
    assert len({claim.id for claim in study.claims}) == len(study.claims)
    assert all(claim.source and claim.statement for claim in study.claims)
