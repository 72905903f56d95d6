"""Claims that are counts: sizes of published models, and layers that libraries accept."""

from __future__ import annotations

import math

from attnlab.lab.study import NO_SCALE, UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.rank.study import grids_theory
from attnlab.rank.study.cells_theory import ArchitectureRow

PAPER = "Amsel, Yehudai, Bruna"
NEARLY_ALL = 0.9  # of the models
FACTOR = 2.0  # of the sentence on exceptions
OF_ARCHITECTURES = "of these architectures"


def _census(view: View) -> dict[str, list[ArchitectureRow]]:
    """The attention layers of every architecture of the library."""
    found: dict[str, list[ArchitectureRow]] = {}
    for row in view.rows(grids_theory.architecture_cell()):
        found.setdefault(row.architecture, []).append(row)
    return found


def _beyond(census: dict[str, list[ArchitectureRow]]) -> dict[str, float]:
    """H r / d of each architecture where it is not 1, and of its layers the furthest from it."""
    furthest = {
        name: max((row.share for row in rows), key=lambda share: abs(math.log(share)))
        for name, rows in census.items()
    }
    return {name: share for name, share in furthest.items() if share != 1}


def _shown(shares: dict[str, float]) -> str:
    return ", ".join(f"{share:.2g} in {name}" for name, share in shares.items())


def _of_all(count: int) -> str:
    """What is smaller than all transformers."""
    library = grids_theory.architecture_cell().config.library
    return f"the {count} architectures of {library} with their default settings"


def _habit(view: View) -> Judgement:
    census, models = _census(view), view.rows(grids_theory.size_cell())
    others = _beyond(census)
    share = 1 - len(others) / len(census)
    verdict: Verdict = "holds" if share >= NEARLY_ALL else UNDECIDED
    if share <= 0.5:
        verdict = "fails"
    line = NEARLY_ALL if share > 0.5 else 0.5
    free = {row.model: row.share for row in models if row.share != 1}
    return Judgement(
        verdict,
        f"H r / d = 1 in all layers of {len(census) - len(others)} of {len(census)} architectures; "
        + _shown(others),
        f"H r = d in nearly all, {NEARLY_ALL:.0%} or more",
        f"count over a library; holds from {NEARLY_ALL:.0%} of its architectures on, fails up to a "
        "half, our choice",
        f"Large models choose r more freely: of {len(models)} well-known ones "
        f"{len(models) - len(free)} have H r = d, and it is {_shown(free)}."
        + (f" {NO_SCALE} That takes a census of models." if verdict == UNDECIDED else ""),
        grade="smaller setting",
        differs=_of_all(len(census)),
        resolution=Resolution(1 / (2 * len(census)), abs(share - line), OF_ARCHITECTURES),
    )


def _exceptions(view: View) -> Judgement:
    models = {row.model: row.share for row in view.rows(grids_theory.size_cell())}
    others = {name: share for name, share in models.items() if share != 1}
    others |= _beyond(_census(view))
    beyond = {name: share for name, share in others.items() if not 1 / FACTOR <= share <= FACTOR}
    return Judgement(
        "fails" if beyond else UNDECIDED,
        f"H r / d = {_shown(others)}" if others else "no exception among these models",
        f"from {1 / FACTOR:g} to {FACTOR:g} in every exception",
        "published sizes, and the defaults of a library; one model beyond the factor refutes, and "
        "no list of models confirms",
        f"Beyond it: {', '.join(beyond)}." if beyond else f"Beyond it: none. {NO_SCALE}",
        grade="exact",
    )


def _libraries(view: View) -> Judgement:
    cell = grids_theory.library_cell()
    rows = view.rows(cell)
    fixed = {row.library for row in rows if not row.asked and row.standard == row.accepted > 0}
    asked = {row.library: row for row in rows if row.asked}
    free = {name for name, row in asked.items() if row.standard < row.accepted}
    verdict = "fails"
    if fixed == set(asked) and "PyTorch" not in free:
        verdict = "holds as corrected" if free else "holds"
    return Judgement(
        verdict,
        "; ".join(
            f"{row.library}: H r = d in {row.standard} of {row.accepted} layers by default, "
            + (
                f"H r / d from {one.least_share:.2g} to {one.largest_share:g} in {one.accepted} "
                "layers whose keys have a width of their own"
                if (one := asked[row.library]).accepted
                else "and no argument for another width of the keys"
            )
            for row in rows
            if not row.asked
        ),
        "H r = d in every layer that a user can build",
        f"count over all layers with d, H and H r up to {cell.config.largest}, by the rules of the "
        "two constructors",
        "Corrected: PyTorch fixes H = d/r; in xFormers it is the default, and the argument dim_key "
        "of MultiHeadDispatch changes it.",
        grade="exact",
    )


def _small_ranks(view: View) -> Judgement:
    census = _census(view)
    rows = [row for rows in census.values() for row in rows]
    inside = sum(all(64 <= row.rank <= 128 for row in rows) for rows in census.values())
    ranks, widths = [row.rank for row in rows], [row.d for row in rows]
    share = inside / len(census)
    good = share > 0.5 and max(widths) / min(widths) > max(ranks) / min(ranks)
    return Judgement(
        "holds" if good else "fails",
        f"r from 64 to 128 in all layers of {inside} of {len(census)} architectures, d from "
        f"{min(widths)} to {max(widths)}",
        "most ranks from 64 to 128 though d varies far more",
        "count over a library",
        grade="smaller setting",
        differs=_of_all(len(census)),
        resolution=Resolution(1 / (2 * len(census)), abs(share - 0.5), OF_ARCHITECTURES),
    )


CLAIMS = (
    Claim(
        "heads-times-rank",
        f"{PAPER}, Section 1 and Appendix A",
        "Nearly all models take H = d/r heads.",
        _habit,
        ("architectures", "sizes"),
    ),
    Claim(
        "heads-times-rank-exceptions",
        f"{PAPER}, Section 1 and Appendix A",
        "Models that do not take H = d/r heads differ from that by at most a factor of 2.",
        _exceptions,
        ("architectures", "sizes"),
    ),
    Claim(
        "library-defaults",
        f"{PAPER}, Section 1",
        "PyTorch and xFormers fix H = d/r in their code.",
        _libraries,
    ),
    Claim(
        "small-ranks",
        f"{PAPER}, Section 1",
        "Most models have ranks from 64 to 128, though d varies from 512 to 8192.",
        _small_ranks,
        ("architectures", "sizes"),
    ),
)
