"""The shipped FULL linear transformers: one network a noise law, run and depth.

Source of the problem: Vladymyrov et al. (arXiv 2402.14180), d = 10 and n = 20. The file holds P and
Q under "<noise law>/<run>/<depth>/P|Q" in float64; its metadata hold the loss that the training
machine measured and how the networks were made. Packing is in `attnlab.linear.weights.pack`.
"""

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
from jaxtyping import Float

from attnlab.errors import AttnlabError, UserError
from attnlab.stats.estimate import Estimate

FILE = Path(__file__).parent / "linear_full.safetensors"
FORMAT = "attnlab reference linear FULL"


class Shipped(NamedTuple):
    """A file's tensors by name, its recorded losses by "<law>/<run>/<depth>", its provenance."""

    tensors: dict[str, Float[np.ndarray, "layers heads p p"]]
    losses: dict[str, list[float]]
    provenance: dict[str, Any]


class Network(NamedTuple):
    """P and Q in float64; `FullWeights(*map(jnp.asarray, network))` runs where JAX has float64."""

    P: Float[np.ndarray, "layers heads p p"]
    Q: Float[np.ndarray, "layers heads p p"]


@lru_cache(maxsize=4)
def shipped(path: Path = FILE) -> Shipped:
    """Everything a file holds; one sentence where it is not such a file."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError) as reason:
        raise AttnlabError(f"The reference networks {path} cannot be read: {reason}.") from reason
    if metadata.get("format") != FORMAT:
        raise AttnlabError(f"The reference networks {path} are not of the format {FORMAT!r}.")
    about = json.loads(metadata["about"])
    losses = about.pop("losses")
    return Shipped(tensors, losses, about)


def laws(path: Path = FILE) -> list[str]:
    """The names of the noise laws that have networks."""
    return sorted({name.split("/")[0] for name in shipped(path).tensors})


def runs(law: str, path: Path = FILE) -> list[int]:
    """The runs of a law, in order."""
    return sorted({int(name.split("/")[1]) for name in _names(law, path)})


def depths(law: str, run: int, path: Path = FILE) -> list[int]:
    """The depths of a run, in order."""
    found = [name.split("/") for name in _names(law, path)]
    return sorted({int(depth) for _, own, depth, _ in found if int(own) == run})


def network(law: str, run: int, depth: int, path: Path = FILE) -> Network:
    """The matrices of one network."""
    held = shipped(path).tensors
    name = f"{law}/{run}/{depth}"
    if f"{name}/P" not in held:
        raise UserError(
            f"There is no reference network {name}; the laws are {', '.join(laws(path))}."
        )
    return Network(held[f"{name}/P"], held[f"{name}/Q"])


def recorded_loss(law: str, run: int, depth: int, path: Path = FILE) -> list[float]:
    """Adjusted loss, its standard error and the largest loss, on the machine that trained it."""
    return shipped(path).losses[f"{law}/{run}/{depth}"]


def best_run(law: str, depth: int, path: Path = FILE) -> int:
    """The run with the least recorded loss, chosen on data that no evaluation here sees.

    "Least" is cautious: a heavy tail shows in the standard error first.
    """
    able = [run for run in runs(law, path) if depth in depths(law, run, path)]
    if not able:
        raise UserError(f"There is no reference network of {depth} layers on {law!r}.")

    def cautious(run: int) -> float:
        loss, error = recorded_loss(law, run, depth, path)[:2]
        return Estimate(loss, error).cautious

    return min(able, key=cautious)


def digest(law: str, path: Path = FILE) -> str:
    """A hash of a law's networks, so that what was computed from others is not taken for it."""
    held = shipped(path)
    total = hashlib.sha256()
    for name in sorted(_names(law, path)):
        total.update(name.encode())
        total.update(np.ascontiguousarray(held.tensors[name]).tobytes())
    for name in sorted(name for name in held.losses if name.startswith(f"{law}/")):
        total.update(json.dumps([name, held.losses[name]]).encode())
    return total.hexdigest()[:16]


def _names(law: str, path: Path) -> list[str]:
    return [name for name in shipped(path).tensors if name.split("/")[0] == law]
