"""Linear transformers as in-context learners of noisy regression.

Source: Vladymyrov, von Oswald, Sandler, Ge (arXiv 2402.14180). The public names of this paper are
those below. A problem is `NoisyRegression` with a noise law; `train` trains networks on it, `loss`
measures any predictor, the laws give exact values to compare with, and `read` turns weights into a
description of the algorithm. `InContextRegressor` is a scikit-learn estimator that needs NumPy
only.
"""

from attnlab.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
