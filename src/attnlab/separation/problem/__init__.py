"""The two datasets of each model, as frozen descriptions that build or draw arrays."""

from attnlab.separation.problem.attention import (
    AttentionPrompt,
    CrossAttentionPair,
    DefinitionWarning,
    DistinctRows,
    SelfAttentionPair,
    SpikedPair,
)
from attnlab.separation.problem.regression import RegressionPair, RegressionPrompt

__all__ = [
    "AttentionPrompt",
    "CrossAttentionPair",
    "DefinitionWarning",
    "DistinctRows",
    "RegressionPair",
    "RegressionPrompt",
    "SelfAttentionPair",
    "SpikedPair",
]
