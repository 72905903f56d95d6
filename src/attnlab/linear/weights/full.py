"""The FULL networks that ship with the package: every entry of P and Q trained by Adam.

Source of the problem: Vladymyrov et al. (arXiv 2402.14180), d = 10 and n = 20. The file holds P and
Q under "<recipe>/<noise law>/<depth>/<seed>/P|Q" in float32, every seed that was trained, diverged
ones included. Of the recipe "clipped" the seeds from `GROWN_FROM` on were grown layer by layer, the
others trained from random weights of all layers. The recipe "from-diag" has FULL networks that
started near a trained DIAG network. The metadata hold one record per network: the steps, the loss
on fresh sequences of the training machine with its tail, and whether the network diverged there.
`scripts/pack_full_networks.py` writes it.
"""

import hashlib
import json
import math
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
from attnlab.linear.training.full_networks import STEADY
from attnlab.linear.weights.collection import read_collection, write_collection
from attnlab.stats.estimate import Estimate
from attnlab.tensor_files import Tensor

FILE = Path(__file__).parent / "linear_full.safetensors"
FORMAT = "attnlab linear FULL, all entries free"
TOKENS = 20  # of every context in training
RECIPE = "clipped"  # the recipe of all laws and depths
GROWN_FROM = 5  # the first seed of networks that were grown layer by layer


@dataclass(frozen=True, repr=False)
class FullNetworks:
    """The networks of one file; matrices are read when they are used.

    `records` has one entry per network, by "<recipe>/<law>/<depth>/<seed>"; `about` describes the
    recipes, and the machine of networks whose record names none.
    """

    path: Path
    tensors: Mapping[str, Tensor]
    records: Mapping[str, Mapping[str, Any]]
    about: Mapping[str, Any]

    def laws(self, recipe: str = RECIPE) -> list[str]:
        """The names of the noise laws that have networks."""
        return sorted({name.split("/")[1] for name in self._names(recipe)})

    def depths(self, law: str, recipe: str = RECIPE) -> list[int]:
        """The depths of a law's networks, in order."""
        return sorted({int(name.split("/")[2]) for name in self._names(recipe, law)})

    def seeds(self, law: str, depth: int, recipe: str = RECIPE) -> list[int]:
        """The seeds of a law and depth, in order, diverged ones included."""
        return sorted(int(name.split("/")[3]) for name in self._names(recipe, law, depth))

    def record(self, law: str, depth: int, seed: int, recipe: str = RECIPE) -> Mapping[str, Any]:
        """What the training machine recorded about one network."""
        return self.records[self._name(law, depth, seed, recipe)]

    def weights(self, law: str, depth: int, seed: int, recipe: str = RECIPE) -> FullWeights:
        """The matrices of one network, as NumPy arrays in double precision."""
        name = self._name(law, depth, seed, recipe)
        return FullWeights(*(self.tensors[f"{name}/{part}"].block()[:, None] for part in "PQ"))

    def selection(self, law: str, depth: int, seed: int, recipe: str = RECIPE) -> float | None:
        """The recorded loss plus three standard errors; None for a network that diverged.

        A heavy tail shows in the standard error before it shows in the mean. The recorded losses
        come from sequences that no evaluation of the study uses.
        """
        record = self.record(law, depth, seed, recipe)
        if record["diverged"] or record["loss"] is None:
            return None
        return record["loss"] + 3 * record["standard_error"]

    def steady(self, law: str, depth: int, seed: int, recipe: str = RECIPE) -> bool:
        """Whether the recorded loss has no heavy tail: a standard error of at most 5% of it."""
        record = self.record(law, depth, seed, recipe)
        return not record["diverged"] and record["standard_error"] <= STEADY * record["loss"]

    def best(self, law: str, depth: int, recipe: str = RECIPE) -> int:
        """The seed of least `selection` among those without a heavy tail, if there are any.

        If all diverged, it is that of the least body of the loss.
        """

        def rank(seed: int) -> tuple[bool, bool, float]:
            chosen = self.selection(law, depth, seed, recipe)
            if chosen is None:
                body = self.record(law, depth, seed, recipe)["body"]
                return True, True, body or math.inf
            return False, not self.steady(law, depth, seed, recipe), chosen

        seeds = self.seeds(law, depth, recipe)
        if not seeds:
            raise UserError(f"There is no FULL network of {depth} layers on {law!r}.")
        return min(seeds, key=rank)

    def network(
        self, noise: NoiseLaw | str, depth: int, seed: int | None = None, recipe: str = RECIPE
    ) -> Network:
        """One network with its problem, its recorded loss and what is known about its training.

        Parameters
        ----------
        noise
            The noise law that it was trained on, or the law's name.
        depth
            The number of layers.
        seed
            Which of the starts; the best one unless it is given.
        recipe
            How it was trained: "clipped", "printed" for the paper's recipe, or "from-diag" for a
            start near DIAG.
        """
        law = noise if isinstance(noise, str) else noise.name
        seed = self.best(law, depth, recipe) if seed is None else seed
        weights = self.weights(law, depth, seed, recipe)
        record = self.record(law, depth, seed, recipe)
        problem = NoisyRegression(weights.P.shape[-1] - 1, TOKENS, parse_noise(law))
        loss = None
        if not record["diverged"]:
            loss = Estimate(record["loss"], record["standard_error"], record["samples"])
        return Network(weights, problem, loss, {"seed": seed, "recipe": recipe, **record})

    def digest(self, law: str, recipe: str = RECIPE) -> str:
        """A hash of a law's networks; results that were computed from other networks differ."""
        total = hashlib.sha256()
        for name in sorted(self._names(recipe, law)):
            total.update(name.encode())
            for part in "PQ":
                total.update(self.tensors[f"{name}/{part}"].block().tobytes())
            total.update(json.dumps(self.records[name], sort_keys=True).encode())
        return total.hexdigest()[:16]

    def digests(self) -> dict[str, str]:
        """The digest of every law, and by recipe and law those of the other recipes."""
        laws = {law: self.digest(law) for law in self.laws()}
        others = sorted({name.split("/")[0] for name in self.records} - {RECIPE})
        return laws | {
            f"{each}/{law}": self.digest(law, each) for each in others for law in self.laws(each)
        }

    def __repr__(self) -> str:
        return f"FullNetworks({len(self.records)} networks on {len(self.laws())} noise laws)"

    def _names(self, recipe: str, law: str = "", depth: int = 0) -> list[str]:
        start = "/".join([recipe, *([law] if law else []), *([str(depth)] if depth else [])])
        return [name for name in self.records if name.startswith(f"{start}/")]

    def _name(self, law: str, depth: int, seed: int, recipe: str) -> str:
        name = f"{recipe}/{law}/{depth}/{seed}"
        if name not in self.records:
            raise UserError(
                f"There is no FULL network {name} in {self.path}; the laws of {recipe!r} are "
                f"{', '.join(self.laws(recipe)) or 'none'}."
            )
        return name


@lru_cache(maxsize=4)
def full_networks(path: Path = FILE) -> FullNetworks:
    """The FULL networks of a file, by default of the one that ships with the package."""
    tensors, about = read_collection(path, "FULL networks", FORMAT)
    records = about.pop("networks")
    return FullNetworks(path, tensors, records, about)


def write_full(
    path: Path,
    matrices: Mapping[str, np.ndarray],
    records: Mapping[str, Mapping[str, Any]],
    about: Mapping[str, Any],
) -> None:
    """Write a file that `full_networks` reads, whole or not at all.

    Parameters
    ----------
    path
        The file; its folder must exist.
    matrices
        P and Q by "<name>/P" and "<name>/Q", of shape (layers, d + 1, d + 1).
    records
        What is known about each network, by the same names; JSON.
    about
        What is known about all of them; JSON.
    """
    arrays = {name: np.asarray(part, np.float32) for name, part in matrices.items()}
    write_collection(path, arrays, FORMAT, {**about, "networks": dict(records)})
