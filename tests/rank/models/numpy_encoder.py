"""The encoder written from its definition, head by head and point by point, in plain NumPy.

It shares no line with the library: loops over heads, queries and keys, the paper's matrices
Q, K, V, O in R^(d x r), and one sequence at a time. The random instances that the tests of
attention and encoder share are here too, drawn by NumPy because that needs no compiling.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from attnlab.rank.models.encoder_init import initialise


def generator(seed):
    return np.random.Generator(np.random.Philox(seed))


def matrices(seed, heads=3, d=6, r=2):
    rng = generator(seed)
    return [jnp.asarray(rng.standard_normal((heads, d, r))) for _ in range(4)]


def points(seed, n=5, d=6):
    X = generator(seed + 2000).standard_normal((n, d))
    return jnp.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def perturbed(shape, seed):
    """An encoder with weights in general position: no bias is zero and no gain is one."""
    rng = generator(seed)
    drawn = eqx.filter_eval_shape(initialise, shape, jax.random.key(0))
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.standard_normal(leaf.shape)), drawn)


def difference(left, right):
    return float(np.abs(np.asarray(left) - np.asarray(right)).max())


def weights(scores, kind):
    """phi of one query's scores."""
    if kind == "linear":
        return scores
    if kind == "hardmax":
        best = [value == max(scores) for value in scores]
        return np.array(best) / sum(best)
    grown = np.array([np.exp(value - max(scores)) for value in scores])
    return grown / sum(grown)


def attention(layer, X, Y=None):
    """sum_h O_h V_h^T X phi(X^T K_h Q_h^T y) for every y, with biases, mask and groups."""
    queries = X if Y is None else Y
    out = np.zeros((len(queries), X.shape[1]))
    for h in range(len(layer.Q)):
        Q, K = (np.asarray(array[h]).T for array in (layer.Q, layer.K))
        for i, y in enumerate(queries):
            keys = [j for j in range(len(X)) if not (layer.self_mask and j == i)]
            q = Q.T @ y + bias(layer.query_bias, h)
            scores = [layer.scale * float((K.T @ X[j] + bias(layer.key_bias, h)) @ q) for j in keys]
            for j, weight in zip(keys, weights(np.array(scores), layer.scores), strict=True):
                value = np.asarray(layer.V[h]) @ X[j] + bias(layer.value_bias, h)
                head = value if layer.O is None else np.asarray(layer.O[h]).T @ value
                out[i] += weight * head / layer.groups
    return out + bias(layer.output_bias, slice(None))


def bias(array, h):
    return 0.0 if array is None else np.asarray(array[h])


def norm(gain, point):
    if gain is None:
        return point
    if gain.kind == "rms":
        mean = sum(value**2 for value in point) / len(point)
        return point / np.sqrt(mean + np.finfo(float).eps) * np.asarray(gain.gain)
    return point / np.sqrt(sum(value**2 for value in point)) * float(gain.gain[0])


def perceptron(mlp, point):
    hidden = np.asarray(mlp.up) @ point + bias(mlp.up_bias, slice(None))
    hidden[hidden < 0] = 0
    return np.asarray(mlp.down) @ hidden + bias(mlp.down_bias, slice(None))


def encoder(model, X):
    d, shape = X.shape[1], model.shape
    x = np.asarray(X)
    if shape.encoding == "additive":
        x = x + np.asarray(model.positions)
    elif shape.encoding == "concatenated":
        x = np.hstack([x, np.asarray(model.positions)])
    elif shape.encoding == "padded":
        x = np.hstack([x, np.zeros((len(x), shape.width - d))])
    for block in model.blocks:
        moved = x + attention(block.attention, x)
        x = np.array([norm(block.attention_norm, point) for point in moved])
        if block.mlp is not None:
            moved = [point + perceptron(block.mlp, point) for point in x]
            x = np.array([norm(block.mlp_norm, point) for point in moved])
    return x[:, :d]
