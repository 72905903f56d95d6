"""The datasets of the studies, as frozen descriptions that build arrays on request."""

from attnlab.problems.spiked_attention import (
    CrossAttentionPair,
    DefinitionWarning,
    DistinctRows,
    SelfAttentionPair,
    SpikedPair,
)
from attnlab.problems.spiked_regression import RegressionPair

__all__ = [
    "CrossAttentionPair",
    "DefinitionWarning",
    "DistinctRows",
    "RegressionPair",
    "SelfAttentionPair",
    "SpikedPair",
]
