"""The rank of attention heads against their number (Amsel, Yehudai, Bruna, arXiv 2407.16153).

`Neighbours` and `SelfNeighbours` are the problems; `FullRankHead`, `MajorityVote`, `RankAttention`
and `Encoder` answer their prompts. `lower_bound`, `full_rank_error`, `majority_vote_error` and
`exact_error` are laws; `error` is the Monte Carlo error of any predictor, and `train` trains an
encoder. All errors are estimates with standard errors.
"""

from attnlab.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
