"""Monte Carlo: the signatures of the closed forms, with a standard error in the answer."""

from attnlab.estimate import Estimate
from attnlab.estimators.binomial import (
    Agreement,
    agreement,
    binomial_p_value,
    clopper_pearson,
)
from attnlab.estimators.rademacher import generators, rademacher
from attnlab.estimators.separation import (
    regression_indicators,
    sign_sums,
    success,
    success_indicators,
    success_indicators_full,
)

__all__ = [
    "Agreement",
    "Estimate",
    "agreement",
    "binomial_p_value",
    "clopper_pearson",
    "generators",
    "rademacher",
    "regression_indicators",
    "sign_sums",
    "success",
    "success_indicators",
    "success_indicators_full",
]
