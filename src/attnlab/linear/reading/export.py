"""A linear transformer as one Python file that needs NumPy only.

The file contains the weights as literals that reproduce every bit, and a function
`predict(X, y, queries)` that runs the network on its tokens in double precision. A diagonal network
is written with its omegas, a FULL one with its matrices. The two texts below repeat the recursion
of `token_form`, which is their test, because the file must run without attnlab.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import UserError
from attnlab.linear.models.files import write_file
from attnlab.linear.models.weights import DiagWeights, FullWeights, Weights, family_of

SIGNATURE = '"""A linear transformer, written by attnlab as plain NumPy.'

FULL = '''
def predict(X, y, queries):
    """The predictions for every query: X is (n, d), y is (n,), queries is (q, d)."""
    context = numpy.column_stack([X, y])
    tokens = numpy.column_stack([queries, numpy.zeros(len(queries))])
    for P_heads, Q_heads in zip(P, Q):
        G = context.T @ context
        S = sum(P_k @ G @ Q_k for P_k, Q_k in zip(P_heads, Q_heads))
        context, tokens = context + context @ S.T, tokens + tokens @ S.T
    return -tokens[:, -1]
'''

DIAGONAL = '''
def predict(X, y, queries):
    """The predictions for every query: X is (n, d), y is (n,), queries is (q, d)."""
    x, y = numpy.asarray(X, float), numpy.asarray(y, float)
    x_t, y_t = numpy.asarray(queries, float), numpy.zeros(len(queries))
    for xx, xy, yx, yy in OMEGAS:
        Sigma, alpha, lam = x.T @ x, x.T @ y, y @ y
        x, y, x_t, y_t = (
            x + xx * x @ Sigma + xy * numpy.outer(y, alpha),
            y + yx * x @ alpha + yy * lam * y,
            x_t + xx * x_t @ Sigma + xy * numpy.outer(y_t, alpha),
            y_t + yx * x_t @ alpha + yy * lam * y_t,
        )
    return -y_t
'''


def export_numpy(weights: Weights, path: Path | str, about: dict[str, Any] | None = None) -> None:
    """Write the network as a Python file; an existing file is replaced only if it is an export.

    Parameters
    ----------
    weights
        The weights of a network of any family.
    path
        The file, which must end in .py.
    about
        Facts about the network that go into the file's docstring.
    """
    path = Path(path)
    if path.suffix != ".py":
        raise UserError(f"The exported file must end in .py, got {path}.")
    check_replaceable(path)
    write_file(path, numpy_source(weights, about or {}).encode())


def numpy_source(weights: Weights, about: dict[str, Any]) -> str:
    """The text of the exported file."""
    known = {"family": family_of(weights), "depth": weights.depth, **about}
    facts = "\n".join(f"    {_one_line(key)}: {_one_line(value)}" for key, value in known.items())
    head = (
        f"{SIGNATURE}\n\n"
        "Context tokens (x_i, y_i) and query tokens (x_t, 0) pass through the layers. A\n"
        "prediction is minus the last coordinate of a query token (arXiv 2402.14180).\n\n"
        f'{facts}\n"""\n\nimport numpy\n\n'
    )
    return head + (_full(weights) if isinstance(weights, FullWeights) else _omegas(weights))


def check_replaceable(path: Path) -> None:
    """Raise a UserError unless the path is free or holds an earlier export."""
    try:
        if not path.exists():
            return
        with path.open("rb") as file:
            ours = file.read(len(SIGNATURE)) == SIGNATURE.encode()
    except OSError as reason:
        raise UserError(f"{path} cannot be written ({reason.strerror}); give another.") from reason
    if not ours:
        raise UserError(f"{path} exists and is not an export of attnlab; give a new file.")


def _full(weights: FullWeights) -> str:
    parts = ["# layers x heads x (d + 1) x (d + 1)"]
    for name, array in (("P", weights.P), ("Q", weights.Q)):
        layers = np.asarray(array, np.float64)
        lines = [f"{name} = numpy.array([", *_nested(layers, "    "), "])"]
        parts.append("\n".join(lines))
    return "\n".join(parts) + "\n\n" + FULL


def _nested(array: np.ndarray, indent: str) -> list[str]:
    if array.ndim == 1:
        return [f"{indent}[{', '.join(map(repr, array.tolist()))}],"]
    if array.ndim == 4:
        return [line for part in array for line in _nested(part, indent)]
    inner = [line for part in array for line in _nested(part, indent + "    ")]
    return [f"{indent}[", *inner, f"{indent}],"]


def _omegas(weights: Weights) -> str:
    assert not isinstance(weights, FullWeights)
    if isinstance(weights, DiagWeights):
        pairs = [(p, q) for p in (weights.p_x, weights.p_y) for q in (weights.q_x, weights.q_y)]
        doubles = [(np.asarray(p, np.float64), np.asarray(q, np.float64)) for p, q in pairs]
        columns = [(p * q).sum(-1) for p, q in doubles]
    else:
        own = weights.omegas()
        columns = [np.asarray(part, np.float64) for part in (own.xx, own.xy, own.yx, own.yy)]
    rows = [f"    ({', '.join(map(repr, row))})," for row in np.stack(columns, -1).tolist()]
    lines = ["# one row per layer: omega_xx, omega_xy, omega_yx, omega_yy", "OMEGAS = ["]
    return "\n".join([*lines, *rows, "]"]) + "\n\n" + DIAGONAL


def _one_line(value: Any) -> str:
    """The value as text that cannot end the docstring around it."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return " ".join(text.replace("\\", "/").replace('"', "'").split())
