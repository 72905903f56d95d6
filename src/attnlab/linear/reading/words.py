"""A reading in plain language: one sentence for the network, and one for every layer.

An effect of a layer is mentioned where it changes the quantity that it acts on by a hundredth or
more at some noise level. All numbers are those of the reading, rounded.
"""

import math

from attnlab.linear.reading.algorithm import LayerReading, LinearReading, Replacement
from attnlab.linear.reading.layers import LayerAt
from attnlab.stats.estimate import Estimate

VISIBLE = 0.01  # relative change from which on an effect is mentioned
CHANGED = 1.05  # ratio from which on two numbers are called different
POOR = 0.9  # share of a change below which a gradient step explains it poorly
SURE = 3  # standard errors from which on a difference is called one
ROUNDING = 1e-12  # relative standard errors below this are rounding errors


def sentences(reading: LinearReading) -> list[str]:
    """The network, its loss, the simpler networks that could replace it, and its layers."""
    layers = [layer_sentence(layer, layer.number == reading.depth) for layer in reading.layers]
    return [*network_sentences(reading), *layers]


def network_sentences(reading: LinearReading) -> list[str]:
    """The sentences about the network as a whole."""
    problem = reading.problem
    layers = "1 layer" if reading.depth == 1 else f"{reading.depth} layers"
    found = [
        f"{reading.family}, {layers}, read at d = {problem.d}, n = {problem.n}, noise "
        f"{problem.noise.name}: loss {number(reading.loss)} above ridge with the true sigma "
        f"(Bayes {number(reading.bayes_loss)})."
    ]
    overflowed = sum(level.overflowed for level in reading.levels)
    if overflowed:
        found.append(f"{overflowed} sequences overflowed; the layers are read on the others.")
    if reading.diagonal is not None and reading.as_diagonal is not None:
        found.append(_diagonal(reading, reading.diagonal.verdict, reading.as_diagonal))
    if reading.family != "GD++":
        found.append(
            f"Its nearest GD++ network (omega_xy = omega_yy = 0) is "
            f"{_worse(reading.gd_plus_plus)}; the omegas set to 0 have norms "
            f"{reading.size_xy:.3g} and {reading.size_yy:.3g}."
        )
    return found


def layer_sentence(layer: LayerReading, last: bool = False) -> str:
    """The effects of one layer, and how they change from the lowest noise level to the highest.

    The effect of the last layer on the inputs reaches no prediction and is not mentioned.
    """
    parts = _parts(layer, last) if layer.levels else ["overflows on every sequence"]
    return f"layer {layer.number}: {', '.join(parts) or 'has no visible effect'}."


def number(given: Estimate) -> str:
    """A value with its standard error, both rounded."""
    if given.exact or given.standard_error <= ROUNDING * abs(given.value):
        return f"{given.value:.3g}"
    return f"{given.value:.3g} ± {given.standard_error:.1g}"


def _diagonal(reading: LinearReading, verdict: str, replaced: Replacement) -> str:
    assert reading.diagonal is not None
    share = f"{100 * float(reading.diagonal.layer.max()) ** 2:.3g}%"
    if verdict == "diagonal":
        return "Its layers are diagonal, to rounding."
    warning = {
        "mostly diagonal": "Its layers are mostly diagonal",
        "not diagonal": "It is NOT diagonal, so that the omegas and the momentum form below are "
        "those of another network",
    }[verdict]
    return (
        f"{warning}: up to {share} of a layer's squared norm is outside of the diagonal form; its "
        f"nearest diagonal network is {_worse(replaced)}."
    )


def _worse(replaced: Replacement) -> str:
    worse = replaced.worse
    if worse.value == 0:
        return "the same network"
    if abs(worse.value) <= SURE * worse.standard_error:
        if worse.value > replaced.loss.value - worse.value:
            return f"lost on rare sequences, which rule its mean loss ({number(replaced.loss)})"
        return f"equally good within the standard error ({number(worse)})"
    return f"{'worse' if worse.value > 0 else 'better'} by {number(_absolute(worse))}"


def _absolute(given: Estimate) -> Estimate:
    return Estimate(abs(given.value), given.standard_error, given.samples)


def _parts(layer: LayerReading, is_last: bool) -> list[str]:
    first, last = layer.levels[0], layer.levels[-1]
    parts = []
    if max(abs(at.plain_step.value) * at.inputs for at in layer.levels) >= VISIBLE:
        parts.append(_step(layer, first, last))
    if not is_last and max(abs(layer.xx) * at.largest for at in layer.levels) >= VISIBLE:
        before, after = first.condition
        verb = "preconditions" if after < before else "spreads the spectrum"
        parts.append(f"{verb} (condition number {before:.3g} to {after:.3g})")
    if not is_last and _visible([at.adaptation for at in layer.levels]):
        ends = _ends(first.adaptation, last.adaptation)
        parts.append(f"mixes y into x, which multiplies later steps by {ends}")
    if _visible([at.rescaling for at in layer.levels]):
        parts.append(f"rescales y by {_ends(first.rescaling, last.rescaling)}")
    share = max(at.momentum.share for at in layer.levels)
    if share >= VISIBLE:
        parts.append(f"takes up to {100 * share:.2g}% of its change of w from the momentum u")
    return parts


def _step(layer: LayerReading, first: LayerAt, last: LayerAt) -> str:
    raw = all(_ratio(at.step.value, at.plain_step.value) < CHANGED for at in layer.levels)
    step = f"gradient step {first.step.value:.3g}{'' if raw else ' on preconditioned inputs'}"
    notes = []
    if len(layer.levels) > 1:
        between = f"from sigma {first.sigma:g} to {last.sigma:g}"
        low, high = first.step.value, last.step.value
        ratio = _ratio(low, high)
        if ratio == math.inf:
            notes.append(f"becomes {high:.3g} {between}")
        elif ratio > CHANGED:
            verb = "shrinks" if abs(high) < abs(low) else "grows"
            notes.append(f"{verb} {ratio:.2f}x {between}")
    explained, along = (
        min(getattr(at, name) for at in layer.levels) for name in ("explained", "along")
    )
    if along < POOR:
        notes.append(f"only {100 * along:.2g}% of its change of w lies along the gradient")
    elif explained < POOR:
        notes.append("differs from sequence to sequence")
    return f"{step} ({'; '.join(notes)})" if notes else step


def _ratio(left: float, right: float) -> float:
    """The larger number over the smaller one, infinite where the signs differ."""
    if left == right:
        return 1.0
    return max(left / right, right / left) if left * right > 0 else math.inf


def _visible(factors: list[Estimate]) -> bool:
    return max(abs(factor.value - 1) for factor in factors) >= VISIBLE


def _ends(first: Estimate, last: Estimate) -> str:
    low, high = f"{first.value:.3g}", f"{last.value:.3g}"
    return low if low == high else f"{low} to {high}"
