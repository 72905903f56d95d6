"""Evidence with known answers for the claims of `rank`: real closed forms, invented training.

Training a scale takes minutes; what is tested here is the judge. Bounds, exact errors, the decay
and the sizes are computed; samples have the value of their law, the second quadrature of the decay
agrees with the first, and trained rows follow the paper's statements.
"""

import functools
from dataclasses import replace

from attnlab.lab.study import View
from attnlab.rank.study import cells_bounds, grids, questions_adversary, questions_built
from attnlab.rank.study.trained_rows import TrainedRow
from attnlab.rank.theory.full_rank import full_rank_error
from attnlab.rank.theory.lower_bound import lower_bound
from attnlab.rank.theory.majority_vote import majority_vote_error

COMPUTED = {"rank_bounds", "rank_sizes"}


def encoder_error(c):
    """What the paper says of this configuration, as one number."""
    full = c.rank == c.d
    if c.layers == 5 and c.width_multiplier == 1:
        return 0.75
    error = 0.01 if full else {1: 0.6, 2: 0.4, 3: 0.2, 5: 0.1}[c.layers] * (c.N / 16) ** 0.3
    if c.encoding == "concatenated" and c.layers == 3 and not full:
        error *= 0.1
    return error * (1.02 if c.replay else 1.0)


def encoder_angle(c, heads):
    if c.rank < c.d:
        return 110.0
    if c.layers > 1 and heads > 1:
        return 120.0
    return 179.6 - 0.5 * (heads - 1) ** 0.5


def trained(member, heads, error, least, angle, size):
    return TrainedRow(
        member, heads, size, error + 0.001 * member, 0.0002, least + 0.001 * member, least, angle,
        1.0, 50.0, 4, "trained for 800 steps",
    )  # fmt: skip


@functools.cache
def rows_of(cell):
    c, kind = cell.config, cell.kind.name
    if kind in COMPUTED:
        found = cell.kind.run(c)
        return list(found.rows) if hasattr(found, "rows") else [found]
    if kind == "rank_decay":
        rows = cell.kind.run(replace(c, checked=False)).rows
        twice = (2, 4, 8) if c.checked else ()
        return [
            replace(row, by_thresholds=1.0001 * row.correlation if row.gap in twice else None)
            for row in rows
        ]
    if kind == "rank_encoder":
        heads, error = c.shape().heads, encoder_error(c)
        least = error * (0.8 if c.replay else 0.999)
        size = c.layers * heads * c.rank * c.d * 4
        return [
            trained(i, heads, error, least, encoder_angle(c, heads), size) for i in range(c.seeds)
        ]
    if kind == "rank_pair":
        error = lower_bound(c.d, c.rank, c.heads, "C").value + 0.03
        return [trained(i, c.heads, error, error, 90.0, 100) for i in range(c.seeds)]
    if kind == "rank_one_heads":
        if c.optimise or not c.samples:
            return [exact_row(c)]
        exact = exact_row(c)
        return [
            cells_bounds.RankOneResult(
                exact.exact, exact.exact * 0.995, 0.004, exact.exact * 1.005, 0.004,
                exact.lower_b, exact.lower_c, exact.resting,
            )
        ]  # fmt: skip
    if kind == "rank_adversary":
        variant = "C" if c.scalar_values else "B"
        bound = lower_bound(c.d, c.rank, c.heads, variant).value
        return [questions_adversary.AdversaryResult(bound + 0.01, 0.001, bound)]
    assert kind == "rank_built"
    return [built_row(c)]


def exact_row(c):
    error = lower_bound(c.d, 1, c.heads, "C").value
    found = cells_bounds.run_rank_one(cells_bounds.RankOne(c.d, c.heads, seed=c.seed))
    if not c.optimise:
        return found
    return cells_bounds.RankOneResult(
        (error + found.exact) / 2, None, None, None, None, found.lower_b, found.lower_c,
        found.resting,
    )  # fmt: skip


def built_row(c):
    if c.construction in ("biased", "concatenated"):
        return questions_built.BuiltResult(None, None, 1.0, None)
    if c.construction == "biased as printed":
        return questions_built.BuiltResult(None, None, 0.006, None)
    if c.construction == "full rank":
        law = full_rank_error(c.d, c.scale).value if c.scale else 0.0
        return questions_built.BuiltResult(law, 0.001 if c.scale else 0.0, None, law)
    law = majority_vote_error(c.d, c.heads).value
    return questions_built.BuiltResult(law + 0.005, 0.01, None, law)


@functools.cache
def view(scale):
    return View(scale, 0, {cell.key: rows_of(cell) for cell in grids.cells(scale, 0)})
