"""The scikit-learn estimator: linear regression by a trained linear transformer.

Source of the model: Vladymyrov et al. (arXiv 2402.14180). `fit` gives the data to a shipped network
as its prompt and keeps the weights w^L of its answer. Ridge regression takes its regularisation
from cross-validation; the network takes it from the data in its forward pass.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from attnlab.errors import UserError
from attnlab.linear.regressor.many import fit_many


class ImplausibleAnswer(UserWarning):
    """The answer of the last layer fits the data worse than their mean; an earlier one is used."""


class InContextRegressor(RegressorMixin, BaseEstimator):
    """Linear regression that estimates the noise level by itself, without cross-validation.

    The network assumes what ridge regression assumes: coefficients of similar size for features of
    similar scale. Features of different scales should be standardised first, for example with
    `StandardScaler`; here they are centred and divided by one common number only.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to centre X and y; without it they are assumed to be centred.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients.
    intercept_ : float
        The intercept.
    noise_ : float
        The standard deviation of the noise, from the ridge regression whose fit is nearest to the
        network's.
    penalty_ : float
        The `alpha` of that ridge regression.
    networks_ : dict
        The shipped networks whose answers were averaged, with their weights.
    layers_ : int
        The layer after which the answer was read: the last one unless a warning says otherwise.
    n_features_in_ : int
        The number of features; `feature_names_in_` has their names if X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from attnlab.linear import InContextRegressor
    >>> X = np.random.default_rng(0).standard_normal((30, 3))
    >>> InContextRegressor().fit(X, X @ [1.0, 2.0, 3.0]).predict(X[:2]).shape
    (2,)
    """

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any) -> "InContextRegressor":
        """Run the network on the samples X of shape (n, d) with labels y of shape (n,)."""
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise UserError(f"fit_intercept must be True or False, got {self.fit_intercept!r}.")
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            y_numeric=True,
            ensure_min_samples=2 if self.fit_intercept else 1,
        )
        fits = fit_many(X[None], y[None], fit_intercept=bool(self.fit_intercept))
        depth = max(len(share.network.omegas) for share in fits.networks)
        if fits.layers[0] < depth:
            warnings.warn(
                f"The answer after layer {depth} fits the data worse than their mean does, and "
                f"that after layer {fits.layers[0]} is used instead. X and y are far from the "
                "data that the network was trained on; compare with RidgeCV.",
                ImplausibleAnswer,
                stacklevel=2,
            )
        self.coef_ = fits.coef[0]
        self.intercept_ = float(fits.intercept[0])
        self.noise_ = float(fits.noise[0])
        self.penalty_ = float(fits.penalty[0])
        self.networks_ = {share.network.name: share.weight for share in fits.networks}
        self.layers_ = int(fits.layers[0])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """X coef_ + intercept_ for samples X of shape (q, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_ + self.intercept_
