"""What softmax attention separates and linear attention cannot.

Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685). `SelfAttentionPair`,
`CrossAttentionPair` and `RegressionPair` are pairs of datasets; `AttentionNetwork` and
`RegressionNetwork` describe what reads them. `success` is the exact probability that softmax
separates the two datasets and linear attention does not, and `simulate` its Monte Carlo, called
the same way. The other names are the law of one neuron, what follows from it, and the lemmas.
"""

from attnlab.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
