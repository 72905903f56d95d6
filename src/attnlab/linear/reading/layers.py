"""The effect of every layer of a linear transformer on its implicit regression, at one noise level.

Source: Vladymyrov et al. (arXiv 2402.14180), Lemmas 4.3 and 4.4, Section 5. With the layer's
increment [[A, b], [c^T, e]] the implicit weights change by w' - w = e w - M^T c. The first part
rescales w by 1 + e. The second part is compared with gradient steps: g = a alpha - Sigma w is the
negative gradient of 1/2 ||a y - X w||^2, and M^T M g the same through the inputs of the layer.
All of this is exact for the network itself. Only the momentum form is that of its nearest diagonal
network.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from attnlab.linear.models import state
from attnlab.linear.models.transformer import gram_form
from attnlab.linear.models.weights import Omegas, Weights
from attnlab.linear.problem import sums
from attnlab.linear.reading.contexts import in_blocks
from attnlab.stats.estimate import Estimate

SPECTRA = 512  # sequences whose eigenvalues are computed


@dataclass(frozen=True)
class Term:
    """A matrix of the momentum form: the mean c of the nearest c I, and the share of the rest."""

    c: Estimate
    rest: float


@dataclass(frozen=True)
class Momentum:
    """Lemma 4.4: u' = (I - Lambda) u + Gamma g, w' = (1 + s) w - Pi g - Phi u, with the g above.

    Heavy-ball momentum has Lambda = beta, Gamma = -1, s = 0, Pi = 0, Phi = eta. `share` is the
    part of u in the squared lengths of the three changes of w.
    """

    Lambda: Term
    Gamma: Term
    s: Estimate
    Pi: Term
    Phi: Term
    share: float


@dataclass(frozen=True)
class LayerAt:
    """One layer at one noise level.

    `step` is the least-squares eta of  -M^T c ~ eta M^T M g  over sequences, and `explained` the
    share of the squared length of the change that it explains; for GD++ they are -omega_yx and 1.
    `along` is that share if every sequence has a step of its own. `plain_step` and
    `plain_explained` are the same for  -M^T c ~ eta g. `rescaling` is 1 + e, which is
    1 + omega_yy lambda for a diagonal network. `adaptation` is 1 + omega_xy lambda, by which later
    steps are multiplied. `labels` is lambda = sum y_i^2 before the layer. `condition` is the
    geometric mean of the condition number of Sigma before and after the layer, `largest` the mean
    of its largest eigenvalue before the layer, and `inputs` the same before layer 1.
    """

    sigma: float
    step: Estimate
    explained: float
    along: float
    plain_step: Estimate
    plain_explained: float
    rescaling: Estimate
    adaptation: Estimate
    labels: Estimate
    condition: tuple[float, float]
    largest: float
    inputs: float
    momentum: Momentum


class _Moves(NamedTuple):
    """Scalars of one sequence for each layer, and Sigma at every stage.

    `move` is -M^T c, `h` is M^T M g; `pieces` are the squared lengths of s w, Pi g and Phi u. The
    arrays are JAX's in the compiled part and NumPy's after it.
    """

    move_g: Any
    move_h: Any
    move_move: Any
    g_g: Any
    h_h: Any
    e: Any
    lam: Any
    c: Any
    rest: Any
    s: Any
    pieces: Any
    Sigma: Any


def layers_at(
    weights: Weights, omegas: Omegas, G: Float[np.ndarray, "samples p p"], n: int, sigma: float
) -> tuple[tuple[LayerAt, ...], int]:
    """The reading of every layer on these contexts, and the number of contexts that overflowed.

    Those are left out. `omegas` are the network's own, or those of its nearest diagonal network.
    """
    moves = in_blocks(lambda block: _moves(weights, omegas, block), G)
    numbers = [np.asarray(part).reshape(len(G), -1) for part in moves]
    finite = np.all([np.isfinite(part).all(axis=1) for part in numbers], axis=0)
    kept: _Moves = jax.tree.map(lambda part: np.asarray(part, np.float64)[finite], moves)
    if not finite.any():
        return (), len(G)
    spectra = np.linalg.eigvalsh(kept.Sigma[:SPECTRA])[..., -min(n, G.shape[-1] - 1) :]
    xy = np.asarray(omegas.xy, np.float64)
    read = [_layer(kept, spectra, xy[layer], layer, sigma) for layer in range(weights.depth)]
    return tuple(read), int(len(G) - finite.sum())


def _layer(
    moves: _Moves, spectra: np.ndarray, omega_xy: float, layer: int, sigma: float
) -> LayerAt:
    length = moves.move_move[:, layer]
    step, explained = slope(moves.move_h[:, layer], moves.h_h[:, layer], length)
    plain_step, plain_explained = slope(moves.move_g[:, layer], moves.g_g[:, layer], length)
    lam = moves.lam[:, layer]
    terms = [
        Term(
            Estimate.of(moves.c[:, layer, i]), float(np.sqrt(np.mean(moves.rest[:, layer, i] ** 2)))
        )
        for i in range(4)
    ]
    pieces = moves.pieces[:, layer].sum(axis=0)
    return LayerAt(
        sigma=sigma,
        step=step,
        explained=explained,
        along=_along(moves.move_h[:, layer], moves.h_h[:, layer], length),
        plain_step=plain_step,
        plain_explained=plain_explained,
        rescaling=Estimate.of(1 + moves.e[:, layer]),
        adaptation=Estimate.of(1 + omega_xy * lam),
        labels=Estimate.of(lam),
        condition=(_condition(spectra[:, layer]), _condition(spectra[:, layer + 1])),
        largest=float(spectra[:, layer, -1].mean()),
        inputs=float(spectra[:, 0, -1].mean()),
        momentum=Momentum(
            terms[0],
            terms[1],
            Estimate.of(moves.s[:, layer]),
            terms[2],
            terms[3],
            float(pieces[2] / pieces.sum()) if pieces.sum() > 0 else 0.0,
        ),
    )


def slope(
    xy: Float[np.ndarray, " samples"],
    xx: Float[np.ndarray, " samples"],
    yy: Float[np.ndarray, " samples"],
) -> tuple[Estimate, float]:
    """The eta of y ~ eta x over sequences, and the share of y that it explains.

    From the inner products xy, xx and yy of every sequence, eta = sum xy / sum xx. Its standard
    error is that of a ratio of sums: sqrt(sum (xy - eta xx)^2) / sum xx.
    """
    total, samples = float(xx.sum()), len(xx)
    if total == 0 or float(yy.sum()) == 0:
        return Estimate(0.0, 0.0, samples), 1.0
    eta = float(xy.sum()) / total
    error = np.sqrt(np.sum((xy - eta * xx) ** 2) * samples / max(samples - 1, 1)) / total
    return Estimate(eta, float(error), samples), eta * float(xy.sum()) / float(yy.sum())


def _along(xy: np.ndarray, xx: np.ndarray, yy: np.ndarray) -> float:
    """The share of y that lies along x, with an eta for each sequence."""
    total = float(yy.sum())
    return float(np.sum(xy**2 / np.where(xx > 0, xx, 1))) / total if total > 0 else 1.0


def _condition(spectrum: np.ndarray) -> float:
    smallest = np.maximum(spectrum[:, 0], np.finfo(float).tiny)
    return float(np.exp(np.mean(np.log(spectrum[:, -1]) - np.log(smallest))))


@jax.jit
def _moves(weights: Weights, omegas: Omegas, G: Float[Array, "samples p p"]) -> _Moves:
    return jax.vmap(lambda each: _sequence(weights, omegas, each))(G)


def _sequence(weights: Weights, omegas: Omegas, G: Array) -> _Moves:
    Sigma, alpha, _ = sums(G)
    trace = gram_form(weights, G)
    states = state.from_product(trace.R[:-1])
    S = jax.vmap(lambda layer, Gl: layer.increment(Gl))(weights, trace.G[:-1])
    g = _gradients(states, Sigma, alpha)
    h = jnp.einsum("lba,lbc,lc->la", states.M, states.M, g, precision="highest")
    move = -jnp.einsum("lba,lb->la", states.M, S[:, -1, :-1], precision="highest")

    form = state.momentum_form(omegas, G)
    own = state.from_product(gram_form(omegas, G).R[:-1])
    moved = [
        form.s[:, None] * own.w,
        jnp.einsum("lab,lb->la", form.Pi, _gradients(own, Sigma, alpha), precision="highest"),
        jnp.einsum("lab,lb->la", form.Phi, own.u, precision="highest"),
    ]
    isotropic = [
        state.isotropic_part(each) for each in (form.Lambda, form.Gamma, form.Pi, form.Phi)
    ]
    return _Moves(
        move_g=_inner(move, g),
        move_h=_inner(move, h),
        move_move=_inner(move, move),
        g_g=_inner(g, g),
        h_h=_inner(h, h),
        e=S[:, -1, -1],
        lam=trace.G[:-1, -1, -1],
        c=jnp.stack([c for c, _ in isotropic], axis=-1),
        rest=jnp.stack([rest for _, rest in isotropic], axis=-1),
        s=form.s,
        pieces=jnp.stack([_inner(piece, piece) for piece in moved], axis=-1),
        Sigma=trace.G[:, :-1, :-1],
    )


def _gradients(states: state.State, Sigma: Array, alpha: Array) -> Array:
    """g = a alpha - Sigma w at every layer, which is Sigma (a w* - w) without w*."""
    fitted = jnp.einsum("ab,lb->la", Sigma, states.w, precision="highest")
    return states.a[:, None] * alpha[None, :] - fitted


def _inner(left: Array, right: Array) -> Array:
    return jnp.einsum("la,la->l", left, right, precision="highest")
