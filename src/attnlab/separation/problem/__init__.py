"""The datasets of the studies, as frozen descriptions that build arrays on request."""

from attnlab.separation.problem.attention import (
    CrossAttentionPair,
    DefinitionWarning,
    DistinctRows,
    SelfAttentionPair,
    SpikedPair,
)
from attnlab.separation.problem.regression import RegressionPair

__all__ = [
    "CrossAttentionPair",
    "DefinitionWarning",
    "DistinctRows",
    "RegressionPair",
    "SelfAttentionPair",
    "SpikedPair",
]
