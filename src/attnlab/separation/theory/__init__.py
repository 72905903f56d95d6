"""Closed forms: the exact law of success, bounds on it, and the inequalities of the lemmas."""

from attnlab.separation.theory.bounds import (
    fire_limit,
    fire_steps,
    hoeffding_constant,
    hoeffding_exponent,
    hoeffding_tail,
    lemma_4_1_linear,
    lemma_4_1_softmax,
    lemma_4_2_linear,
    lemma_4_2_linear_printed,
    lemma_4_2_softmax,
    zero_dimension,
)
from attnlab.separation.theory.drawn_rows import success_with_drawn_rows
from attnlab.separation.theory.one_neuron import (
    BestWidth,
    NeuronLaw,
    best_width,
    cap,
    failure_from,
    success_from,
    width_range,
)
from attnlab.separation.theory.regression_bounds import (
    SuccessBounds,
    chernoff,
    spike_decides,
    success_bounds,
)
from attnlab.separation.theory.success_law import neuron_law, success
from attnlab.separation.theory.worst_case import (
    log_worst_tail,
    log_zero_failure,
    worst_norm,
    worst_share,
)

__all__ = [
    "BestWidth",
    "NeuronLaw",
    "SuccessBounds",
    "best_width",
    "cap",
    "chernoff",
    "failure_from",
    "fire_limit",
    "fire_steps",
    "hoeffding_constant",
    "hoeffding_exponent",
    "hoeffding_tail",
    "lemma_4_1_linear",
    "lemma_4_1_softmax",
    "lemma_4_2_linear",
    "lemma_4_2_linear_printed",
    "lemma_4_2_softmax",
    "log_worst_tail",
    "log_zero_failure",
    "neuron_law",
    "spike_decides",
    "success",
    "success_bounds",
    "success_from",
    "success_with_drawn_rows",
    "width_range",
    "worst_norm",
    "worst_share",
    "zero_dimension",
]
