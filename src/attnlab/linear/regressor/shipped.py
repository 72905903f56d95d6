"""The regressor's networks, and the choice among them for n samples of d features.

They are DIAG linear transformers with free omegas (Vladymyrov et al., arXiv 2402.14180), trained by
scripts/regressor_weights.py on contexts in fixed units: the largest eigenvalue of Sigma and lambda
are always the same. The best network still depends on n / d and on d, so that there is one for each
of several values, and the answers of neighbouring networks are averaged.
"""

import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from safetensors import safe_open


class RegressorNetwork(NamedTuple):
    """A shipped network: its layers as rows (xx, xy, yx, yy), and the d and n of its training.

    The omegas are for contexts in which the largest eigenvalue of Sigma and lambda are 1. The file
    has them in the units of the study, so that `attnlab read` can compare them with others:
    `units` are the two numbers in these units, by which xx and yx, and xy and yy, are multiplied.
    """

    name: str
    omegas: Float[np.ndarray, "layers 4"]
    d: int
    n: int
    units: tuple[float, float]


class Share(NamedTuple):
    """A network and its weight in the average."""

    weight: float
    network: RegressorNetwork


def networks_for(n: int, d: int) -> tuple[Share, ...]:
    """One to four networks with weights that are linear in log(n / d) and in log d.

    The weights sum to 1. Outside of the range of the training the nearest network answers alone.
    """
    sizes = sorted({network.d for network in shipped()})
    found = []
    for of_size, size in _between(sizes, d):
        row = {network.n / size: network for network in shipped() if network.d == size}
        found += [Share(of_size * of_ratio, row[at]) for of_ratio, at in _between([*row], n / d)]
    return tuple(found)


@lru_cache(maxsize=1)
def shipped() -> tuple[RegressorNetwork, ...]:
    """All networks, in the order of d and n."""
    folder = resources.files("attnlab.linear.weights")
    found = []
    for file in folder.iterdir():
        if file.name.startswith("regressor_") and file.name.endswith(".safetensors"):
            with resources.as_file(file) as path, safe_open(path, framework="numpy") as opened:
                about = json.loads(opened.metadata()["about"])
                omegas = np.stack([opened.get_tensor(part) for part in ("xx", "xy", "yx", "yy")], 1)
            units = about["largest_eigenvalue"], about["label_square_sum"]
            found.append(
                RegressorNetwork(file.name, omegas * (units * 2), about["d"], about["n"], units)
            )
    return tuple(sorted(found, key=lambda network: (network.d, network.n)))


def _between(known: Sequence[float], value: float) -> list[tuple[float, float]]:
    """The neighbours of a value among ascending numbers, with weights linear in its logarithm."""
    value = min(max(value, known[0]), known[-1])
    place = max(bisect_left(known, value), 1)
    low, high = known[place - 1], known[place]
    share = math.log(value / low) / math.log(high / low)
    return [(weight, at) for weight, at in ((1 - share, low), (share, high)) if weight > 0]
