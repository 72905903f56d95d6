"""Claims about what encoders are made of: biases and the perceptron."""

from __future__ import annotations

import math

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, View
from attnlab.rank.study import grids
from attnlab.rank.study.claims_training import GAIN
from attnlab.rank.study.results import (
    FACTOR,
    LINE,
    Contrast,
    at_paper,
    held_out,
    longer,
    setting,
)

PAPER = "Amsel, Yehudai, Bruna"
LITTLE = 0.1  # of the error: less is a little effect


def _mlp(view: View) -> Judgement:
    cells = grids.without_mlp(view.scale, view.seed)
    low, full = (held_out(view, cell) for cell in cells)
    found = Contrast(low, full)
    return Judgement(
        found.verdict,
        f"without the perceptron: rank d/2 {low.mean:.3f}, rank d {full.mean:.3f}",
        "the gap between low and full rank remains without the perceptron",
        LINE,
        longer(view),
        resolution=found.resolution,
        **setting(view, cells),
    )


def _biases(view: View) -> Judgement:
    cells = grids.without_biases(view.scale, view.seed)
    pairs = {
        plain.config.rank: (held_out(view, plain), held_out(view, other)) for plain, other in cells
    }
    logs = {rank: math.log(b.mean / a.mean) for rank, (a, b) in pairs.items()}
    spread = max(a.spread + b.spread for a, b in pairs.values())
    largest = max(abs(value) for value in logs.values())
    # Effects up to LITTLE are accepted, and the spread may hide as much again: the smallest effect
    # that would have been noticed is their sum. It must be below a fifth, which this study calls an
    # effect where it asks whether encodings help.
    seen = Resolution(LITTLE + spread, -math.log(1 - GAIN), "of the logarithm of the ratio")
    verdict = UNDECIDED
    if largest <= LITTLE:
        verdict = "holds"
    elif largest > math.log(FACTOR) + spread:
        verdict = "fails"
    return Judgement(
        at_paper(view, verdict),
        ", ".join(
            f"{a.mean:.4f} with biases and {b.mean:.4f} without (r = {rank})"
            for rank, (a, b) in pairs.items()
        ),
        "nearly equal",
        f"the means differ by at most {LITTLE:g} of themselves, and an effect of {GAIN:g} would "
        f"have been noticed, our choice; fails beyond a factor of {FACTOR:g}",
        longer(view),
        resolution=seen,
        **setting(
            view,
            [plain for plain, _ in cells],
            "" if len(pairs) > 1 else f"rank {next(iter(pairs))} alone",
        ),
    )


CLAIMS = (
    Claim(
        "biases-little-effect",
        f"{PAPER}, Section 7",
        "Biases have little effect.",
        _biases,
        ("ablations",),
    ),
    Claim(
        "without-perceptron",
        "requested by reviewers of the paper",
        "The gap between low and full rank does not need the perceptron.",
        _mlp,
        ("ablations",),
        ours=True,
    ),
)
