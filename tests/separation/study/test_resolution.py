"""A sampled claim turns away from "holds" on an input that is broken by twice its resolution."""

import pytest

from attnlab.separation.study.claims_panels import PANELS, panel_cells, within

MOVES = [(panel, i) for panel, shown in PANELS.items() for i in range(len(shown.moves))]


def share(p):
    """Counts with this share of successes."""
    return {
        "successes": lambda config, _: round(p * config.trials),
        "sampled": lambda config, _: p,
    }


@pytest.mark.parametrize(("panel", "index"), MOVES)
def test_a_panel_that_moves_the_other_way_is_noticed(view, entry, altered, panel, index):
    claim, move = f"figure-{panel}", PANELS[panel].moves[index]
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
    assert entry(claim, broken).verdict in ("fails", "undecided at this scale")


def test_a_panel_without_a_trend_is_not_confirmed(view, entry, altered):
    for panel, shown in PANELS.items():
        if all(move.way != "stays" for move in shown.moves):
            _, cells = panel_cells(panel, view)
            kind = cells[0].kind.name.removeprefix("separation_")
            flat = altered(view, kind, **share(0.5))
            assert entry(f"figure-{panel}", flat).verdict == "undecided at this scale"


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
