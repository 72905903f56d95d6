"""The GD++ and one-head DIAG networks that ship with the package: one per noise law and depth.

Source of the problem: Vladymyrov et al. (arXiv 2402.14180), d = 10 and n = 20. The file holds p_x,
p_y, q_x and q_y of all layers under "<family>/<noise law>/<depth>" in float64; GD++ has q = (1, 0).
Its metadata hold the loss of each network on fresh sequences of the training machine and how the
networks were trained. A second file of the same form has DIAG networks of seven to ten layers.
Cells of the kind `linear_training` train such networks, and `scripts/pack_diagonal_networks.py`
chooses the best runs and writes the files; the first still has networks of an earlier script.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from attnlab.errors import UserError
from attnlab.linear.models.network import Network
from attnlab.linear.models.weights import DiagWeights, GDPlusPlus
from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.weights.collection import read_collection
from attnlab.stats.estimate import Estimate
from attnlab.tensor_files import Tensor

FILE = Path(__file__).parent / "linear_diagonal.safetensors"
DEEP_FILE = Path(__file__).parent / "linear_deep.safetensors"
FORMAT = "attnlab linear GD++ and DIAG"
DIMENSION, TOKENS = 10, 20  # of every context in training
PARTS = ("p_x", "p_y", "q_x", "q_y")


@dataclass(frozen=True, repr=False)
class DiagonalNetworks:
    """The networks of one file; `losses` are the recorded ones, `about` says how they were trained.

    Both are by the name "<family>/<noise law>/<depth>", with the families "gd++" and "diag".
    """

    path: Path
    tensors: Mapping[str, Tensor]
    losses: Mapping[str, list[float]]  # mean, standard error, number of sequences
    about: Mapping[str, Any]

    def laws(self, family: str) -> list[str]:
        """The names of the noise laws that have networks of a family."""
        return sorted(
            {name.split("/")[1] for name in self.tensors if name.startswith(f"{family}/")}
        )

    def depths(self, family: str, law: str) -> list[int]:
        """The depths of a family on a law, in order."""
        start = f"{family}/{law}/"
        return sorted(
            int(name.removeprefix(start)) for name in self.tensors if name.startswith(start)
        )

    def weights(self, family: str, law: str, depth: int) -> DiagWeights | GDPlusPlus:
        """The weights of one network, as NumPy arrays in double precision."""
        name = f"{family}/{law}/{depth}"
        if name not in self.tensors:
            raise UserError(
                f"There is no shipped network {name}; the laws of {family!r} are "
                f"{', '.join(self.laws(family)) or 'none'}."
            )
        p_x, p_y, q_x, q_y = self.tensors[name].block()
        if family == "gd++":
            return GDPlusPlus(p_x[:, 0], p_y[:, 0])
        return DiagWeights(p_x, p_y, q_x, q_y)

    def network(self, family: str, law: str, depth: int) -> Network:
        """One network with its problem and its recorded loss.

        Parameters
        ----------
        family
            "gd++" or "diag".
        law
            The name of the noise law that it was trained on.
        depth
            The number of layers.
        """
        weights = self.weights(family, law, depth)
        problem = NoisyRegression(DIMENSION, TOKENS, parse_noise(law))
        value, standard_error, samples = self.losses[f"{family}/{law}/{depth}"]
        return Network(weights, problem, Estimate(value, standard_error, int(samples)), self.about)

    def digest(self, family: str, law: str) -> str:
        """A hash of a law's networks; results that were computed from other networks differ."""
        total = hashlib.sha256()
        for name in (f"{family}/{law}/{depth}" for depth in self.depths(family, law)):
            total.update(name.encode())
            total.update(self.tensors[name].block().tobytes())
            total.update(json.dumps(self.losses[name]).encode())
        return total.hexdigest()[:16]

    def __repr__(self) -> str:
        return f"DiagonalNetworks({len(self.tensors)} networks)"


@lru_cache(maxsize=4)
def diagonal_networks(path: Path = FILE) -> DiagonalNetworks:
    """The GD++ and DIAG networks of a file, by default of the one that ships with the package."""
    tensors, about = read_collection(path, "GD++ and DIAG networks", FORMAT)
    losses = about.pop("losses")
    return DiagonalNetworks(path, tensors, losses, about)
