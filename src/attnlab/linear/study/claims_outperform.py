"""Claims that trained linear transformers outperform GD++ and the ridges, over all noise laws.

Source: Vladymyrov et al. (arXiv 2402.14180). Section 1 says of uniform and categorical noise that a
trained linear transformer outperforms GD++ and baselines derived from ridge, and that this remains
with diagonal weights; the abstract says that it surpasses or matches many baselines. Neither names
a depth: the deepest networks of the paper are judged, on all laws with noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from attnlab.lab.study import UNDECIDED, Claim, Judgement, Resolution, Verdict, View
from attnlab.linear.study import grids, results
from attnlab.linear.study.claims_baselines import left_open
from attnlab.linear.study.claims_models import trained_in_full
from attnlab.linear.study.claims_tuned import ALIKE
from attnlab.linear.study.results import MARGIN, at_most, clearly_below
from attnlab.linear.study.table_1 import LAWS, PAPER, RIDGES, law_name
from attnlab.stats import Estimate

RIVALS = ("GD++", *RIDGES)
DEPTH = grids.DEEPEST
MATTERS = 0.25  # of the loss of a baseline


@dataclass(frozen=True)
class _Pair:
    """The deepest network of a model on a law, and a baseline; None where one is missing."""

    law: str
    rival: str
    ours: Estimate | None
    other: Estimate | None

    @property
    def known(self) -> tuple[Estimate, Estimate] | None:
        """Both losses, where both are there and neither has a heavy tail."""
        if self.ours is None or self.other is None:
            return None
        return (self.ours, self.other) if results.steady(self.ours) else None

    @property
    def name(self) -> str:
        """The baseline and the law."""
        return f"{self.rival} on {law_name(self.law)}"


def _pairs(view: View, model: str, rivals: tuple[str, ...]) -> list[_Pair]:
    found = []
    for law in LAWS[1:]:
        ours = results.held(view, model, law).get(DEPTH)
        for rival in rivals:
            ridge = rival in RIDGES
            other = (
                results.ridge(view, rival, law)
                if ridge
                else results.held(view, rival, law).get(DEPTH)
            )
            found.append(_Pair(law, rival, ours, other))
    return found


def _outperforms(view: View, model: str) -> Judgement:
    """Whether the deepest networks are below every baseline on every law."""
    pairs = _pairs(view, model, RIVALS)
    below, above, unclear, margins = [], [], [], []
    refuting: list[tuple[float, float]] = []  # what would be noticed, and how much larger
    for pair in pairs:
        if pair.known is None:
            unclear.append(pair)
            continue
        ours, other = pair.known
        margins.append(results.margin(ours, other))
        if clearly_below(ours, other):
            below.append(pair)
        elif clearly_below(other, ours):
            above.append(pair)
            if trained_in_full(view, model, pair.law, DEPTH):
                refuting.append((margins[-1], ours.value / other.value - 1))
        else:
            unclear.append(pair)
    verdict: Verdict = "holds" if len(below) == len(pairs) else UNDECIDED
    if refuting:
        verdict = "fails"
    clearest = max(refuting, key=lambda pair: pair[1] - pair[0], default=None)
    printed = [
        pair.name
        for pair in pairs
        if PAPER[model, DEPTH, pair.law]
        >= PAPER[pair.rival, DEPTH * (pair.rival == "GD++"), pair.law]
    ]
    return Judgement(
        verdict,
        f"{model} with {DEPTH} layers is below GD++ and the ridges in {len(below)} of {len(pairs)} "
        f"comparisons and above in {len(above)}",
        f"below {', '.join(RIVALS)} on each of {len(LAWS) - 1} noise laws",
        f"below or above by more than {MARGIN:g} standard errors; GD++ has as many layers",
        f"Above: {results.listed([pair.name for pair in above])}; neither, not at this scale or "
        f"with a heavy tail: {results.listed([pair.name for pair in unclear])}. In the paper's own "
        f"table {model} is not below {results.listed(printed)}."
        + (f" {left_open(view, [model])}" if verdict == UNDECIDED else ""),
        **_evidence(view, model),
        resolution=Resolution(
            *(clearest or (max(margins, default=math.inf), MATTERS)), "of the loss of a baseline"
        ),
    )


def _evidence(view: View, *models: str) -> results.Evidence:
    laws = results.laws_with(view, "FULL", LAWS[1:]) if "FULL" in models else []
    return results.trained_evidence(view, *laws)


def _many(view: View) -> Judgement:
    """Whether each ridge is matched or surpassed on most laws, by DIAG and by FULL."""
    verdicts: dict[str, Verdict] = {}
    words, above, unclear, margins = [], [], [], []
    for model in ("DIAG", "FULL"):
        pairs = _pairs(view, model, RIDGES)
        for rival in RIDGES:
            good = bad = 0
            for pair in (pair for pair in pairs if pair.rival == rival):
                name = f"{model} against {pair.name}"
                if pair.known is None:
                    unclear.append(name)
                elif at_most(*pair.known, slack=ALIKE):
                    good += 1
                    margins.append(results.margin(*pair.known) + ALIKE)
                else:
                    above.append(name)
                    bad += trained_in_full(view, model, pair.law, DEPTH)
            words.append(f"{good} for {model} against {rival}")
            half = (len(LAWS) - 1) / 2
            own: Verdict = "holds" if good > half else "fails" if bad > half else UNDECIDED
            verdicts[f"{model} against {rival}"] = own
    undecided = [name for name, own in verdicts.items() if own == UNDECIDED]
    verdict = UNDECIDED if undecided else "holds"
    if "fails" in verdicts.values():
        verdict = "fails"
    return Judgement(
        verdict,
        f"of {len(LAWS) - 1} noise laws, those on which {DEPTH} layers surpass or match a ridge: "
        f"{', '.join(words)}",
        "many: each of the three ridges on more than half of the laws, our reading",
        f"a network matches where it is at most {ALIKE:.0%} above, our threshold, up to {MARGIN:g} "
        "standard errors; one with a heavy tail does not",
        f"Above: {results.listed(above)}; not at this scale, or with a heavy tail: "
        f"{results.listed(unclear)}."
        + (f" {left_open(view, undecided)}" if verdict == UNDECIDED else ""),
        **_evidence(view, "FULL"),
        resolution=Resolution(max(margins, default=math.inf), 0.5, "of the loss of a ridge"),
    )


def _accurate(view: View) -> Judgement:
    """The loss of Equation (7), not adjusted, over that of BAYES, the least of any predictor."""
    found, above, unclear, margins, ratios = [], [], [], [], []
    refuting: list[tuple[float, float]] = []  # what would be noticed, and how much above
    for law in LAWS[1:]:
        oracle = results.ridge(view, "oracle (unadjusted)", law).value
        bayes = results.ridge(view, "BAYES", law)
        for model in ("DIAG", "FULL"):
            name, loss = f"{model} {law_name(law)}", results.held(view, model, law).get(DEPTH)
            if loss is None or not results.steady(loss):
                unclear.append(name)
                continue
            excess = (loss.value - bayes.value) / (oracle + bayes.value)
            seen = MARGIN * results.difference(loss, bayes)[1] / (oracle + bayes.value)
            found.append(f"{name} {excess:.1%}")
            ratios.append(f"{name} {loss.value / bayes.value:.2f}")
            margins.append(seen)
            if excess - seen > ALIKE:
                above.append(name)
                if trained_in_full(view, model, law, DEPTH):
                    refuting.append((seen, excess))
            elif excess + seen > ALIKE:
                unclear.append(name)
    verdict: Verdict = UNDECIDED if above or unclear else "holds"
    if refuting:
        verdict = "fails"
    return Judgement(
        verdict,
        f"the loss of {DEPTH} layers is above that of BAYES by {results.listed(found, most=18)}",
        "the loss of BAYES, the least that any predictor has, on every noise law",
        f"'very accurately' is judged by the loss of Equation (7), which the sentence is about: at "
        f"most {ALIKE:.0%} above the least, our threshold, up to {MARGIN:g} standard errors",
        f"Above: {results.listed(above)}; not at this scale, or with a heavy tail: "
        f"{results.listed(unclear)}. Of the adjusted loss, which leaves out what the oracle cannot "
        f"predict either, the ratio to BAYES is {results.listed(ratios, most=18)}."
        + (f" {left_open(view, above + unclear)}" if verdict == UNDECIDED else ""),
        **_evidence(view, "FULL"),
        resolution=Resolution(
            *(
                max(refuting, key=lambda pair: pair[1] - pair[0], default=None)
                or (max(margins, default=math.inf), ALIKE)
            ),
            "of the loss of BAYES",
        ),
    )


CLAIMS = (
    Claim(
        "very-accurate",
        "Vladymyrov et al., Section 5",
        "Linear transformers can solve linear regression with mixed noise variance very "
        "accurately.",
        _accurate,
        ("fig-1", "fig-3-layers"),
    ),
    Claim(
        "surpasses-many-baselines",
        "Vladymyrov et al., abstract",
        "Trained on different levels of noise, linear transformers surpass or match many "
        "reasonable baselines.",
        _many,
        ("fig-1", "fig-3-layers"),
    ),
    Claim(
        "outperforms-full",
        "Vladymyrov et al., Sections 1 and 7",
        "On uniform and categorical noise a trained linear transformer (FULL) outperforms GD++ and "
        "the baselines derived from ridge.",
        lambda view: _outperforms(view, "FULL"),
        ("fig-1", "fig-3-layers"),
    ),
    Claim(
        "outperforms-diag",
        "Vladymyrov et al., Section 1",
        "So does a linear transformer trained with diagonal weights (DIAG), on the same noise "
        "laws.",
        lambda view: _outperforms(view, "DIAG"),
        ("fig-1", "fig-3-layers"),
    ),
)
