"""The networks that ship with the package, and which of them serve n samples of d features.

They are DIAG linear transformers with free omegas (Vladymyrov et al., arXiv 2402.14180), trained by
scripts/regressor_weights.py on contexts in fixed units: the largest eigenvalue of Sigma and
lambda are always the same. What such a network must still know is n / d, and the size of d, so
there is one for each of several, and neighbours share the answer between them.
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


class Network(NamedTuple):
    """A shipped network: its layers as rows (xx, xy, yx, yy), and what it was trained for.

    The omegas are for contexts whose largest eigenvalue of Sigma and whose lambda are 1. The file
    has them in the units of the study, so that they can be read beside others: `units` are the two
    numbers there, by which xx and yx, and xy and yy, are multiplied here.
    """

    name: str
    omegas: Float[np.ndarray, "layers 4"]
    d: int
    n: int
    units: tuple[float, float]


class Share(NamedTuple):
    """A network and its part of the answer."""

    weight: float
    network: Network


def networks_for(n: int, d: int) -> tuple[Share, ...]:
    """One to four networks, linear in log(n / d) and log d between those they were trained for.

    The answers of the networks are averaged with these weights, which sum to 1; outside of what
    they were trained for the nearest network answers alone.
    """
    sizes = sorted({network.d for network in shipped()})
    found = []
    for of_size, size in _between(sizes, d):
        row = {network.n / size: network for network in shipped() if network.d == size}
        found += [Share(of_size * of_ratio, row[at]) for of_ratio, at in _between([*row], n / d)]
    return tuple(found)


@lru_cache(maxsize=1)
def shipped() -> tuple[Network, ...]:
    """All of them, by d and n."""
    folder = resources.files("attnlab.linear.weights")
    found = []
    for file in folder.iterdir():
        if file.name.startswith("regressor_") and file.name.endswith(".safetensors"):
            with resources.as_file(file) as path, safe_open(path, framework="numpy") as opened:
                about = json.loads(opened.metadata()["about"])
                omegas = np.stack([opened.get_tensor(part) for part in ("xx", "xy", "yx", "yy")], 1)
            units = about["largest_eigenvalue"], about["label_square_sum"]
            found.append(Network(file.name, omegas * (units * 2), about["d"], about["n"], units))
    return tuple(sorted(found, key=lambda network: (network.d, network.n)))


def _between(known: Sequence[float], asked: float) -> list[tuple[float, float]]:
    """The neighbours of `asked` among ascending numbers, with weights linear in its logarithm."""
    asked = min(max(asked, known[0]), known[-1])
    place = max(bisect_left(known, asked), 1)
    low, high = known[place - 1], known[place]
    share = math.log(asked / low) / math.log(high / low)
    return [(weight, at) for weight, at in ((1 - share, low), (share, high)) if weight > 0]
