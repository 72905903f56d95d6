"""The models of the paper: linear attention, the random transformer and its Hermite equivalents."""

from attnlab.random.models.linear_attention import LinearAttention
from attnlab.random.models.transformer import EquivalentModel, RandomTransformer

Model = LinearAttention | RandomTransformer | EquivalentModel
