"""A trained linear transformer as a scikit-learn regressor that finds the noise level by itself.

`InContextRegressor` is the estimator; `fit_many` and `predict_many` do many small regressions at
once. Fitting runs a network of seven layers on the training data, which are its prompt; no weights
change. Only NumPy is used: JAX is not imported.
"""

from attnlab.linear.regressor.estimator import ImplausibleAnswer, InContextRegressor
from attnlab.linear.regressor.many import Fits, fit_many, predict_many

__all__ = ["Fits", "ImplausibleAnswer", "InContextRegressor", "fit_many", "predict_many"]
