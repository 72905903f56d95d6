"""Success where the spike rows of D0 and D1 are drawn independently and uniformly.

Definition 6.1 of Deng, Song, Zhou (arXiv 2310.11685) names one row j_3 for each dataset and does
not say whether the two are the same. A row matters only through its class, and two independent
rows are of one class with probability 1 / (d - 2), so that

    Pr[E_success] = Pr[same class] P_same + Pr[different classes] P_different.
"""

import dataclasses

from attnlab.separation.models.threshold_network import AttentionNetwork
from attnlab.separation.problem.attention import SpikedPair
from attnlab.separation.theory.success_law import success
from attnlab.stats.estimate import Estimate


def success_with_drawn_rows(pair: SpikedPair, network: AttentionNetwork) -> Estimate:
    """The exact probability of E_success with independently drawn spike rows.

    The rows that `pair` names do not count; its other parameters do.
    """
    same = dataclasses.replace(pair, spike_row=0, zero_row=None)
    other = dataclasses.replace(pair, spike_row=0, zero_row=1)
    share = 1 / pair.classes
    mixed = share * success(same, network).value + (1 - share) * success(other, network).value
    return Estimate(mixed)
