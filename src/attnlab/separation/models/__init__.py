"""Networks: what maps a problem's arrays to numbers, with nothing random inside."""

from attnlab.separation.models.attention import (
    KINDS,
    Kind,
    attention_output,
    normalise,
    regression_weights,
    tensor_attention_output,
    tensor_form,
)
from attnlab.separation.models.threshold_network import (
    NETWORKS,
    TIE,
    AttentionNetwork,
    Features,
    RegressionNetwork,
    attention_features,
    attention_network_output,
    exceeds,
    paper_width,
    regression_network_output,
    regression_width,
    threshold_sum,
)

__all__ = [
    "KINDS",
    "NETWORKS",
    "TIE",
    "AttentionNetwork",
    "Features",
    "Kind",
    "RegressionNetwork",
    "attention_features",
    "attention_network_output",
    "attention_output",
    "exceeds",
    "normalise",
    "paper_width",
    "regression_network_output",
    "regression_weights",
    "regression_width",
    "tensor_attention_output",
    "tensor_form",
    "threshold_sum",
]
