"""Trials of the attention model.

Attention outputs have at most d - 1 distinct rows, so that a trial multiplies only those by its
signs. `DrawnAttentionNetwork` has the same event from all n rows, which is what tests compare with.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int8

from attnlab.errors import UserError
from attnlab.separation.models import KINDS, NETWORKS, AttentionNetwork, normalise
from attnlab.separation.problem import SpikedPair
from attnlab.separation.rademacher import generators, rademacher
from attnlab.separation.simulation.trials import block_sizes, require_one_trial, succeeds


def trial_memory(d: int, m: int, shared_signs: bool) -> tuple[int, int]:
    """Bytes that one trial takes, and bytes of the outputs that all trials share."""
    rows = d - 1  # the classes and the spike
    signs = m * d * (1 if shared_signs else len(NETWORKS))
    # Signs as bits, as int8 and as float64; and scores. Outputs of each network and all of them
    # stacked, beside what they are made of: X, V, queries, keys, scores and values.
    return 10 * signs + 8 * len(NETWORKS) * rows * m, 8 * (2 * len(NETWORKS) + 6) * rows * d


@dataclass(frozen=True)
class AttentionTrials:
    """Independent trials of E_success on a spiked pair."""

    problem: SpikedPair
    network: AttentionNetwork

    def successes(self, trials: int, seed: int, block: int) -> int:
        """The number of trials in which E_success happens."""
        needed, shared = trial_memory(self.problem.d, self.network.width, self.network.shared_signs)
        require_one_trial(needed + shared, "the width m or d")
        outputs = self.outputs()
        (rng,) = generators(seed, 1)
        return sum(
            int(self.outcomes(rademacher(rng, size, *self.shape), outputs).sum())
            for size in block_sizes(trials, needed, block)
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the signs of one trial: (m, d), or (4, m, d) where they are not shared."""
        groups = () if self.network.shared_signs else (len(NETWORKS),)
        return (*groups, self.network.width, self.problem.d)

    def outputs(self) -> Float[np.ndarray, "4 r d"]:
        """The distinct rows of the attention output of the four networks."""
        X, V = self.network.matrices(self.problem.d)
        by_network = {}
        for label in (0, 1):
            queries = self.problem.distinct_queries(label).rows
            keys, counts = self.problem.distinct_keys(label)
            scores, values = queries @ X @ keys.T, keys @ V
            for kind in KINDS:
                by_network[kind, label] = normalise(scores, kind, counts) @ values
        return np.stack([by_network[network] for network in NETWORKS])

    def outcomes(
        self,
        signs: Int8[np.ndarray, "trials *y"],
        outputs: Float[np.ndarray, "4 r d"] | None = None,
    ) -> Bool[np.ndarray, " trials"]:
        """Whether E_success happens, for given signs of each trial."""
        if signs.shape[1:] != self.shape:
            wanted = ", ".join(map(str, self.shape))
            raise UserError(f"signs must have shape (trials, {wanted}), got {signs.shape}.")
        outputs = self.outputs() if outputs is None else outputs
        networks, r, d = outputs.shape
        y = signs.astype(np.float64)
        if self.network.shared_signs:
            # Rows before trials: the maxima then run along memory, which takes most of the time.
            scores = outputs.reshape(-1, d) @ y.reshape(-1, d).T
            top = scores.reshape(networks, r, len(signs), -1).max(axis=1).max(axis=2).T
        else:
            top = (y @ outputs.swapaxes(1, 2)).max(axis=(2, 3))
        return succeeds(top, self.problem.threshold(self.network.offset))
