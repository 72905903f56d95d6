"""The scikit-learn estimator: linear regression by a trained linear transformer.

Source of the model: Vladymyrov et al. (arXiv 2402.14180). `fit` shows the data to a shipped network
as its prompt and keeps the weights w^L that the network arrives at; the regularisation, which ridge
regression takes from cross-validation, the network takes from the data in its forward pass.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from attnlab.errors import UserError
from attnlab.linear.regressor.many import fit_many


class ImplausibleAnswer(UserWarning):
    """The network's last answer fitted worse than the mean; an earlier layer was read."""


class InContextRegressor(RegressorMixin, BaseEstimator):
    """Linear regression that estimates the noise level by itself, without cross-validation.

    The network assumes what ridge regression assumes: coefficients of similar size for features of
    similar scale. Bring features of unlike scales to one first, for example with `StandardScaler`;
    they are centred here, and divided by one common number only.

    Parameters: `fit_intercept` (True) centres X and y; without it they are taken as centred.

    Attributes: `coef_`, `intercept_`, `n_features_in_` (and `feature_names_in_`) as elsewhere;
    `noise_`, the standard deviation of the noise, and `penalty_`, the `alpha` of `Ridge`, both of
    the ridge regression whose fit is nearest to the network's; `networks_`, the shipped
    networks that share the answer, with their weights; `layers_`, the layer after which the answer
    was read, the last one unless a warning says otherwise.
    """

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any) -> "InContextRegressor":
        """Run the network over the samples X (n, d) with labels y (n,)."""
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
                f"The answer after layer {depth} fits the data worse than their mean does, so "
                f"that of layer {fits.layers[0]} is used: X and y are far from what the network "
                "was trained on; compare with RidgeCV.",
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
        """X coef_ + intercept_ for samples X (q, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_ + self.intercept_
