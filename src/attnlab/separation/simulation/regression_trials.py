"""Trials of the softmax-regression model.

The logits of D0 and D1 differ in one coordinate, so that one sum R = sum_{i != s} w_i y_i serves
both datasets (w = u for linear, exp(u) for softmax): with w_s the weight at the spike and T the sum
of the other weights, a neuron's score is (R + w_s y_s) / (T + w_s). The sums run in float32, whose
error is bounded; trials with a score too close to tau for that are decided again in float64, on the
same logits and signs.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt8

from attnlab.errors import UserError
from attnlab.separation.models import KINDS, NETWORKS, RegressionNetwork
from attnlab.separation.problem import RegressionPair
from attnlab.separation.problem.regression import HIGH, SPIKE
from attnlab.separation.rademacher import generators, random_bits
from attnlab.separation.simulation.trials import block_sizes, require_one_trial, succeeds

_KIND_OF = [KINDS.index(kind) for kind, _ in NETWORKS]
_LABEL_OF = [label for _, label in NETWORKS]


def signs_shape(n: int, m: int, shared_signs: bool = True) -> tuple[int, ...]:
    """Shape of the signs of one trial: (m, n), or (4, m, n) where each network has its own."""
    return (m, n) if shared_signs else (len(NETWORKS), m, n)


def trial_memory(n: int, m: int, shared_signs: bool = True) -> tuple[int, int]:
    """Bytes that one trial takes in float32, and those that it takes where float64 decides."""
    signs = math.prod(signs_shape(n, m, shared_signs))
    # Signs as bits and as numbers, levels and weights.
    return 5 * signs + 4 * 3 * n, 9 * signs + 8 * 3 * n


class Buffers(NamedTuple):
    """Arrays for a block of trials: weights by kind (softmax, linear), and bits as numbers."""

    weights: Float[np.ndarray, "trials 2 n"]
    plus: Float[np.ndarray, "trials *y"]

    @classmethod
    def of(cls, trials: int, shape: tuple[int, ...], dtype: Any) -> "Buffers":
        """Buffers for trials with signs of this shape, in the precision of the sums."""
        return cls(np.empty((trials, 2, shape[-1]), dtype), np.empty((trials, *shape), dtype))


@dataclass(frozen=True)
class RegressionTrials:
    """Independent trials of E_success on a regression pair."""

    problem: RegressionPair
    network: RegressionNetwork

    def successes(self, trials: int, seed: int, block: int) -> int:
        """The number of trials in which E_success happens."""
        n, m = self.problem.n, self.network.width
        signs = math.prod(self.shape)
        in_float32, in_float64 = trial_memory(n, m, self.network.shared_signs)
        require_one_trial(in_float32 + in_float64, "n or the width m")
        data_rng, sign_rng = generators(seed, 2)
        sizes = list(block_sizes(trials, in_float32, block))
        # Reused: giving large arrays back to the system after every block takes longer than to
        # fill them.
        buffers = Buffers.of(sizes[0], self.shape, np.float32)
        count = 0
        for size in sizes:
            levels = self.problem.draw_levels(data_rng, size)
            bits = random_bits(sign_rng, size, signs).reshape(size, *self.shape)
            count += int(self.outcomes(levels, bits, buffers).sum())
        return count

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the signs of one trial."""
        return signs_shape(self.problem.n, self.network.width, self.network.shared_signs)

    def outcomes(
        self,
        levels: Float[np.ndarray, "trials n"],
        bits: UInt8[np.ndarray, "trials *y"],
        buffers: Buffers | None = None,
    ) -> Bool[np.ndarray, " trials"]:
        """Whether E_success happens, for given logits of D0 and signs.

        Parameters
        ----------
        levels
            The logits in units of log n.
        bits
            The signs, 1 for + and 0 for -.
        buffers
            Arrays to be overwritten; made anew unless given.
        """
        if bits.shape[1:] != self.shape:
            wanted = ", ".join(map(str, self.shape))
            raise UserError(f"bits must have shape (trials, {wanted}), got {bits.shape}.")
        buffers = buffers or Buffers.of(len(levels), self.shape, np.float32)
        tau, scores = self.network.tau, self._scores(levels, bits, buffers)
        close = (np.abs(scores - tau) <= float32_error(self.problem.n)).any(axis=(1, 2))
        if close.any():
            exact = Buffers.of(int(close.sum()), self.shape, np.float64)
            scores[close] = self._scores(levels[close], bits[close], exact)
        return succeeds(scores.max(axis=2), tau)

    def _scores(
        self,
        levels: Float[np.ndarray, "trials n"],
        bits: UInt8[np.ndarray, "trials *y"],
        buffers: Buffers,
    ) -> Float[np.ndarray, "trials 4 m"]:
        """The scores of every neuron in the four networks, by sums in the buffers' precision."""
        unit, spike, trials = self.problem.unit, self.problem.spike, len(levels)
        weights, plus = buffers.weights[:trials], buffers.plus[:trials]
        weights[:, 1] = levels
        # Relative to the softmax weight of 1.4 log n, the largest on D0.
        softmax = np.subtract(weights[:, 1], HIGH, out=weights[:, 0])
        softmax *= unit
        np.exp(softmax, out=softmax)
        on_d1 = np.broadcast_to([np.exp((SPIKE - HIGH) * unit), SPIKE], (trials, 2))
        at_spike = np.stack([weights[..., spike], on_d1])
        weights[..., spike] = 0.0
        plus[...] = bits

        total = weights.sum(axis=2).astype(np.float64)[:, _KIND_OF, None]
        if self.network.shared_signs:
            sums = (plus @ weights.swapaxes(1, 2))[..., _KIND_OF].swapaxes(1, 2)
            sign = 2.0 * bits[:, None, :, spike] - 1
        else:
            by_kind = plus @ weights[:, None].swapaxes(2, 3)
            sums = np.stack([by_kind[:, g, :, kind] for g, kind in enumerate(_KIND_OF)], axis=1)
            sign = 2.0 * bits[..., spike] - 1
        w = at_spike[_LABEL_OF, :, _KIND_OF].T[..., None]
        # R is twice the sum over the plus signs, less the sum over all.
        return (2.0 * sums.astype(np.float64) - total + w * sign) / (total + w)


def float32_error(n: int) -> float:
    """A bound on the error of a score whose sums over n coordinates ran in float32.

    With eps = 2^-24, a weight has a relative error of at most (8 + log n) eps, from its exponent
    and from the exponential itself, and adding n of them in any order adds n eps. A score is a
    ratio with twice such a sum and another one above, and one below.
    """
    return 5 * (n + 8 + math.log(n)) * 2.0**-24
