"""The printed losses of five layers of width d², and what training on replayed batches ends at."""

import pytest

from attnlab.rank.study.claims_five_layers import PRINTED, TELLING
from tests.rank.study import evidence
from tests.rank.study.changed_evidence import changed, entry


def five_layers_replayed(c):
    return c.layers == 5 and c.replay > 0


def test_five_layers_answer_0_where_every_seed_ends_at_that_loss():
    view = evidence.view("paper")
    assert entry("five-layers-answer-0", view).verdict == "fails"
    nothing = changed(view, "encoder", five_layers_replayed, least_training=1.0)
    found = entry("five-layers-answer-0", nothing)
    assert found.verdict == "holds"
    # Twice what it resolves, at the rank whose printed loss is least, is no longer the answer 0.
    least = min(PRINTED[rank] for rank in TELLING)
    off = 1 - 2 * found.resolution.value * least
    closer = changed(view, "encoder", five_layers_replayed, least_training=off)
    assert entry("five-layers-answer-0", closer).verdict != "holds"


@pytest.mark.parametrize("claim", ["five-layers-answer-0", "five-layers-published-start"])
def test_five_layers_that_answer_0_at_one_rank_alone_decide_nothing(claim):
    view = evidence.view("paper")
    for kind in ("encoder", "encoder_variant"):
        view = changed(
            view, kind, lambda c: five_layers_replayed(c) and c.rank == 8, least_training=1.0
        )
    assert entry(claim, view).verdict == "undecided at this scale"
