"""When the curves of a figure match, and what else is asked of the points of a figure."""

import math
import re

import pytest

from attnlab.random.study.claims_samples import SLIGHT
from attnlab.random.study.limits_by_degree import SAME
from attnlab.random.study.panels import RIDGES
from tests.random.study.changes import changed, fitted, times, to
from tests.random.study.judging import MLP, UNDECIDED, at_psi, entry_of, verdict

PANELS = {"1a": "n", "2a": "length", "2b": "width", "2c": "ridge|ridge-degree-4"}
LAWS = {**PANELS, "2a": "length-degrees"}
SHORTEST = lambda config, row: config.length == 20  # noqa: E731


def predicting(figure, gap, models=("relu", "tanh")):
    """A refinement that predicts a log ratio of transformer and equivalent."""
    panels = LAWS[figure].split("|")
    return times(math.exp(gap), "law", lambda c, r: c.panel in panels and r.model in models)


def grown(figure, gap, models=MLP):
    """Transformers whose log errors are larger by a gap."""
    return times(math.exp(gap), "run", fitted(PANELS[figure], models))


@pytest.mark.parametrize("figure", sorted(PANELS))
@pytest.mark.parametrize("predicted", [0.0, 0.08, 0.15, 0.6])
def test_a_perfect_match_is_a_match_whatever_is_predicted(paper, figure, predicted):
    seen = changed(paper, predicting(figure, predicted))
    assert verdict(f"theorem-3-fig-{figure}", seen) == "holds"


@pytest.mark.parametrize("figure", sorted(PANELS))
@pytest.mark.parametrize("predicted", [0.0, 0.2])
@pytest.mark.parametrize(
    ("gap", "expected"), [(SLIGHT, "holds"), (-SLIGHT, "holds"), (0.09, "fails"), (-0.2, "fails")]
)
def test_a_slight_gap_is_a_match_and_a_larger_one_is_none(paper, figure, gap, predicted, expected):
    """Whatever is predicted: a gap that finite size explains is a gap at this dimension."""
    seen = changed(paper, grown(figure, gap), predicting(figure, predicted))
    assert verdict(f"theorem-3-fig-{figure}", seen) == expected


def off_at(where, gap=0.2):
    """Figure 2(a) with ReLU transformers that are off at some context lengths."""
    return times(math.exp(gap), "run", fitted("length", "relu", where=where))


def test_short_contexts_correct_figure_2a(paper):
    found = entry_of("theorem-3-fig-2a", changed(paper, off_at(SHORTEST)))
    assert found.verdict == "holds as corrected"
    assert found.note.startswith("As corrected: at every l from 0.5 d on, where relu matches with")
    named = re.findall(r"relu with r = (\d) at l = 0.25 d \(log ratio \+0\.[12]", found.note)
    assert named == ["1", "2", "4"]
    assert "This is about this d; theorem-3 judges the limit." in found.note
    assert found.resolution.value < SAME


def test_longer_contexts_refute_figure_2a(paper):
    """From d/2 on every context length counts."""
    for alpha in (0.5, 1, 8):
        wrong = off_at(lambda config, row, alpha=alpha: config.length == 80 * alpha)
        assert verdict("theorem-3-fig-2a", changed(paper, wrong)) == "fails"
        assert verdict("theorem-3-fig-2a", changed(paper, wrong, off_at(SHORTEST))) == "fails"


def test_a_gap_that_does_not_match_is_shown_with_its_prediction(paper):
    predicted = times(
        math.exp(0.2),
        "law",
        lambda c, r: c.panel == "length-degrees" and r.model == "relu" and SHORTEST(c, r),
    )
    found = entry_of("theorem-3-fig-2a", changed(paper, off_at(SHORTEST), predicted))
    assert found.verdict == "holds as corrected"
    assert found.note.count("predicted +0.200)") == 3


def test_a_single_point_that_does_not_match_is_noticed(paper):
    one = times(1.2, "run", fitted("width", "tanh", where=at_psi(0.5)))
    assert verdict("theorem-3-fig-2b", changed(paper, one)) == "fails"


def test_what_is_left_out_is_counted(paper):
    """Ill-conditioned fits are named; points next to the peak are compared with the others."""
    ill = to("run", fitted("width", MLP, where=at_psi(2.0)), diagnosis="ill-conditioned")
    plain, fewer = (entry_of("theorem-3-fig-2b", view) for view in (paper, changed(paper, ill)))
    assert "66 comparisons at d = 80, 18 of them next to the peak" in plain.measured
    assert "left out: 0 ill-conditioned" in plain.measured
    assert "60 comparisons at d = 80, 18 of them next to the peak" in fewer.measured
    assert "left out: 6 ill-conditioned (m = 2 n)" in fewer.measured


@pytest.mark.parametrize("psi", [0.9, 1.0, 1.1])
def test_a_point_next_to_the_peak_that_does_not_match_is_noticed(paper, psi):
    one = times(1.5, "run", fitted("width", "tanh", where=at_psi(psi)))
    assert verdict("theorem-3-fig-2b", changed(paper, one)) == "fails"


def test_what_matches_is_not_shown_with_more_than_the_line(paper, shipped):
    words = r"matches with ((?:r = \d \([\d.]+\)(?:, )?)+)"
    for view in (paper, shipped):
        for figure in ("1a", "1b", "2b"):
            shown = re.findall(words, entry_of(f"theorem-3-fig-{figure}", view).measured)
            assert len(shown) == 2  # one for each activation
            for several in shown:
                assert all(float(v) < SAME for v in re.findall(r"\(([\d.]+)\)", several))


def test_where_chance_hides_too_much_the_note_says_how_many_runs_decide(paper):
    def scattered(config, row):
        wide = fitted("ridge|ridge-degree-4", "relu")(config, row)
        return {"icl": row.icl * math.exp(0.06 * (-1) ** config.run)} if wide else {}

    found = entry_of("theorem-3-fig-2c", changed(paper, ("run", scattered)))
    assert found.verdict == UNDECIDED
    assert re.search(r"about \d+ runs of the panel 'ridge' would decide it for relu", found.note)


@pytest.mark.parametrize("figure", sorted(PANELS))
def test_a_gap_of_the_opposite_sign_is_not_the_predicted_one(paper, figure):
    """A prediction of +0.15 and a measured gap of -0.15 are 0.3 apart."""
    for sign, expected in ((1, "holds"), (0, "fails"), (-1, "fails")):
        seen = changed(paper, grown(figure, sign * 0.15), predicting(figure, 0.15))
        assert verdict(f"refinement-fig-{figure}", seen) == expected


def test_the_lines_of_a_match_are_ordered():
    assert 0 < SLIGHT < SAME


def test_a_slight_gain_is_not_significant(paper):
    """Both MLPs better by 0.03 beyond l = d are not significantly better; by 0.2 they are."""

    def gaining(gain):
        rows = fitted("length", f"{MLP}|linear")
        return to("run", rows, icl=lambda row: math.exp(-gain * (row.model != "linear")))

    claim = "fig-2a-mlp-gains-beyond"
    assert verdict(claim, changed(paper, gaining(0.03))) == "fails"
    assert verdict(claim, changed(paper, gaining(0.2))) == "holds"


@pytest.mark.parametrize("weak", RIDGES[:-1])
def test_every_ridge_must_lower_the_peak_and_steady_the_curve(paper, weak):
    """A peak that rises from one ridge to the next is noticed, whichever the first is."""
    peak = lambda config, row: row.ridge == weak and at_psi(0.9, 1.0, 1.1)(config, row)  # noqa: E731
    flat = times(1e-9, "run", fitted("ridge", "relu", where=peak))
    assert verdict("double-descent-regularised", changed(paper, flat)) == "fails"

    def constant(config, row):
        rows = fitted("ridge", "relu", where=lambda c, r: r.ridge == weak)
        return {"icl": 1.0} if rows(config, row) else {}

    assert verdict("fig-2c-more-stable", changed(paper, ("run", constant))) == "fails"
