"""Trains networks by Adam: FULL from random weights or near DIAG, and GD++ and DIAG.

    python scripts/linear_full_gpu.py --out DIR --minutes 9 --steps 1:20000,4:60000,7:90000
    python scripts/linear_full_gpu.py --out DIR --model diagonal --recipe paper --steps 200000 \\
        --laws uniform:5 --depths 4
    python scripts/linear_diagonal.py DIR/diag.npz 1 1 uniform:5
    python scripts/linear_full_gpu.py --out DIR --model from-diag --diag DIR/diag.npz \\
        --laws uniform:5 --depths 7 4

All laws and seeds of one depth are one population; with `--model diagonal` it has GD++ and DIAG of
one law, and with `--model from-diag` FULL networks of one law that start near the DIAG network of
that law and depth in the file that linear_diagonal.py wrote. DIR holds two files:
linear_full.safetensors with all finished networks, which `attnlab.linear.weights.full` reads, and
running.checkpoint with the population that is being trained. After `--minutes` the run is saved and
the script ends with status 3; called again with the same options it continues, bit for bit. What is
in linear_full.safetensors already is not trained again. Networks with other laws, depths or recipes
are added by further calls with the same DIR. With `--seconds` the steps of all depths but the first
are cut, by one factor, so that the whole takes about that long; a depth that has begun keeps its
steps. The last line is a summary as JSON.
"""

import argparse
import json
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

# Autotuning of kernels takes the compiler longer than it saves.
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import jax
import numpy as np

from attnlab.errors import Stopped
from attnlab.linear.kernels.cuda import compiled
from attnlab.linear.models.weights import DiagWeights, FullWeights
from attnlab.linear.noise import NoiseLaw, parse_noise
from attnlab.linear.problem import NoisyRegression
from attnlab.linear.study.table_1 import LAWS
from attnlab.linear.training.diagonal_networks import NEAR, Family, start_near, train_diagonal
from attnlab.linear.training.full_networks import RECIPES, FullRecipe, evaluate, train_full
from attnlab.linear.weights.full import full_networks, write_full
from attnlab.training.checkpoint import CheckpointFile
from attnlab.training.outcome import Trained

PROBLEM = NoisyRegression(10, 20)
MODELS = ("full", "diagonal", "from-diag")
FAMILIES: tuple[Family, ...] = ("gd++", "diag")
SAVED_EVERY = 20  # chunks between two checkpoints
REPORTED = 15.0  # seconds between two lines of progress
UNFINISHED = 3  # exit status


@dataclass(frozen=True)
class Job:
    """One population: all laws and seeds of one depth."""

    name: str
    recipe: FullRecipe
    laws: tuple[NoiseLaw, ...]
    depth: int
    seeds: int
    steps: int
    model: str = "full"
    diag: Path | None = None

    @property
    def groups(self) -> list[tuple[str, NoiseLaw]]:
        """The name of the recipe and the law of every `seeds` members, in their order."""
        if self.model == "diagonal":
            return [(f"{self.name}-{family}", law) for law in self.laws for family in FAMILIES]
        name = self.name if self.model == "full" else self.model
        return [(name, law) for law in self.laws]

    @property
    def networks(self) -> list[str]:
        """The names of its networks in the order of the members."""
        return [
            f"{name}/{law.name}/{self.depth}/{seed}"
            for name, law in self.groups
            for seed in range(self.seeds)
        ]

    @property
    def size(self) -> float:
        """Its time up to a constant, if a step costs as much as one layer besides the layers."""
        return float(self.steps * (1 + self.depth))


@dataclass(frozen=True)
class Sizes:
    """What does not change from job to job."""

    held_out: int
    chunk: int
    fresh: int


def per_depth(text: str, depths: list[int]) -> dict[int, int]:
    """Steps by depth, from "150000" or "1:150000,4:60000".

    A depth that is not named has the steps of the next smaller one that is.
    """
    if ":" not in text:
        return dict.fromkeys(depths, int(text))
    pairs = [part.split(":") for part in text.split(",")]
    given = {int(depth): int(steps) for depth, steps in pairs}
    return {
        depth: given[max([named for named in given if named <= depth] or [min(given)])]
        for depth in depths
    }


def arguments_of(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of results and checkpoint")
    parser.add_argument("--minutes", type=float, default=9.0, help="time of this call")
    parser.add_argument("--seconds", type=float, help="time of all calls from here on")
    parser.add_argument("--laws", nargs="+", default=list(LAWS), help="noise laws")
    parser.add_argument("--depths", nargs="+", type=int, default=list(range(1, 8)))
    parser.add_argument("--steps", default="150000", help="steps, or depth:steps,depth:steps")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--order", choices=("up", "down", "given"), default="up", help="of depths")
    parser.add_argument("--model", choices=MODELS, default="full", help="what is trained")
    parser.add_argument("--diag", type=Path, help="file of DIAG networks that FULL starts near")
    parser.add_argument("--recipe", choices=sorted(RECIPES), default="clipped")
    parser.add_argument("--rate", type=float, help="learning rate in place of the recipe's")
    parser.add_argument("--clip", type=float, help="gradient norm in place of the recipe's")
    parser.add_argument("--batch", type=int, help="sequences per step in place of the recipe's")
    parser.add_argument("--held-out", type=int, default=32_768, help="sequences of the choice")
    parser.add_argument("--chunk", type=int, default=1000, help="steps between two choices")
    parser.add_argument("--fresh", type=int, default=65_536, help="sequences of the evaluation")
    options = parser.parse_args(given)
    if (options.model == "from-diag") != (options.diag is not None):
        parser.error("--diag belongs to --model from-diag, which needs it")
    return options


def recipe_of(given: argparse.Namespace) -> FullRecipe:
    """The recipe with the numbers that the command line replaces."""
    changes = {"learning_rate": given.rate, "clip": given.clip, "batch": given.batch}
    kept = {name: value for name, value in changes.items() if value is not None}
    return replace(RECIPES[given.recipe], **kept)


def jobs_of(given: argparse.Namespace) -> list[Job]:
    """The jobs in the order in which they are done."""
    depths = list(given.depths)
    if given.order != "given":
        depths = sorted(depths, reverse=given.order == "down")
    steps, laws = per_depth(given.steps, depths), tuple(parse_noise(law) for law in given.laws)
    together = [laws] if given.model == "full" else [(law,) for law in laws]
    return [
        Job(
            given.recipe,
            recipe_of(given),
            some,
            depth,
            given.seeds,
            steps[depth],
            given.model,
            given.diag,
        )
        for depth in depths
        for some in together
    ]


class Watch:
    """Prints progress, measures steps per second, and says when the time of this call is over."""

    def __init__(self, jobs: list[Job], minutes: float, chunk: int) -> None:
        self.jobs, self.chunk, self.place, self.begun = list(jobs), chunk, 0, time.time()
        self.until = self.begun + 60 * minutes
        self.job, self.first, self.told = jobs[0], None, 0.0
        self.seconds_per_size: float | None = None

    def say(self, text: str) -> None:
        print(f"[{time.time() - self.begun:5.0f} s] {text}", flush=True)

    def begin(self, place: int, seconds: float | None, checkpoint: CheckpointFile) -> Job:
        """The job at this place, with the steps that it began with or that the time allows."""
        job, held = self.jobs[place], checkpoint.load()
        if held is not None:
            job = replace(job, steps=int(held.configuration["steps"]))
        elif seconds is not None and self.seconds_per_size is not None:
            left = seconds - (time.time() - self.begun)
            needed = self.seconds_per_size * sum(job.size for job in self.jobs[place:])
            if needed > left:
                chunks = max(1, int(job.steps * max(left, 0) / needed / self.chunk))
                job = replace(job, steps=min(job.steps, chunks * self.chunk))
                self.say(f"{job.depth} layers: {job.steps} steps, as the time allows")
        self.jobs[place], self.job, self.place, self.first = job, job, place, None
        return job

    def over(self) -> bool:
        return time.time() > self.until

    def progress(self, step: int, steps: int, loss: float) -> None:
        now = time.time()
        if self.first is None:  # the first chunk includes the compilation
            self.first = step, now
            self.told = now - REPORTED + 5
            self.say(f"{self.job.depth} layers: first chunk done, at step {step} of {steps}")
            return
        if now - self.told < REPORTED and step < steps:
            return
        self.told = now
        rate = (step - self.first[0]) / (now - self.first[1])
        own = (steps - step) / rate
        self.seconds_per_size = 1 / rate / (1 + self.job.depth)
        later = self.jobs[self.place + 1 :]
        rest = own + self.seconds_per_size * sum(job.size for job in later)
        self.say(
            f"{self.job.depth} layers: step {step} of {steps}, mean loss {loss:.4g}, "
            f"{rate:.0f} steps/s with {len(self.job.networks)} networks; {own:.0f} s to the end of "
            f"this depth, about {rest:.0f} s for all"
        )


def compile_ahead(jobs: list[Job], sizes: Sizes) -> None:
    """Train every later population for one step, so that its programs are compiled."""
    for job in jobs:
        trained(job, 1, sizes)


def trained(job: Job, steps: int, sizes: Sizes, **watched: Any) -> tuple[Trained, FullWeights]:
    """What the trainer returns, and the best weights of all members as FULL networks."""
    shared = {
        "seeds": job.seeds,
        "steps": steps,
        "held_out": sizes.held_out,
        "chunk": sizes.chunk,
        **watched,
    }
    if job.model == "diagonal":
        return train_diagonal(
            PROBLEM, job.laws[0], job.depth, job.recipe, families=FAMILIES, **shared
        )
    begin = None
    if job.diag is not None:
        begin = start_near(diagonal(job), job.laws[0], job.seeds, PROBLEM.d)
    done = train_full(PROBLEM, job.laws, job.depth, job.recipe, begin=begin, **shared)
    return done, done.best


def diagonal(job: Job) -> DiagWeights:
    """The DIAG network of the law and depth of a job, that of the first seed in the file."""
    parts = ("p_x", "p_y", "q_x", "q_y")
    name = f"diag/{job.laws[0].name}/0/{job.depth}"
    if job.diag is None or not job.diag.exists():
        sys.exit(f"There is no file {job.diag} of DIAG networks.")
    with np.load(job.diag) as file:
        if f"{name}/p_x" not in file:
            sys.exit(f"The file {job.diag} has no DIAG network {name}.")
        return DiagWeights(*(file[f"{name}/{part}"] for part in parts))


def finish(
    job: Job, done: Trained, best: FullWeights, sizes: Sizes, out: Path, watch: Watch
) -> None:
    """Evaluate the networks of a job and add them to the file."""
    path = out / "linear_full.safetensors"
    matrices, records, about = finished(path)
    device = jax.devices()[0].device_kind
    for i, (recipe, law) in enumerate(job.groups):
        own = slice(i * job.seeds, (i + 1) * job.seeds)
        weights = jax.tree.map(lambda part, own=own: np.asarray(part[own]), best)
        tails = evaluate(weights, PROBLEM, law, sizes.fresh)
        for seed, tail in enumerate(tails):
            member = own.start + seed
            name = job.networks[member]
            matrices[f"{name}/P"], matrices[f"{name}/Q"] = (
                weights.P[seed, :, 0],
                weights.Q[seed, :, 0],
            )
            records[name] = {
                **tail.record(),
                "diverged": tail.diverged,
                "steps": job.steps,
                "chosen_at_step": int(done.best_step[member]),
                "status": done.status[member],
            }
        cells = [
            f"{tail.loss:.4g}+-{tail.standard_error:.1g} body {tail.body:.4g} "
            f"max {tail.largest:.2g}"
            for tail in tails
        ]
        watch.say(f"{job.depth} layers {law.name}, {recipe}: {' | '.join(cells)}")
        about["recipes"] = {**about.get("recipes", {}), recipe: described(job)}
    about["problem"] = {"d": PROBLEM.d, "n": PROBLEM.n}
    about["machine"] = {"device": device, "jax": jax.__version__}
    about["held_out"] = sizes.held_out
    write_full(path, matrices, records, about)


def described(job: Job) -> dict[str, Any]:
    """The recipe of a job as JSON."""
    if job.model != "from-diag":
        return asdict(job.recipe)
    return {**asdict(job.recipe), "scale": NEAR, "begin": f"a DIAG network and N(0, {NEAR}^2)"}


def summary(jobs: list[Job], out: Path, watch: Watch) -> str:
    """The networks of this call as one line of JSON."""
    _, records, _ = finished(out / "linear_full.safetensors")
    wanted = ("loss", "standard_error", "body", "largest", "diverged", "steps", "chosen_at_step")
    networks = {
        name: {field: records[name][field] for field in wanted}
        for job in jobs
        for name in job.networks
    }
    return json.dumps(
        {
            "seconds": round(time.time() - watch.begun, 1),
            "device": jax.devices()[0].device_kind,
            "jax": jax.__version__,
            "fused_kernel": compiled.available(),
            "networks": networks,
        }
    )


def finished(path: Path) -> tuple[dict, dict, dict]:
    """Matrices, records and facts of the file so far."""
    if not path.exists():
        return {}, {}, {}
    held = full_networks.__wrapped__(path)  # the file grows
    matrices = {name: tensor.block() for name, tensor in held.tensors.items()}
    return matrices, dict(held.records), dict(held.about)


def main(given: list[str] | None = None) -> int:
    options = arguments_of(given)
    options.out.mkdir(parents=True, exist_ok=True)
    sizes = Sizes(options.held_out, options.chunk, options.fresh)
    _, known, _ = finished(options.out / "linear_full.safetensors")
    jobs = [job for job in jobs_of(options) if not set(job.networks) <= known.keys()]
    if not jobs:
        print("all of these networks are finished")
        return 0
    watch = Watch(jobs, options.minutes, options.chunk)
    watch.say(
        f"{jax.devices()[0].device_kind}, jax {jax.__version__}; "
        f"{sum(len(job.networks) for job in jobs)} networks of {len(jobs)} depths to train"
    )
    ahead = threading.Thread(target=compile_ahead, args=(jobs[1:], sizes), daemon=True)
    if jax.default_backend() == "gpu":
        ahead.start()
    checkpoint = CheckpointFile(options.out / "running.checkpoint", SAVED_EVERY)
    for place in range(len(jobs)):
        if watch.over():
            return UNFINISHED
        job = watch.begin(place, options.seconds, checkpoint)
        try:
            done, best = trained(
                job,
                job.steps,
                sizes,
                progress=watch.progress,
                checkpoint=checkpoint,
                stop=watch.over,
            )
        except Stopped as stopped:
            watch.say(f"{stopped} Call again with the same options.")
            return UNFINISHED
        finish(job, done, best, sizes, options.out, watch)
        Path(checkpoint.path).unlink(missing_ok=True)
    watch.say("done")
    print(summary(jobs, options.out, watch))
    return 0


if __name__ == "__main__":
    sys.exit(main())
