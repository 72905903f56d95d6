"""The whole study at a very small scale: every cell runs, every claim is judged and drawn."""

import pytest

from attnlab.lab.ledger import judge
from attnlab.lab.study import VERDICTS
from attnlab.random.study import study

EXACT = {  # of the laws alone, or identities: true at every scale and seed
    "attention-reduction",
    "lemma-1-scale",
    "lemma-1-conditional",
    "ridge-scaling-transformer",
    "hermite-coefficients",
    "fig-1-small-ridge",
    "intercept-control",
    "matching-by-samples",
    "constant-predictor",
    "context-length-minimum",
    "peak-rate",
    "implicit-ridge",
    "law-reduces-to-lu",
    "never-beats-linear",
}


def test_every_claim_is_judged_and_the_exact_ones_hold(small):
    for claim in study.claims:
        entry = judge(study, claim, small)
        assert not entry.broken, f"{claim.id}: {entry.note}"
        assert entry.verdict in VERDICTS
        if claim.id in EXACT:
            corrected = claim.id == "attention-reduction"
            assert entry.verdict == ("holds as corrected" if corrected else "holds"), claim.id


@pytest.mark.parametrize("figure", study.figures, ids=lambda figure: figure.id)
def test_every_figure_has_rows(small, figure):
    assert figure.data(small)
