"""Noise levels of which nothing was trained, or which have a heavy tail: what they decide."""

import pytest

from attnlab.linear.study import grids, tails
from attnlab.stats import Estimate
from tests.linear.study import rows as invented_rows
from tests.linear.study.test_full_claims import ALIKE, entry_of, fields, known, whole

pytestmark = pytest.mark.usefixtures("full_networks")

UNDECIDED = "undecided at this scale"


def test_levels_with_a_heavy_tail_leave_extrapolation_undecided():
    def tail(config, row):
        high = row.sigma is not None and row.sigma > 3 and config.noise == grids.TWO
        return {"error": row.loss} if high else {}

    for kind in ("training", "full_evaluation"):
        entry = entry_of("two-levels-diag-extrapolates", (kind, tail))
        assert entry.verdict == UNDECIDED
        assert "DIAG is better at 0, worse at 0" in str(entry.measured)
        for claim in ("two-levels-diag-interpolates", "two-levels-diag-untrained"):
            assert entry_of(claim, (kind, tail)).verdict == "holds"


def test_starts_that_disagree_about_untrained_levels_leave_them_open():
    """One start of FULL is below DIAG above 3, the others are not; all levels together hold."""

    def one(config, row):
        high = row.sigma is not None and row.sigma > 3 and config.noise == grids.TWO
        return known(0.01) if high and row.start == 1 else {}

    def all_levels(config, row):
        hit = row.sigma is not None and config.noise == grids.TWO and row.start == 1
        return known(0.01) if hit else {}

    change = ("full_evaluation", one)
    entry = entry_of("two-levels-diag-extrapolates", change)
    assert entry.verdict == UNDECIDED
    assert entry.resolution.value > 1
    whole = entry_of("two-levels-diag-untrained", change)
    assert whole.verdict == "holds"
    assert whole.resolution.value == pytest.approx(5 / 15)
    disagree = ("full_evaluation", all_levels)
    assert entry_of("two-levels-diag-untrained", disagree).verdict == UNDECIDED


def test_only_starts_as_good_as_the_papers_say_something_about_untrained_levels():
    def poor(config, row):
        if config.noise != grids.TWO or row.start != 1 or row.read != 7:
            return {}
        return known(0.02 if row.sigma is None else 0.01)

    entry = entry_of("two-levels-diag-untrained", ("full_evaluation", poor))
    assert entry.verdict == "holds"
    assert "9 starts of FULL" in str(entry.measured)
    few = fields("full_evaluation", lambda c, r: r.start > 0 and whole(c, r), loss=0.02)
    assert entry_of("two-levels-diag-untrained", few).verdict == UNDECIDED


def test_a_heavy_tail_counts_against_its_network_where_chance_cannot_explain_the_mean():
    """A mean of c times an expectation happens with a probability of at most 1 / c."""

    def worse(factor):
        def change(config, row):
            if row.sigma is None or row.sigma <= 3 or config.noise != grids.TWO:
                return {}
            heavy = row.sigma > 3.5
            loss = (factor if heavy else 2.0) * row.loss
            return {"loss": loss, "error": loss if heavy else 0.001 * loss}

        return "training", change

    assert entry_of("two-levels-diag-extrapolates", worse(1000.0)).verdict == "fails"
    assert entry_of("two-levels-diag-extrapolates", worse(2.0)).verdict == UNDECIDED


def test_levels_beyond_those_of_the_papers_profiles_do_not_count():
    def far(config, row):
        beyond = row.sigma is not None and row.sigma > 4 and config.noise == grids.TWO
        return {"loss": 0.01 * row.loss, "error": 1e-5 * row.loss} if beyond else {}

    assert entry_of("two-levels-diag-extrapolates", ("full_evaluation", far)).verdict == "holds"


@pytest.mark.parametrize(
    ("depths", "verdict"), [((), "holds"), ((3, 4, 6), UNDECIDED), ((3, 4, 5, 6), "fails")]
)
def test_full_is_not_better_unless_it_is_at_more_than_half_of_the_depths(depths, verdict):
    def change(config, row):
        below = 0.9 if row.layers in depths else 1.0
        loss = below * invented_rows.network_value("DIAG", grids.THREE, row.layers)
        hit = config.noise == grids.THREE and whole(config, row)
        return {"loss": loss, "error": 0.001 * loss} if hit else {}

    entry = entry_of("three-levels-not-better", ("full_evaluation", change))
    assert entry.verdict == verdict
    assert f"below DIAG at {len(depths)} of 6 depths" in entry.measured


def test_roughness_is_judged_at_the_deepest_network_without_a_heavy_tail():
    def tail(config, row):
        hit = config.noise == grids.THREE and row.layers == 7
        return {"error": row.loss} if hit else {}

    whole, without = (
        entry_of("three-levels-rough", *changes) for changes in ((), [("full_evaluation", tail)])
    )
    assert "with 7 layers: 5 of FULL" in whole.measured
    assert "instead of 7" not in whole.differs
    assert "with 6 layers: 5 of FULL" in without.measured
    assert without.differs.startswith("6 layers instead of 7")


def test_starts_of_different_roughness_decide_nothing():
    def smooth(config, row):
        deep = config.noise == grids.THREE and row.sigma is not None and row.layers == row.read == 7
        value = invented_rows.profile_value("DIAG", 7, 7, row.sigma or 0.0)
        return {"loss": value} if deep and row.start == 1 else {}

    entry = entry_of("three-levels-rough", ("full_evaluation", smooth))
    assert entry.verdict == UNDECIDED
    assert entry.resolution.value > entry.resolution.limit


def test_a_depth_with_one_start_as_good_as_the_papers_is_named_and_not_judged():
    def poor(config, row):
        alone = config.noise == grids.THREE and row.layers == 7 and row.start > 0
        return {"loss": 9.0} if alone and whole(config, row) else {}

    entry = entry_of("three-levels-rough", ("full_evaluation", poor))
    assert "with 6 layers" in entry.measured
    assert "7 layers FULL" in entry.note


def test_a_depth_with_a_heavy_tail_counts_among_the_depths_of_three_levels():
    def change(config, row):
        loss = 0.9 * invented_rows.network_value("DIAG", grids.THREE, row.layers)
        hit = config.noise == grids.THREE and whole(config, row) and row.layers in (3, 4, 6, 7)
        return {"loss": loss, "error": (1.0 if row.layers == 7 else 0.001) * loss} if hit else {}

    entry = entry_of("three-levels-not-better", ("full_evaluation", change))
    assert "Left out: 7 layers" in entry.note


def test_full_below_diag_at_untrained_levels_refutes():
    def below(low, high):
        def change(config, row):
            hit = config.noise == grids.TWO and row.sigma is not None and low < row.sigma < high
            return known(0.01) if hit else {}

        return "full_evaluation", change

    assert entry_of("two-levels-diag-untrained", below(-1, 9)).verdict == "fails"
    assert entry_of("two-levels-diag-untrained", below(1, 3)).verdict == "holds"
    assert entry_of("two-levels-diag-interpolates", below(1, 3)).verdict == "fails"
    assert entry_of("two-levels-diag-below", below(-1, 1)).verdict == "fails"
    assert entry_of("two-levels-diag-extrapolates", below(3, 9)).verdict == "fails"


def _tail_at_a_level(kind, level):
    def change(config, row):
        hit = config.noise == grids.U5 and row.layers == row.read == 7 and row.sigma == level
        return {"loss": 1e4, "error": 1e4} if hit else {}

    return kind, change


@pytest.mark.parametrize(
    ("claim", "kind"),
    [
        ("table-1-full", "full_evaluation"),
        ("table-1-axis", "reference"),
        ("axis-beats-papers-full", "reference"),
        ("bayes-uniform-5", "reference"),
        ("table-1-diag", "training"),
        ("tuned-uniform-5", "full_evaluation"),
    ],
)
def test_a_tail_at_a_noise_level_of_the_law_leaves_a_steady_mean_open(claim, kind):
    assert entry_of(claim).verdict == "holds"
    assert entry_of(claim, _tail_at_a_level(kind, 5.0)).verdict == UNDECIDED
    assert entry_of(claim, _tail_at_a_level(kind, 5.25)).verdict == "holds"


def test_a_level_is_compared_as_if_it_had_as_many_sequences_as_the_law():
    loss = Estimate(1.0, 0.01, 100_000)
    few = {0.5: Estimate(1.0, 0.09, 16_384), 2.0: Estimate(9.0, 9.0, 16_384)}
    assert not tails.heavy_levels(loss, few, "categorical:1,3")
    assert tails.heavy_levels(loss, few, "uniform:3") == [2.0]
    assert tails.heavy_levels(loss, {1.0: Estimate(1.0, 0.09, 100_000)}, grids.TWO) == [1.0]


@pytest.mark.parametrize("claim", ["table-1-axis", "axis-beats-papers-full"])
def test_extremes_on_record_leave_a_cell_of_axis_open(claim, monkeypatch):
    monkeypatch.setattr(tails, "EXTREMES", {("uniform:7", 4): 2340.0})
    entry = entry_of(claim)
    assert entry.verdict == UNDECIDED
    assert "U(0,7) L = 4" in entry.note
    assert "without these tails" in entry.note
    monkeypatch.setattr(tails, "EXTREMES", {("uniform:7", 4): 0.01})
    assert entry_of(claim).verdict == "holds"


def test_full_and_diag_are_compared_beyond_the_trained_range():
    def far(level):
        def change(config, row):
            hit = config.noise == "uniform:3" and row.sigma == level
            return {"loss": 9 * row.loss, "error": 0.03 * row.loss} if hit else {}

        return "full_evaluation", change

    assert entry_of("full-diag-sigma", ALIKE).verdict == "holds"
    assert entry_of("full-diag-sigma", ALIKE, far(4.0)).verdict == "fails"


def test_axis_counts_the_cells_in_which_it_has_no_heavy_tail(monkeypatch):
    monkeypatch.setattr(tails, "EXTREMES", {("uniform:7", 4): 2340.0})
    entry = entry_of("axis-beats-full")
    assert "of the 69 cells in which it has no heavy tail" in entry.note
    assert "1 of 70 have a heavy tail" in str(entry.measured)
