"""Networks: descriptions, drawn networks that answer prompts, and the attention inside them."""

from attnlab.separation.models.attention import (
    KINDS,
    Kind,
    attention_output,
    normalise,
)
from attnlab.separation.models.drawn_network import (
    TIE,
    DrawnAttentionNetwork,
    DrawnRegressionNetwork,
)
from attnlab.separation.models.tensor_form import (
    tensor_attention_output,
    tensor_form,
    tensor_scores,
)
from attnlab.separation.models.threshold_network import (
    NETWORKS,
    AttentionNetwork,
    RegressionNetwork,
    exceeds,
    paper_width,
    regression_width,
)

__all__ = [
    "KINDS",
    "NETWORKS",
    "TIE",
    "AttentionNetwork",
    "DrawnAttentionNetwork",
    "DrawnRegressionNetwork",
    "Kind",
    "RegressionNetwork",
    "attention_output",
    "exceeds",
    "normalise",
    "paper_width",
    "regression_width",
    "tensor_attention_output",
    "tensor_form",
    "tensor_scores",
]
