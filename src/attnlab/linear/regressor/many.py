"""Many small regressions of one shape at once.

`InContextRegressor` is the case of one problem. The answer of a network is taken from the last
layer at which it fits the data better than the mean does. That is its last layer unless the data
are far from all training data; layer 0, the answer 0, always qualifies. The squared error is
convex, so that the average of several networks' answers fits better than the mean as well.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab.errors import UserError
from attnlab.linear.regressor.implied_ridge import implied_ridge
from attnlab.linear.regressor.recursion import answers
from attnlab.linear.regressor.scaling import centred, restored, scaled
from attnlab.linear.regressor.shipped import Share, networks_for

BLOCK = 2**20  # entries of Gram matrices that are processed at once, to stay in the cache


class Fits(NamedTuple):
    """The result of `fit_many`, with one row per problem.

    `coef` and `intercept` are the fitted coefficients. `noise` is the implied standard deviation
    of the labels' noise and `penalty` the implied ridge penalty (see `implied_ridge`). `layers` is
    the layer after which the answer was read, the earliest one where several networks are
    averaged. `networks` are these networks with their weights.
    """

    coef: Float[np.ndarray, "problems d"]
    intercept: Float[np.ndarray, " problems"]
    noise: Float[np.ndarray, " problems"]
    penalty: Float[np.ndarray, " problems"]
    layers: Int[np.ndarray, " problems"]
    networks: tuple[Share, ...]

    def predict(
        self, queries: Float[np.ndarray, "problems q d"]
    ) -> Float[np.ndarray, "problems q"]:
        """The predictions for the queries of every problem."""
        return (queries @ self.coef[..., None])[..., 0] + self.intercept[:, None]

    def __repr__(self) -> str:
        problems, d = self.coef.shape
        return f"Fits({problems} problems with {d} features)"


def fit_many(X: Any, y: Any, *, fit_intercept: bool = True, implied: bool = True) -> Fits:
    """Fit every problem (X[i], y[i]).

    Parameters
    ----------
    X
        Samples, of shape (problems, n, d).
    y
        Labels, of shape (problems, n).
    fit_intercept
        Whether to centre X and y.
    implied
        Whether to compute the implied noise and penalty; they are NaN otherwise, which saves half
        of the time.
    """
    X, y = _numbers("X", X, 3), _numbers("y", y, 2)
    if X.shape[:2] != y.shape or 0 in X.shape:
        raise UserError(
            "X and y must have shapes (problems, n, d) and (problems, n), none of them 0, "
            f"got {X.shape} and {y.shape}."
        )
    effective = X.shape[1] - bool(fit_intercept)
    if effective < 1:
        raise UserError(
            "X must hold at least 2 samples per problem where fit_intercept is True, "
            f"got {X.shape[1]}."
        )
    shares = networks_for(effective, X.shape[2])
    size = max(BLOCK // (min(X.shape[1:]) + 1) ** 2, 1)
    parts = [
        _fit(X[i : i + size], y[i : i + size], shares, fit_intercept, implied)
        for i in range(0, len(X), size)
    ]
    coef, intercept, noise, penalty, layers = map(np.concatenate, zip(*parts, strict=True))
    return Fits(coef, intercept, noise, penalty, layers, shares)


def predict_many(
    X: Any, y: Any, queries: Any, *, fit_intercept: bool = True
) -> Float[np.ndarray, "problems q"]:
    """Fit every problem and predict for its own queries.

    Parameters
    ----------
    X, y
        Samples and labels, of shapes (problems, n, d) and (problems, n).
    queries
        Inputs to predict for, of shape (problems, q, d).
    fit_intercept
        Whether to centre X and y.
    """
    fits = fit_many(X, y, fit_intercept=fit_intercept, implied=False)
    queries = _numbers("queries", queries, 3)
    problems, d = fits.coef.shape
    if queries.shape[::2] != (problems, d):
        raise UserError(
            f"queries must have shape (problems, q, d) = ({problems}, q, {d}), got {queries.shape}."
        )
    return fits.predict(queries)


def _fit(
    X: np.ndarray, y: np.ndarray, shares: tuple[Share, ...], fit_intercept: bool, implied: bool
) -> tuple[np.ndarray, ...]:
    inputs, labels = centred(X, fit_intercept), centred(y[..., None], fit_intercept)
    context = scaled(inputs.values, labels.values[..., 0])
    w, layers = shared_answer(shares, context.G)
    coef = restored(w, context)
    intercept = labels.offset[:, 0] - (coef * inputs.offset).sum(1)
    noise, penalty = np.full((2, len(X)), np.nan)
    if implied:
        ridge = implied_ridge(context.G, w)
        # A constant X explains nothing, so that all variation of y is noise.
        varies = np.square(labels.values[..., 0]).sum(1)
        left = np.where(context.empty, varies, ridge.noise_square_sum / context.y_scale**2)
        noise = np.sqrt(left / (X.shape[1] - bool(fit_intercept)))
        penalty = ridge.penalty / context.x_scale**2
    with np.errstate(over="ignore"):
        coef = np.ldexp(coef, (labels.exponent - inputs.exponent)[:, None])
        penalty = np.ldexp(penalty, 2 * inputs.exponent)
        intercept, noise = (np.ldexp(part, labels.exponent) for part in (intercept, noise))
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise UserError("X and y must have units in which slopes and labels are float64 numbers.")
    return coef, intercept, noise, penalty, layers


def shared_answer(
    shares: tuple[Share, ...], G: Float[np.ndarray, "problems p p"]
) -> tuple[Float[np.ndarray, "problems d"], Int[np.ndarray, " problems"]]:
    """The weighted average of the networks' answers, and the earliest layer that was read."""
    w = np.zeros((len(G), G.shape[-1] - 1))
    earliest = np.full(len(G), max(len(share.network.omegas) for share in shares))
    for weight, network in shares:
        answer, layers = last_plausible(answers(network.omegas, G), G)
        w, earliest = w + weight * answer, np.minimum(earliest, layers)
    return w, earliest


def last_plausible(
    stages: Float[np.ndarray, "stages problems d"], G: Float[np.ndarray, "problems p p"]
) -> tuple[Float[np.ndarray, "problems d"], Int[np.ndarray, " problems"]]:
    """The last w^l with ||y - X w||^2 <= ||y||^2, and its l, which is at least 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        fitted = ((stages[:, :, None] @ G[:, :-1, :-1])[:, :, 0] * stages).sum(-1)
        gained = 2 * (stages * G[:, :-1, -1]).sum(-1)
        plausible = np.isfinite(fitted) & (fitted <= gained * (1 + 1e-9))
    plausible[0] = True
    layers = len(stages) - 1 - plausible[::-1].argmax(axis=0)
    return stages[layers, np.arange(stages.shape[1])], layers


def _numbers(name: str, given: Any, rank: int) -> np.ndarray:
    try:
        array = np.asarray(given, float)
    except (TypeError, ValueError):
        raise UserError(f"{name} must be an array of real numbers, got {type(given)}.") from None
    if array.ndim != rank:
        raise UserError(f"{name} must have {rank} axes, got the shape {array.shape}.")
    if not np.isfinite(array).all():
        raise UserError(f"{name} must hold finite numbers only, got NaN or infinity in it.")
    return array
