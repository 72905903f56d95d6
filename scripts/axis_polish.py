"""Trains shipped AXIS networks further where the extremes of millions of sequences spoil the best.

    python scripts/axis_polish.py [LAW/DEPTH ...]

For every noise law and depth that is named, such as uniform:7/4 (those with noise in
`attnlab.linear.study.shipped_table.EXTREMES` unless given), the runs of least recorded loss and the
shipped DIAG network are polished on a sample that holds the extremes of four million sequences. The
best network becomes run 5, "the best of further searches", if it is better than every run that is
there. Its recorded numbers are those of `scripts/axis_tails.py`; they come from sequences that no
training uses. After this `attnlab.linear.study.shipped_table` has to be updated; a test compares it
with the file.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping

import jax
import numpy as np

from attnlab.linear.models.axis import AxisWeights, axis_of, on_axis
from attnlab.linear.models.weights import DiagWeights, FullWeights
from attnlab.linear.noise import parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.evaluation import drawn, sequence_losses
from attnlab.linear.study.shipped_table import EXTREMES
from attnlab.linear.study.table_1 import LAWS
from attnlab.linear.training.axis_polish import polish
from attnlab.linear.training.fixed_sample import (
    draw,
    draw_extremes,
    most_extreme,
    with_extremes,
)
from attnlab.linear.weights.diagonal import diagonal_networks
from attnlab.linear.weights.shipped import (
    FILE,
    MEASURED,
    TOKENS,
    ShippedNetworks,
    shipped,
    write_shipped,
)
from attnlab.stats import Estimate

BODY = 16_384  # sequences of a sample without its extremes
DRAWS, COUNT, KEPT = 64, 65_536, 1024  # draws of extremes, sequences of each, those that are kept
EVALUATED = 256  # draws behind the recorded extremes, as in `scripts/axis_tails.py`
TRIED = 3  # runs that are polished
AXES, RUN = 2, 5
Recorded = list[float]


def candidates(held: ShippedNetworks, law: str, depth: int) -> Iterator[tuple[str, AxisWeights]]:
    """The shipped runs of least recorded loss, and the shipped DIAG network."""
    able = [run for run in held.runs(law) if depth in held.depths(law, run)]
    able.sort(key=lambda run: held.recorded_loss(law, run, depth)[0])
    for run in able[:TRIED]:
        yield f"run {run}", axis_of(held.weights(law, run, depth), AXES)
    diagonal = diagonal_networks().weights("diag", law, depth)
    assert isinstance(diagonal, DiagWeights)
    yield "DIAG", on_axis(diagonal, AXES)


def recorder(problem: NoisyRegression) -> Callable[[FullWeights], Recorded]:
    """What the file records about a network of this problem."""
    fresh, extremes = drawn(problem, 10**6, MEASURED), most_extreme(problem, EVALUATED)

    def recorded(network: FullWeights) -> Recorded:
        found = sequence_losses(network, fresh)
        mean = Estimate.of(found)
        total = float(extremes.weight @ sequence_losses(network, extremes))
        return [float(mean.value), float(mean.standard_error), float(found.max()), total]

    return recorded


def worth(recorded: Recorded) -> float:
    """What `ShippedNetworks.best_run` ranks by; infinite where it overflows."""
    loss, standard_error, _, extremes = recorded
    total = loss + 3 * standard_error + extremes
    return total if np.isfinite(total) else np.inf


def improved(
    held: ShippedNetworks, law: str, depths: list[int]
) -> Iterator[tuple[str, FullWeights, Recorded]]:
    """The networks of a law that are better than every run, with their names and numbers."""
    problem = NoisyRegression(10, TOKENS, parse_noise(law))
    key = jax.random.fold_in(jax.random.key(11), LAWS.index(law))
    sample = with_extremes(
        draw(problem, jax.random.fold_in(key, 0), BODY),
        draw_extremes(problem, jax.random.fold_in(key, 1), DRAWS, COUNT, KEPT),
    )
    recorded = recorder(problem)
    for depth in depths:
        best = held.best_run(law, depth)
        record = worth(held.recorded_loss(law, best, depth))
        print(f"{law}/{depth}: run {best} has {record:.5g}", flush=True)
        found = None
        for name, weights in candidates(held, law, depth):
            begun = time.perf_counter()
            network = polish(weights, sample).parameters.full(problem.d)
            numbers = recorded(network)
            shown = " ".join(f"{number:.4g}" for number in numbers)
            print(f"  {name}: {shown}, {time.perf_counter() - begun:.0f} s", flush=True)
            if worth(numbers) < record:
                record, found = worth(numbers), (f"{law}/{RUN}/{depth}", network, numbers)
        if found:
            yield found


def write(held: ShippedNetworks, found: Mapping[str, tuple[FullWeights, Recorded]]) -> None:
    """The file with the networks that were found."""
    tensors = {name: held.matrices(name) for name in held.tensors}
    losses = dict(held.losses)
    for name, (network, numbers) in found.items():
        tensors[f"{name}/P"], tensors[f"{name}/Q"] = map(np.asarray, (network.P, network.Q))
        losses[name] = numbers
    before = held.provenance.get("polished", "").split()
    places = [name.replace(f"/{RUN}/", "/") for name in found]
    every = " ".join(dict.fromkeys([*before, *places]))
    about = {**held.provenance, "losses": losses, "polished": every}
    write_shipped(FILE, tensors, about)
    print(f"polished: {every}")


def main() -> None:
    places = [(law, depth) for law, depth in EXTREMES if parse_noise(law).second_moment()]
    if len(sys.argv) > 1:
        places = [(law, int(depth)) for law, _, depth in (n.rpartition("/") for n in sys.argv[1:])]
    found = {}
    for law in dict.fromkeys(law for law, _ in places):
        depths = [depth for own, depth in places if own == law]
        for name, network, numbers in improved(shipped(), law, depths):
            found[name] = network, numbers
    write(shipped(), found)


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
