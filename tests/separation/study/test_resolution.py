"""A sampled claim turns away from "holds" on an input that is broken by twice its resolution."""

import pytest

from attnlab.separation.study.claims_panels import LEVEL_SLACK
from attnlab.separation.study.panels import CHANGE, PANELS, blocks, panel_cells, within
from tests.separation.study.counts import share

MOVES = [(panel, i) for panel, shown in PANELS.items() for i in range(len(shown.moves))]


@pytest.mark.parametrize(("panel", "index"), MOVES)
def test_a_panel_that_moves_the_other_way_is_noticed(view, entry, altered, panel, index):
    claim, move = f"figure-{panel}-trend", PANELS[panel].moves[index]
    seen = entry(claim, view)
    assert seen.verdict == "holds"
    swept, cells = panel_cells(panel, view)
    kind = cells[0].kind.name.removeprefix("separation_")
    first, second = (
        {cell.config for cell in within(cells, swept, stretch)}
        for stretch in (move.first, move.second)
    )
    assert first
    assert second
    # A gap of twice the resolution, against what the move says; any gap is against "stays".
    step = seen.resolution.value if move.way == "falls" else -seen.resolution.value
    broken = altered(view, kind, lambda config: config in first, **share(0.5 - step))
    broken = altered(broken, kind, lambda config: config in second, **share(0.5 + step))
    assert entry(claim, broken).verdict == "fails"


LEVEL_PANELS = ("4a", "5a", "5f")


def level_cells(view, panel):
    """The parameter of a level panel, its points, and the mean share there."""
    (move,) = PANELS[panel].moves
    swept, cells = panel_cells(panel, view)
    inside = within(cells, swept, (move.first[0], move.second[1]))
    shares = [view.row(cell).sampled for cell in inside]
    return swept, inside, sum(shares) / len(shares)


@pytest.mark.parametrize("panel", LEVEL_PANELS)
@pytest.mark.parametrize("times", [-2, 2])
def test_a_block_that_leaves_a_level_panel_is_noticed(view, entry, altered, panel, times):
    """Neighbours that are off by twice the resolution, which is below a departure of 0.1."""
    seen = entry(f"figure-{panel}-trend", view)
    assert seen.resolution.value <= CHANGE
    _, inside, mean = level_cells(view, panel)
    block = {cell.config for cell in blocks(inside)[1]}
    other = min(max(mean + times * seen.resolution.value, 0.0), 1.0)
    broken = altered(view, "attention", lambda config: config in block, **share(other))
    expected = "fails" if abs(other - mean) > seen.resolution.value else "holds"
    assert entry(f"figure-{panel}-trend", broken).verdict == expected


@pytest.mark.parametrize("panel", LEVEL_PANELS)
def test_one_point_that_leaves_a_level_panel_is_noticed(view, entry, altered, panel):
    swept, inside, mean = level_cells(view, panel)
    first = inside[0].config
    broken = altered(view, "attention", lambda config: config == first, **share(mean - 0.4))
    found = entry(f"figure-{panel}-trend", broken)
    assert found.verdict == "fails"
    assert f"off at {swept} = {getattr(first, swept):g}" in found.measured


def test_a_level_panel_with_too_few_trials_is_undecided(view, entry, monkeypatch):
    """Blocks of a few hundred trials cannot see a departure of 0.1."""
    monkeypatch.setattr("attnlab.separation.study.panels.POOLED", 300)
    found = entry("figure-4a-trend", view)
    assert found.verdict == "undecided at this scale"
    assert "No scale of the study decides it." in found.note


def test_a_panel_is_level_only_where_the_law_is(view):
    """The stretches that stay have one law up to the slack; that of Figure 4(a) starts at 220."""
    for panel, shown in PANELS.items():
        swept, cells = panel_cells(panel, view)
        for move in (each for each in shown.moves if each.way == "stays" and panel[0] != "3"):
            inside = within(cells, swept, (move.first[0], move.second[1]))
            law = [view.row(cell).exact for cell in inside]
            assert max(law) - min(law) <= LEVEL_SLACK
            before = within(cells, swept, (0, move.first[0] - 1e-9))
            assert all(abs(view.row(c).exact - law[0]) > LEVEL_SLACK for c in before)


def test_a_panel_without_a_trend_refutes_one(view, entry, altered):
    for panel, shown in PANELS.items():
        if all(move.way != "stays" for move in shown.moves):
            _, cells = panel_cells(panel, view)
            kind = cells[0].kind.name.removeprefix("separation_")
            flat = altered(view, kind, **share(0.99 if panel == "3a" else 0.9))
            assert entry(f"figure-{panel}-trend", flat).verdict == "fails", panel


def test_another_power_of_n_is_noticed(view, entry, altered):
    value = entry("sign-sums-rate", view).resolution.value

    def steeper(config, square):
        return square * (config.n / 100) ** (2 * 2 * value)

    broken = altered(view, "sign_sums", mean_square=steeper, mean_square_error=steeper)
    assert entry("sign-sums-rate", broken).verdict == "fails"


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_shift_of_all_counts_is_noticed(view, entry, altered, sign):
    value = entry("simulation-follows-law", view).resolution.value

    def shifted(config, count):
        if count is None:
            return None
        return min(max(count + sign * round(2 * value * config.trials), 0), config.trials)

    broken = altered(view, "attention", successes=shifted)
    assert entry("simulation-follows-law", broken).verdict == "fails"


@pytest.mark.parametrize("count", [100, 999])
def test_counts_beyond_the_bounds_of_the_regression_model_are_noticed(view, entry, altered, count):
    broken = altered(view, "regression", successes=count, sampled=count / 1000)
    assert entry("simulation-follows-law", broken).verdict == "fails"
