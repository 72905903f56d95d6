"""Statistics that every paper uses: numbers with standard errors, and how they are compared.

Each function states the law behind it. `Estimate` is a number with its standard error, `agree`
compares two of them, `rate` fits a power law and `limit` extrapolates to infinite size;
`normal_threshold` and `student_threshold` say how many standard errors a true statement may be off.
"""

from attnlab.stats.agreement import Comparison, agree
from attnlab.stats.binomial import Agreement, agreement, binomial_p_value, clopper_pearson
from attnlab.stats.estimate import Estimate
from attnlab.stats.fits import Limit, Line, chi_square_tail, limit, line, rate
from attnlab.stats.levels import LEVEL, normal_threshold, student_threshold
from attnlab.stats.rounding import below

__all__ = [
    "LEVEL",
    "Agreement",
    "Comparison",
    "Estimate",
    "Limit",
    "Line",
    "agree",
    "agreement",
    "below",
    "binomial_p_value",
    "chi_square_tail",
    "clopper_pearson",
    "limit",
    "line",
    "normal_threshold",
    "rate",
    "student_threshold",
]
