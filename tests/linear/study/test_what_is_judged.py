"""What the checks of `linear` leave out, count or refuse to say, each on rows made for it."""

import pytest

from attnlab.linear.study import full_results, grids
from attnlab.linear.study.claims_table_cells import TableCell, mostly_high
from attnlab.linear.study.table_1 import PAPER
from attnlab.stats import Estimate
from tests.linear.study import rows as invented_rows
from tests.linear.study.test_claims import entry_of as judged
from tests.linear.study.test_full_claims import ALIKE, entry_of, fields, known, table, whole

pytestmark = pytest.mark.usefixtures("full_networks")

UNDECIDED = "undecided at this scale"


def cell(ratio, margin=0.2, papers=0.1, error=0.001):
    return TableCell("FULL", 4, grids.U5, Estimate(ratio, error, 1000), 1.0, 0.0, margin, papers)


def by_recipe(name, loss):
    def change(config, row):
        return known(loss) if config.recipe == name and whole(config, row) else {}

    return "full_evaluation", change


def at(kind, law, depth, loss, error=0.004):
    def change(config, row):
        hit = config.noise == law and whole(config, row) and row.layers == depth
        return {"loss": loss, "error": error * loss} if hit else {}

    return kind, change


def test_a_cell_that_the_papers_error_hides_is_left_out_and_one_that_ours_hides_is_open():
    assert cell(1.0).state == "reached"
    assert cell(1.0, margin=0.3, papers=0.26).state == "blind"
    assert cell(1.0, margin=0.3, papers=0.1).state == "open"
    assert cell(1.4, margin=0.3, papers=0.26).state == "above"
    assert cell(1.0, error=0.06).state == "open"


def test_the_papers_error_does_not_grow_with_our_loss():
    near, far = (
        entry_of("table-1-full", at("full_evaluation", "uniform:3", 5, factor * 0.026))
        for factor in (1.0, 3.0)
    )
    assert "U(0,3) L = 5" not in near.note
    assert "Above: U(0,3) L = 5: 0.078" in far.note


def test_a_sign_test_says_whether_losses_inside_the_margin_lie_high():
    low, high = cell(1.01), cell(1.1)
    assert not mostly_high([low])
    assert mostly_high([high])  # one cell cannot be tested, and is not called reached
    assert not mostly_high([high, low, low])
    assert mostly_high([high] * 20)
    assert not mostly_high([high] * 12 + [low] * 8)


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(1.02, "holds"), (1.057, UNDECIDED), (1.12, "fails")]
)
def test_a_best_start_above_the_printed_loss_by_a_tenth_does_not_reach_it(ratio, verdict):
    loss = ratio * PAPER["FULL", 4, grids.U5]
    entry = entry_of("full-paper-recipe", by_recipe("paper", loss))
    assert entry.verdict == verdict
    above = 5 if ratio > 1.05 else 0
    assert f"{above} of 5 starts are more than 5% above" in str(entry.measured)


def test_cells_left_out_are_counted_and_listed():
    entry = entry_of("table-1-diag")
    assert entry.verdict == "holds"
    assert "are left out" in str(entry.measured)
    assert "Left out, because the paper's own sampling error" in entry.note
    assert "U(0,1) L = 7" in entry.note


@pytest.mark.parametrize("kind", ["training", "reference"])
def test_a_cell_that_a_smaller_family_reaches_is_not_refuted(kind):
    missed = table(0.9)
    assert entry_of("table-1-full", *missed).verdict == "fails"
    reaching = [change for change in missed if change[0] != kind]
    assert entry_of("table-1-full", *reaching).verdict == UNDECIDED


def test_networks_of_another_recipe_refute_no_cell():
    clipped = fields(
        "full_evaluation", lambda c, r: c.recipe == "clipped" and whole(c, r), loss=9.0
    )
    assert entry_of("table-1-full", clipped).verdict == UNDECIDED


def test_only_the_papers_recipe_is_the_papers_setting():
    assert entry_of("full-paper-recipe").grade == "paper's setting"
    for claim in ("table-1-full", "near-diagonal", "four-layers-beat-adarr-full", "full-from-diag"):
        entry = entry_of(claim, ALIKE)
        assert entry.grade == "smaller setting"
        assert "gradients clipped" in entry.differs


def test_starts_with_a_heavy_tail_say_nothing_about_weights():
    def tail(config, row):
        return {"diagonal": 0.0, "rank_two": 0.3, "steady": False} if row.start in (0, 3) else {}

    best = fields("full_evaluation", lambda c, r: r.start == 1, selection=0.1)
    for claim in ("near-diagonal", "low-rank-part"):
        entry = entry_of(claim, ("full_structure", tail), best)
        assert entry.verdict == "holds"
        assert "over 3 starts without a heavy tail" in str(entry.measured)
        assert "the start of least loss has" in str(entry.measured)


def test_few_starts_that_disagree_about_the_weights_decide_nothing():
    def spread(config, row):
        share = {1: 0.30, 2: 0.40, 4: 0.52}.get(row.start)
        return {"diagonal": share} if share else {"steady": False}

    best = fields("full_evaluation", lambda c, r: r.start == 4, selection=0.1)
    assert entry_of("near-diagonal", ("full_structure", spread), best).verdict == UNDECIDED


def test_levels_with_a_heavy_tail_leave_extrapolation_undecided():
    def tail(config, row):
        high = row.sigma is not None and row.sigma > 3 and config.noise == grids.TWO
        return {"error": row.loss} if high else {}

    for kind in ("training", "full_evaluation"):
        entry = entry_of("two-levels-diag-extrapolates", (kind, tail))
        assert entry.verdict == UNDECIDED
        model = "FULL" if kind == "full_evaluation" else "DIAG"
        assert f"Heavy tail: {model} at σ = 3.25" in entry.note
        assert entry_of("two-levels-diag-interpolates", (kind, tail)).verdict == "holds"


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
    ("depths", "verdict"), [((), "holds"), ((3, 4), UNDECIDED), ((3, 4, 6), "fails")]
)
def test_full_is_not_better_unless_it_is_at_half_of_the_depths(depths, verdict):
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

    assert entry_of("three-levels-rough").measured.startswith("7 layers")
    assert entry_of("three-levels-rough", ("full_evaluation", tail)).measured.startswith("6 layers")


def test_full_below_diag_at_untrained_levels_refutes():
    def below(low, high):
        def change(config, row):
            hit = config.noise == grids.TWO and row.sigma is not None and low < row.sigma < high
            return known(0.01) if hit else {}

        return "full_evaluation", change

    assert entry_of("two-levels-diag-interpolates", below(1, 3)).verdict == "fails"
    assert entry_of("two-levels-diag-extrapolates", below(-1, 1)).verdict == "fails"
    assert entry_of("two-levels-diag-extrapolates", below(3, 9)).verdict == "fails"


def test_a_layer_that_our_training_lost_is_not_compared_with_more_heads():
    def worse(config, row):
        hit = config.family == "diag" and config.noise == grids.U5 and row.layers == 7
        return known(1.1 * PAPER["DIAG", 6, grids.U5]) if hit and whole(config, row) else {}

    entry = entry_of("more-heads", ("training", worse))
    assert entry.verdict == UNDECIDED
    assert "one more layer gained nothing: U(0,5) L = 6" in entry.note


def test_figure_6_counts_every_noise_level():
    def low(config, row):
        hit = row.model == "ADARR" and row.sigma == 0 and config.noise == grids.U5
        return known(0.6) if hit else {}

    assert entry_of("figure-6", ("baselines", low)).verdict == "fails"


def test_a_tail_of_the_last_layer_makes_high_noise_worse():
    def tail(config, row):
        hit = row.sigma is not None and row.sigma >= 4 and row.layers == row.read == 7
        return {"loss": 1e7, "error": 1e7} if hit and config.noise == grids.U5 else {}

    entry = entry_of("figure-7-full", ("full_evaluation", tail))
    assert "L = 7: " in str(entry.measured)
    assert "the last makes high noise worse at 6" in entry.note


def test_momentum_and_rescaling_that_training_does_not_need_refute():
    same = by_recipe("paper-gd++", 0.5 * PAPER["DIAG", 4, grids.U5])
    assert entry_of("found-algorithm-together", same).verdict == "fails"


@pytest.mark.parametrize("family", ["no-momentum", "no-rescaling"])
def test_an_omega_that_training_does_not_need_refutes_the_algorithm(family):
    def as_good(config, row):
        return {"loss": 0.5 * row.loss} if config.family == family else {}

    def tail(config, row):
        return {"error": row.loss} if config.family == family else {}

    assert entry_of("found-algorithm").verdict == "holds"
    assert entry_of("found-algorithm", ("training", as_good)).verdict == "fails"
    assert entry_of("found-algorithm", ("training", tail)).verdict == UNDECIDED
    assert entry_of("found-algorithm", ("training", as_good), scale="quick").verdict == UNDECIDED


def test_five_starts_of_a_recipe_that_diverge_miss_the_printed_loss():
    gone = fields("full_evaluation", lambda c, r: c.recipe == "paper", loss=None, error=None)
    assert entry_of("full-paper-recipe", gone).verdict == "fails"


def test_more_starts_of_figure_4_take_the_place_of_the_shipped_ones():
    paper = invented_rows.invented("paper")
    off = [("full_structure", lambda c, r: {"diagonal": 0.1})]
    assert judged("near-diagonal", invented_rows.changed(paper, *off)).verdict == "holds"
    stuck = [("full_starts", lambda c, r: {"diagonal": 0.1, "loss": 0.2} if r.start > 3 else {})]
    assert judged("near-diagonal", invented_rows.changed(paper, *off, *stuck)).verdict == "holds"
    light = [("full_starts", lambda c, r: {"diagonal": 0.4})]
    found = judged("near-diagonal", invented_rows.changed(paper, *light))
    assert found.verdict == "fails"
    assert "over 20 starts" in str(found.measured)


def test_the_best_start_of_a_recipe_is_chosen_on_other_sequences():
    rows = full_results.starts(_view(), "paper")[4]
    assert full_results.best(rows).start == 0


def _view():
    from tests.linear.study.rows import invented

    return invented("standard")
