"""Table 1 of the paper as printed: adjusted evaluation losses by model, depth and noise law.

Source: Vladymyrov et al. (arXiv 2402.14180). The paper prints no standard errors; `paper_error`
computes that of its evaluation, 100,000 sequences with one sampled query each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

UNIFORM = tuple(f"uniform:{high}" for high in range(8))
CATEGORICAL = ("categorical:1,3", "categorical:1,3,5")
LAWS = (*UNIFORM, *CATEGORICAL)
DEPTHS = tuple(range(1, 8))
MODELS = ("GD++", "DIAG", "FULL")  # of the paper
SHOWN = (*MODELS, "AXIS")  # AXIS is ours, and compared with the paper's FULL
COMPARED = {model: model for model in MODELS} | {"AXIS": "FULL"}  # the paper's row for each
RIDGES = ("CONSTRR", "ADARR", "TUNEDRR")
SEQUENCES = 100_000  # in the paper's evaluation

_ROWS = """
GD++ 1 1.768 1.639 1.396 1.175 1.015 0.907 0.841 0.806 1.007 0.819
DIAG 1 1.767 1.639 1.396 1.175 1.015 0.906 0.841 0.806 1.007 0.819
FULL 1 1.768 1.640 1.397 1.176 1.016 0.907 0.842 0.806 1.008 0.820
GD++ 2 0.341 0.295 0.243 0.265 0.347 0.366 0.440 0.530 0.305 0.427
DIAG 2 0.265 0.214 0.173 0.188 0.219 0.242 0.254 0.259 0.201 0.246
FULL 2 0.264 0.215 0.173 0.188 0.220 0.245 0.259 0.263 0.202 0.276
GD++ 3 0.019 0.021 0.071 0.161 0.259 0.344 0.454 0.530 0.222 0.422
DIAG 3 0.013 0.015 0.048 0.087 0.109 0.118 0.121 0.123 0.098 0.119
FULL 3 0.012 0.015 0.049 0.075 0.101 0.117 0.124 0.127 0.076 0.113
GD++ 4 9.91e-05 0.014 0.066 0.160 0.258 0.344 0.454 0.530 0.222 0.422
DIAG 4 1.19e-04 0.006 0.024 0.041 0.050 0.059 0.065 0.073 0.043 0.062
FULL 4 1.63e-04 0.005 0.021 0.038 0.052 0.065 0.068 0.076 0.032 0.061
GD++ 5 1.14e-07 0.014 0.066 0.161 0.265 0.344 0.454 0.530 0.222 0.422
DIAG 5 1.81e-07 0.004 0.016 0.029 0.041 0.051 0.058 0.062 0.026 0.051
FULL 5 1.79e-07 0.002 0.015 0.026 0.038 0.048 0.059 0.065 0.016 0.048
GD++ 6 2.37e-10 0.009 0.066 0.161 0.265 0.344 0.454 0.530 0.222 0.422
DIAG 6 2.57e-10 0.003 0.014 0.028 0.040 0.048 0.054 0.059 0.020 0.047
FULL 6 2.71e-10 0.002 0.014 0.025 0.036 0.044 0.052 0.059 0.011 0.043
GD++ 7 2.65e-12 0.009 0.066 0.161 0.265 0.344 0.454 0.530 0.222 0.422
DIAG 7 2.50e-12 0.002 0.014 0.027 0.040 0.047 0.052 0.059 0.018 0.046
FULL 7 2.50e-12 0.002 0.010 0.025 0.035 0.047 0.050 0.057 0.010 0.035
CONSTRR 0 0 0.009 0.066 0.161 0.265 0.365 0.454 0.530 0.222 0.422
ADARR 0 0 0.003 0.016 0.034 0.053 0.068 0.081 0.092 0.051 0.084
TUNEDRR 0 0 0.002 0.010 0.023 0.037 0.049 0.060 0.068 0.021 0.054
"""

PAPER: dict[tuple[str, int, str], float] = {  # by model, depth (0 for a ridge) and noise law
    (words[0], int(words[1]), law): float(value)
    for words in (line.split() for line in _ROWS.strip().splitlines())
    for law, value in zip(LAWS, words[2:], strict=True)
}


def rounding(value: float) -> float:
    """Half a unit of the last printed digit: three decimals, or two in scientific notation."""
    if value == 0 or value >= 5e-4:
        return 5e-4
    return 0.5 * 10.0 ** (math.floor(math.log10(value)) - 2)


def paper_error(loss: float, square: float, oracle: float, d: int = 10) -> float:
    """The standard error of the paper's evaluation of a model with this mean loss.

    With e = w - w_oracle and C the posterior covariance of the true weights, a sampled query gives
    1/2 (<e, x>^2 - 2 <e, x> z) with z ~ N(0, x^T C x), whose second moment is
    3/4 |e|^4 + |e|^2 tr C + 2 e^T C e. `square` is E (|e|^2 / 2)^2 and `oracle` E tr C / 2. The
    mean of the product |e|^2 tr C is approximated by the product of the means, and C by a multiple
    of the identity.
    """
    second = 3 * square + 4 * (1 + 2 / d) * loss * oracle
    return math.sqrt(max(second - loss**2, 0.0) / SEQUENCES)


def law_name(law: str) -> str:
    """The law as the paper writes it, such as U(0,5) or {1,3}."""
    kind, _, rest = law.partition(":")
    if kind == "uniform":
        return f"U(0,{rest})"
    return f"{{{rest}}}" if kind == "categorical" else f"σ = {rest}"


def trained_levels(law: str, levels: Iterable[float]) -> list[float]:
    """Those of some noise levels that a law has."""
    kind, _, rest = law.partition(":")
    own = [float(level) for level in rest.partition("@")[0].split(",")]
    if kind == "uniform":
        return [level for level in levels if 0 <= level <= own[0]]
    return [level for level in levels if level in own]


def trained_range(law: str) -> tuple[float, float]:
    """The smallest and the largest noise level of a law."""
    kind, _, rest = law.partition(":")
    levels = [float(level) for level in rest.partition("@")[0].split(",")]
    return (0.0, levels[0]) if kind == "uniform" else (min(levels), max(levels))
