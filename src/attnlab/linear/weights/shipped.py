"""The AXIS networks that ship with the package: one for each noise law, run and depth.

Source of the problem: Vladymyrov et al. (arXiv 2402.14180), d = 10 and n = 20. The family is
ours (`attnlab.linear.models.axis`): P and Q treat one or two input directions differently from the
others, and have at most a twelfth of the free numbers of FULL. The file holds P and Q under
"<noise law>/<run>/<depth>/P|Q" in float64, as the numbers of which they are made
(`axis_numbers`); its metadata hold the loss that was measured on the
training machine and how the networks were trained. `scripts/pack_axis_networks.py` adds those that
cells of the study trained, and names their devices.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from attnlab.errors import UserError
from attnlab.linear.models.network import Network
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import NoiseLaw, parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.weights.axis_numbers import matrices_of, numbers_of
from attnlab.linear.weights.collection import read_collection, write_collection
from attnlab.stats.estimate import Estimate
from attnlab.tensor_files import Tensor

FILE = Path(__file__).parent / "linear_axis.safetensors"
FORMAT = "attnlab reference linear AXIS"
TOKENS = 20  # of every context in training
MEASURED = 8 * 65_536  # sequences behind a recorded loss


@dataclass(frozen=True, repr=False)
class ShippedNetworks:
    """The networks of one file. Their matrices are read when they are used.

    `losses` are the recorded ones by "<law>/<run>/<depth>": the adjusted loss, its standard error,
    the largest loss of a sequence, and what the most extreme of 17 million further sequences add
    to the mean (`scripts/axis_tails.py`). `provenance` describes how the networks were trained,
    and its entry `by_cells` those that cells of the study trained.
    """

    path: Path
    tensors: Mapping[str, Tensor]
    losses: Mapping[str, list[float]]
    provenance: Mapping[str, Any]
    side: int  # d + 1, the rows of a matrix

    @property
    def laws(self) -> list[str]:
        """The names of the noise laws that have networks."""
        return sorted({name.split("/")[0] for name in self.tensors})

    def runs(self, law: str) -> list[int]:
        """The training runs of a law, in order."""
        return sorted({int(name.split("/")[1]) for name in self._names(law)})

    def depths(self, law: str, run: int) -> list[int]:
        """The depths of a run, in order."""
        found = [name.split("/") for name in self._names(law)]
        return sorted({int(depth) for _, own, depth, _ in found if int(own) == run})

    def weights(self, law: str, run: int, depth: int) -> FullWeights:
        """The matrices of one network, as NumPy arrays in double precision."""
        name = f"{law}/{run}/{depth}"
        if f"{name}/P" not in self.tensors:
            raise UserError(
                f"There is no shipped network {name}; the laws are {', '.join(self.laws)}."
            )
        return FullWeights(*(self.matrices(f"{name}/{part}") for part in "PQ"))

    def matrices(self, name: str) -> np.ndarray:
        """P or Q of one network, "<law>/<run>/<depth>/P", of shape (layers, 1, d + 1, d + 1)."""
        return matrices_of(self.tensors[name].block(), self.side)

    def network(self, noise: NoiseLaw | str, depth: int, run: int | None = None) -> Network:
        """One network.

        Parameters
        ----------
        noise
            The noise law that it was trained on, or the law's name.
        depth
            The number of layers.
        run
            The training run; the one with the least recorded loss unless it is given.
        """
        law = noise if isinstance(noise, str) else noise.name
        if law not in self.laws:
            raise UserError(f"noise must be one of {', '.join(self.laws)}, got {law!r}.")
        run = self.best_run(law, depth) if run is None else run
        weights = self.weights(law, run, depth)
        problem = NoisyRegression(weights.P.shape[-1] - 1, TOKENS, parse_noise(law))
        about = {"trained_as": "AXIS", "run": run, **self._made(law, run)}
        return Network(weights, problem, self._estimate(law, run, depth), about)

    def _made(self, law: str, run: int) -> dict[str, Any]:
        """How a run was trained."""
        others = dict(self.provenance)
        by_cells = others.pop("by_cells", {"devices": {}})
        device = by_cells["devices"].get(f"{law}/{run}")
        return {"command": by_cells["command"], "card": device} if device else others

    def recorded_loss(self, law: str, run: int, depth: int) -> list[float]:
        """Adjusted loss, standard error, largest loss, and what extremes add to the mean."""
        return self.losses[f"{law}/{run}/{depth}"]

    def extremes(self, law: str, run: int, depth: int) -> float:
        """What the most extreme of millions of sequences add to the mean; 0 if not recorded."""
        recorded = self.recorded_loss(law, run, depth)
        return recorded[3] if len(recorded) > 3 else 0.0

    def best_run(self, law: str, depth: int) -> int:
        """The run with the least recorded loss plus three standard errors plus extremes.

        Deep networks can have a heavy tail, which shows up in the standard error or only in the
        extremes of millions of sequences. No evaluation here uses the recorded sequences.
        """
        able = [run for run in self.runs(law) if depth in self.depths(law, run)]
        if not able:
            raise UserError(f"There is no shipped network of {depth} layers on {law!r}.")

        def worth(run: int) -> float:
            return self._estimate(law, run, depth).cautious + self.extremes(law, run, depth)

        return min(able, key=worth)

    def digest(self, law: str) -> str:
        """A hash of a law's networks; results that were computed from other networks differ."""
        total = hashlib.sha256()
        for name in sorted(self._names(law)):
            total.update(name.encode())
            total.update(self.matrices(name).tobytes())
        for name in sorted(name for name in self.losses if name.startswith(f"{law}/")):
            total.update(json.dumps([name, self.losses[name]]).encode())
        return total.hexdigest()[:16]

    def __repr__(self) -> str:
        laws = self.laws
        return f"ShippedNetworks({len(self.losses)} networks on {len(laws)} noise laws)"

    def _repr_html_(self) -> str:
        depths = sorted({int(name.split("/")[2]) for name in self.losses})
        head = "".join(f"<th>{depth}</th>" for depth in depths)
        rows = "".join(f"<tr><th>{law}</th>{self._cells(law, depths)}</tr>" for law in self.laws)
        return (
            "<table><caption>Recorded adjusted loss of the best run, by noise law and number of "
            f"layers</caption><tr><th></th>{head}</tr>{rows}</table>"
        )

    def _cells(self, law: str, depths: list[int]) -> str:
        best = [self._estimate(law, self.best_run(law, depth), depth) for depth in depths]
        return "".join(f"<td>{loss.value:.3g}</td>" for loss in best)

    def _estimate(self, law: str, run: int, depth: int) -> Estimate:
        loss, standard_error = self.recorded_loss(law, run, depth)[:2]
        return Estimate(loss, standard_error, MEASURED)

    def _names(self, law: str) -> list[str]:
        return [name for name in self.tensors if name.split("/")[0] == law]


@lru_cache(maxsize=4)
def shipped(path: Path = FILE) -> ShippedNetworks:
    """The collection of shipped AXIS networks, for ten noise laws and seven depths.

    Its method `network(noise, depth)` returns one of them.
    """
    tensors, about = read_collection(path, "shipped networks", FORMAT)
    losses, side = about.pop("losses"), about.pop("side")
    return ShippedNetworks(path, tensors, losses, about, side)


def write_shipped(path: Path, matrices: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> None:
    """Write a file that `shipped` reads, whole or not at all.

    Parameters
    ----------
    path
        The file; its folder must exist.
    matrices
        P and Q of shape (layers, 1, d + 1, d + 1), by "<law>/<run>/<depth>/P|Q".
    about
        What is known about the networks, with their recorded losses; JSON.
    """
    (side,) = {np.shape(part)[-1] for part in matrices.values()}
    numbers = {name: numbers_of(np.asarray(part)) for name, part in matrices.items()}
    write_collection(path, numbers, FORMAT, {**about, "side": side})
