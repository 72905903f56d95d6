"""How many standard errors a true statement may be off: one level for every claim of the lab.

`LEVEL` is the probability that one claim refuses a true statement. A claim that makes several
comparisons divides it among them (Bonferroni), so that the level is the claim's, whatever the
dependence between the comparisons.
"""

from attnlab import arguments

LEVEL = 1e-5


def normal_threshold(comparisons: int = 1, level: float = LEVEL) -> float:
    """The z with Pr[|N(0, 1)| > z] = level / comparisons: for means of many samples."""
    from scipy.special import ndtri

    return float(-ndtri(_tail(comparisons, level)))


def student_threshold(freedom: int, comparisons: int = 1, level: float = LEVEL) -> float:
    """The same for Student's t law with `freedom` degrees of freedom: for means of few samples.

    `freedom` is the number of degrees of freedom behind the standard error, samples less one.
    """
    from scipy.special import stdtrit

    return float(-stdtrit(arguments.integer("freedom", freedom, 1), _tail(comparisons, level)))


def _tail(comparisons: int, level: float) -> float:
    """The probability of one tail of one comparison."""
    level = arguments.open_fraction("level", level)
    return level / (2 * arguments.integer("comparisons", comparisons, 1))
