"""The AXIS networks that ship with the package: one for each noise law, run and depth.

Source of the problem: Vladymyrov et al. (arXiv 2402.14180), d = 10 and n = 20. The family is
ours (`attnlab.linear.models.axis`): P and Q treat one or two input directions differently from the
others, and have at most a twelfth of the free numbers of FULL. The file holds P and Q under
"<noise law>/<run>/<depth>/P|Q" in float64; its metadata hold the loss that was measured on the
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

from attnlab.errors import UserError
from attnlab.linear.models.network import Network
from attnlab.linear.models.weights import FullWeights
from attnlab.linear.noise import NoiseLaw, parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.weights.collection import read_collection
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
        return FullWeights(*(self.tensors[f"{name}/{part}"].block() for part in "PQ"))

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
            total.update(self.tensors[name].block().tobytes())
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
    losses = about.pop("losses")
    return ShippedNetworks(path, tensors, losses, about)
