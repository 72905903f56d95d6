"""Claims on TUNEDRR: FULL and DIAG against it, law by law.

Source: Vladymyrov et al. (arXiv 2402.14180). Section 6 says of uniform noise that models with five
layers or more match or beat TUNEDRR, so that every such depth is judged there. Of categorical noise
the abstract and Section 1 say so without a depth: the deepest networks of the paper are judged.
"Match" has no definition there; our threshold is 5%.
"""

from __future__ import annotations

import math

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import results
from attnlab.linear.study.claims_baselines import left_open
from attnlab.linear.study.claims_models import SOURCE, shown, trained_in_full
from attnlab.linear.study.results import MARGIN, at_most
from attnlab.linear.study.table_1 import CATEGORICAL, PAPER, UNIFORM, law_name
from attnlab.stats import Estimate

ABSTRACT = "Vladymyrov et al., abstract and Section 1"
ALIKE = 0.05  # our threshold for "match"
DEEP = (5, 6, 7)
DEEPEST = DEEP[-1:]
WORDS = {DEEP: "five, six and seven", DEEPEST: "seven"}
MODELS = ("FULL", "DIAG")
UNCLEAR = 0.5  # ADARR is about 1.5 times TUNEDRR


def _depths(law: str) -> tuple[int, ...]:
    return DEEP if law in UNIFORM else DEEPEST


def _tuned(view: View, law: str) -> Judgement:
    tuned, depths = results.ridge(view, "TUNEDRR", law), _depths(law)
    above, unclear, missing, losses, margins = [], [], [], [], []
    refuting: list[Estimate] = []  # networks that miss TUNEDRR although trained with full effort
    for model in MODELS:
        found = results.by_depth(view, model, law)
        own = {depth: found[depth] for depth in depths if depth in found}
        missing += [f"{model} L = {depth}" for depth in depths if depth not in found]
        if own:
            losses.append(f"{model} {', '.join(shown(loss) for loss in own.values())}")
        for depth, loss in own.items():
            name = f"{model} L = {depth}"
            if not at_most(loss, tuned, ALIKE):
                above.append(name)
                if trained_in_full(view, model, law, depth):
                    refuting.append(loss)
            elif not results.steady(loss) or loss.value > (1 + ALIKE) * tuned.value:
                unclear.append(name)
            else:
                margins.append(results.margin(loss, tuned) + ALIKE)
    verdict: Verdict = "fails" if refuting else "holds"
    if not refuting and (above or unclear or missing):
        verdict = UNDECIDED
    seen, limit = max(margins, default=math.inf), UNCLEAR
    if refuting:
        clearest = max(
            refuting, key=lambda loss: loss.value / tuned.value - results.margin(loss, tuned)
        )
        seen, limit = results.margin(clearest, tuned) + ALIKE, clearest.value / tuned.value - 1
    printed = [
        f"{model} {', '.join(f'{PAPER[model, depth, law]:g}' for depth in depths)}"
        for model in MODELS
    ]
    return Judgement(
        verdict,
        f"{WORDS[depths]} layers: {'; '.join(losses) or 'not at this scale'}",
        f"TUNEDRR {tuned}",
        f"at most {ALIKE:.0%} above, our threshold for 'match'; a network is above where it "
        f"exceeds that by more than {MARGIN:g} standard errors",
        f"Above: {results.listed(above)}; open: {results.listed(unclear)}; not at this scale: "
        f"{results.listed(missing)}. The paper's own table: {'; '.join(printed)}, TUNEDRR "
        f"{PAPER['TUNEDRR', 0, law]:g}."
        + (f" {left_open(view, above + unclear + missing)}" if verdict == UNDECIDED else ""),
        **results.trained_evidence(view, law),
        resolution=Resolution(seen, limit, "of the loss of TUNEDRR"),
    )


CLAIMS = tuple(
    Claim(
        f"tuned-{law.replace(':', '-').replace(',', '-')}",
        SOURCE if law in UNIFORM else ABSTRACT,
        f"On {law_name(law)} FULL and DIAG with {WORDS[_depths(law)]} layers match or beat "
        "TUNEDRR.",
        lambda view, law=law: _tuned(view, law),
        ("fig-1",) if law in UNIFORM else ("fig-3-layers",),
    )
    for law in (*UNIFORM[1:], *CATEGORICAL)
)
