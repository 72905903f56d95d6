"""Closed forms: exact laws and bounds, with the signatures of their Monte Carlo counterparts."""

from attnlab.separation.theory.bounds import (
    fire_steps,
    hoeffding_constant,
    hoeffding_tail,
    lemma_4_1_linear,
    lemma_4_1_softmax,
    lemma_4_2_linear,
    lemma_4_2_linear_printed,
    lemma_4_2_softmax,
    zero_dimension,
)
from attnlab.separation.theory.neuron_law import BestWidth, NeuronLaw, best_width, cap, success_from
from attnlab.separation.theory.regression_law import (
    SuccessBounds,
    chernoff,
    exceed_bounds,
    spike_decides,
    success_bounds,
)
from attnlab.separation.theory.success_law import neuron_law, success
from attnlab.stats.estimate import Estimate

__all__ = [
    "BestWidth",
    "Estimate",
    "NeuronLaw",
    "SuccessBounds",
    "best_width",
    "cap",
    "chernoff",
    "exceed_bounds",
    "fire_steps",
    "hoeffding_constant",
    "hoeffding_tail",
    "lemma_4_1_linear",
    "lemma_4_1_softmax",
    "lemma_4_2_linear",
    "lemma_4_2_linear_printed",
    "lemma_4_2_softmax",
    "neuron_law",
    "spike_decides",
    "success",
    "success_bounds",
    "success_from",
    "zero_dimension",
]
