"""Trials of the softmax-regression model.

The logits of D0 and D1 differ in one coordinate, so that one sum R = sum_{i != s} w_i y_i serves
both datasets (w = u for linear, exp(u) for softmax): with w_s the weight at the spike and T the sum
of the other weights, a neuron's score is (R + w_s y_s) / (T + w_s). Most trials are decided without
these sums: where counts of bits show that all neurons stay silent which should, success is up to
the sign at the spike, which outweighs the others in F_exp(D1).
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, UInt8, UInt64

from attnlab.errors import UserError
from attnlab.separation.models import KINDS, NETWORKS, RegressionNetwork
from attnlab.separation.problem import RegressionPair
from attnlab.separation.problem.regression import HIGH, SPIKE
from attnlab.separation.rademacher import generators, random_words, unpacked
from attnlab.separation.simulation.silent_neurons import silent_neurons
from attnlab.separation.simulation.trials import BLOCK, block_sizes, require_one_trial, succeeds

_KIND_OF = [KINDS.index(kind) for kind, _ in NETWORKS]
_LABEL_OF = [label for _, label in NETWORKS]


def signs_shape(n: int, m: int, shared_signs: bool = True) -> tuple[int, ...]:
    """Shape of the signs of one trial: (m, n), or (4, m, n) where each network has its own."""
    return (m, n) if shared_signs else (len(NETWORKS), m, n)


def trial_memory(n: int, m: int, shared_signs: bool = True) -> tuple[int, int]:
    """Bytes that one trial takes while bits are counted, and while it is summed in float64."""
    signs = math.prod(signs_shape(n, m, shared_signs))
    words = signs // 8
    # A byte for each sign while it is packed into words, levels and weights; then signs as numbers.
    return signs + 2 * words + 4 * 4 * n, 9 * signs + words + (4 + 8 * 3) * n


@dataclass(frozen=True)
class RegressionTrials:
    """Independent trials of E_success on a regression pair."""

    problem: RegressionPair
    network: RegressionNetwork

    def successes(self, trials: int, seed: int, block: int) -> int:
        """The number of trials in which E_success happens."""
        counted, summed = self._memory
        require_one_trial(max(counted, summed), "n or the width m")
        data_rng, sign_rng = generators(seed, 2)
        count = 0
        for size in block_sizes(trials, counted, block):
            levels = self.problem.draw_levels(data_rng, size)
            signs = random_words(sign_rng, size, *self.shape)
            count += int(self.outcomes(levels, signs).sum())
        return count

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the signs of one trial."""
        return signs_shape(self.problem.n, self.network.width, self.network.shared_signs)

    @property
    def _memory(self) -> tuple[int, int]:
        return trial_memory(self.problem.n, self.network.width, self.network.shared_signs)

    def outcomes(
        self, levels: Float[np.ndarray, "trials n"], signs: UInt64[np.ndarray, "trials *m words"]
    ) -> Bool[np.ndarray, " trials"]:
        """Whether E_success happens, for given logits of D0 and signs.

        Parameters
        ----------
        levels
            The logits in units of log n.
        signs
            The signs as bits, 1 for + and 0 for -, `packed` along the last axis.
        """
        wanted = (*self.shape[:-1], -(-self.problem.n // 64))
        if signs.shape[1:] != wanted:
            listed = ", ".join(map(str, wanted))
            raise UserError(f"signs must have shape (trials, {listed}), got {signs.shape}.")
        found, decided = self._counted(levels, signs)
        open_trials, first = np.flatnonzero(~decided), 0
        for size in block_sizes(len(open_trials), self._memory[1], BLOCK):
            some = open_trials[first : first + size]
            scores = self.scores(levels[some], unpacked(signs[some], self.problem.n))
            found[some] = succeeds(scores.max(axis=2), self.network.tau)
            first += size
        return found

    def _counted(
        self, levels: Float[np.ndarray, "trials n"], signs: UInt64[np.ndarray, "trials *m words"]
    ) -> tuple[Bool[np.ndarray, " trials"], Bool[np.ndarray, " trials"]]:
        """What follows from counts of bits: outcomes, and which trials they are valid for."""
        trials, spike, tau = len(levels), self.problem.spike, self.network.tau
        groups = signs.reshape(trials, -1, self.network.width, signs.shape[-1])
        # Of F_exp(D1), whose signs are those of the first group.
        plus = (groups[:, 0, :, spike // 64] >> np.uint64(spike % 64)) & np.uint64(1)
        fires = np.logical_or.reduce(plus, axis=1)
        if not self._spike_decides:
            return fires, np.zeros(trials, bool)
        silent = silent_neurons(
            self.problem, tau, levels, groups.reshape(trials, -1, signs.shape[-1])
        )
        by_group = {kind: each.reshape(groups.shape[:-1]) for kind, each in silent.items()}
        last = groups.shape[1] - 1
        quiet = [by_group[kind][:, min(g, last)] for g, (kind, _) in enumerate(NETWORKS) if g]
        return fires, ~fires | np.logical_and.reduce(np.concatenate(quiet, axis=1), axis=1)

    @property
    def _spike_decides(self) -> bool:
        """Whether a neuron of F_exp(D1) fires exactly where its sign at the spike is +.

        Its score is then at least (w_s - T) / (w_s + T), and otherwise at most the negative of it;
        T is at most n - 1 times the largest weight.
        """
        n = self.problem.n
        others = (n - 1) * math.exp((HIGH - SPIKE) * self.problem.unit)
        return (1 - others) / (1 + others) > self.network.tau + 1e-6

    def scores(
        self, levels: Float[np.ndarray, "trials n"], bits: UInt8[np.ndarray, "trials *y"]
    ) -> Float[np.ndarray, "trials 4 m"]:
        """The scores of every neuron in the four networks, by sums in float64."""
        unit, spike, trials = self.problem.unit, self.problem.spike, len(levels)
        weights, plus = np.empty((trials, 2, self.problem.n)), bits.astype(np.float64)
        weights[:, 1] = levels
        # Relative to the softmax weight of 1.4 log n, the largest on D0.
        weights[:, 0] = np.exp((weights[:, 1] - HIGH) * unit)
        on_d1 = np.broadcast_to([np.exp((SPIKE - HIGH) * unit), SPIKE], (trials, 2))
        at_spike = np.stack([weights[..., spike], on_d1])
        weights[..., spike] = 0.0

        total = weights.sum(axis=2)[:, _KIND_OF, None]
        if self.network.shared_signs:
            sums = (plus @ weights.swapaxes(1, 2))[..., _KIND_OF].swapaxes(1, 2)
            sign = 2.0 * bits[:, None, :, spike] - 1
        else:
            by_kind = plus @ weights[:, None].swapaxes(2, 3)
            sums = np.stack([by_kind[:, g, :, kind] for g, kind in enumerate(_KIND_OF)], axis=1)
            sign = 2.0 * bits[..., spike] - 1
        w = at_spike[_LABEL_OF, :, _KIND_OF].T[..., None]
        # R is twice the sum over the plus signs, less the sum over all.
        return (2.0 * sums - total + w * sign) / (total + w)
