"""Which run the best of five is, when the five are drawn from more runs than five.

The paper shows the best of five seeds. Two sets of five trainings of one network differ by more
than the error of an evaluation, so that the chance of every stored run to be the best of five is
what a claim about "the best of five" rests on.
"""

from __future__ import annotations

from itertools import pairwise

BEST_OF = 5  # the paper's number of seeds


def chances_of_best(count: int, drawn: int = BEST_OF) -> list[float]:
    """The chance of each of `count` runs, best first, to be the best of those drawn.

    Runs are drawn with replacement: the i-th best of n is the best of k with the probability
    ((n-i+1)/n)^k - ((n-i)/n)^k.
    """
    below = [((count - i) / count) ** drawn for i in range(count + 1)]
    return [here - there for here, there in pairwise(below)]
