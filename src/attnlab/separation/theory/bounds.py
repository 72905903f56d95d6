"""The paper's inequalities as functions, the printed and the corrected ones.

Source: Deng, Song, Zhou, "Superiority of Softmax" (arXiv 2310.11685), Lemmas 3.1, 4.1 and 4.2. The
lemmas bound |<f, sigma>| for a random sign vector sigma with probability 1 - delta / poly(n); since
|<f, sigma>| <= 1 always, a bound of 1 or more says nothing. The steps of e and the dimension for
the zero claims of Theorem 6.2 are ours.
"""

import itertools
import math

import numpy as np
from jaxtyping import Float

from attnlab import arguments


def hoeffding_tail(f: Float[np.ndarray, " n"], t: float) -> float:
    """2 exp(-t^2 / (2 |f|^2)) >= Pr[|<f, sigma>| >= t], Lemma 3.1 for terms in [-f_i, f_i]."""
    return 2 * math.exp(-(t**2) / (2 * float(f @ f)))


def hoeffding_exponent(p: float, s: float) -> float:
    """log E exp(s (X - p)) of a variable that is 1 with probability p and 0 otherwise.

    It has value and slope 0 at s = 0 and a second derivative q (1 - q) <= 1/4, q being the
    probability of 1 under the tilted law, so that it is at most s^2 / 8. A variable in [0, 1] with
    mean p has no larger one, because exp is convex; Lemma 3.1 follows by Markov's inequality.
    """
    p = arguments.open_fraction("p", p)
    return math.log1p(p * math.expm1(s)) - p * s


def lemma_4_1_linear(n: int, delta: float, C: float = 1.0) -> float:
    """Lemma 4.1, part 1, on D0: |<f_lin, sigma>| <= C sqrt(log(n / delta) / n)."""
    return _root_log(n, delta, C) / math.sqrt(n)


def lemma_4_1_softmax(n: int, delta: float, C: float = 1.0) -> float:
    """Lemma 4.1, part 2, on D0: |<f_exp, sigma>| <= C sqrt(log(n / delta)) / n^0.1.

    It is above 1, and so says nothing, for every n <= 2000 even with C = 1 and delta = 0.1.
    """
    return _root_log(n, delta, C) / n**0.1


def lemma_4_2_linear(n: int, delta: float, C: float = 1.0) -> float:
    """Lemma 4.2, part 1, on D1, as its proof gives it: C sqrt(log(n / delta) / n)."""
    return _root_log(n, delta, C) / math.sqrt(n)


def lemma_4_2_linear_printed(n: int, delta: float, C: float = 1.0) -> float:
    """Lemma 4.2, part 1, on D1, as printed: C sqrt(log(n / delta)) / n, too small by sqrt(n)."""
    return _root_log(n, delta, C) / n


def lemma_4_2_softmax(n: int) -> float:
    """Lemma 4.2, part 2, on D1: |<f_exp, sigma>| is at least this, for every sigma.

    f_spike >= n^4 / (n^4 + (n - 1) n^1.4) and the n - 1 others hold the rest, so that the sum is at
    least 2 f_spike - 1. The paper states 1/4 for n >= 4.
    """
    n = arguments.integer("n", n, 2)
    return 2 / (1 + (n - 1) * n**-2.6) - 1


def hoeffding_constant(n: int, delta: float, entry: float) -> float:
    """The C that makes the linear bounds hold with probability 1 - delta / n.

    For |f_i| <= entry / n (the proofs have entry = 2 in Lemma 4.1 and 4 in Lemma 4.2) Hoeffding's
    bound gives 2 exp(-C^2 log(n / delta) / (2 entry^2)) = delta / n.
    """
    n, delta = arguments.integer("n", n, 2), arguments.open_fraction("delta", delta)
    entry = arguments.positive("entry", entry)
    return entry * math.sqrt(2 * math.log(2 * n / delta) / math.log(n / delta))


def fire_steps(c: float, b: float, offset: float = 0.1) -> tuple[float, float]:
    """The a1 where e rises from 1/4 to 3/8 and from 3/8 to 1/2: 2c + offset - b and + b.

    Past the first, a neuron with + at column 1 and at the spike row's class fires although column d
    has -; past the second, it fires whatever the class has. Both assume that softmax attends to
    nothing but the spike row.
    """
    c, b = arguments.non_negative("c", c), arguments.non_negative("b", b)
    middle = 2 * c + arguments.non_negative("offset", offset)
    return middle - b, middle + b


def fire_limit(a1: float, b: float, offset: float = 0.1) -> float:
    """e for large n and d, where softmax attends to nothing but the spike row; c = 1 - b.

    Of the eight signs at column 1, at the spike row's class and at column d, e is the share with
    a1 y_1 + b y_class + c y_d > c + offset.
    """
    a1, b = arguments.non_negative("a1", a1), arguments.non_negative("b", b)
    c = 1 - b
    tau = c + arguments.non_negative("offset", offset)
    signs = itertools.product((-1, 1), repeat=3)
    # A tie does not fire, whatever the last bit of the sum is.
    return sum(a1 * x + b * y + c * z > tau + 1e-12 for x, y, z in signs) / 8


def zero_dimension(b: float, offset: float, width: int, delta: float) -> float:
    """2 (b / offset)^2 log(m / delta), about the d from which the zero claims of Theorem 6.2 hold.

    A row that attends to all classes alike scores at most c + (b / d) (sum of d signs). By
    Hoeffding's inequality and a union bound over the m neurons that stays below c + offset with
    probability 1 - delta from this d on.

    Parameters
    ----------
    b, offset
        Entry at a token's class, and what the threshold adds to c.
    width, delta
        Number m of neurons, and the probability of failure.
    """
    b, offset = arguments.non_negative("b", b), arguments.positive("offset", offset)
    width, delta = arguments.integer("width", width, 1), arguments.open_fraction("delta", delta)
    return 2 * (b / offset) ** 2 * math.log(width / delta)


def _root_log(n: int, delta: float, C: float) -> float:
    n, delta = arguments.integer("n", n, 2), arguments.open_fraction("delta", delta)
    return arguments.positive("C", C) * math.sqrt(math.log(n / delta))
