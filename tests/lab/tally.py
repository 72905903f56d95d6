"""A study with evidence of its own, in a folder that a test may write: sums, and a "training".

TALLY_SHIFT changes what cells find, as a bug would; TALLY_VERSION raises the version of the sums.
Both are read when the study is imported or run, so that a test can pack first and change later.
"""

from pathlib import Path

from rich.console import Console

from attnlab.lab.catalog import load_study
from attnlab.lab.engine import InProcess
from attnlab.lab.runner import run_plans
from attnlab.lab.store import Store

SOURCE = """
import os
from dataclasses import dataclass, replace
from pathlib import Path

from attnlab.lab.cell import CellKind, Outcome, Tolerance
from attnlab.lab.study import Claim, Judgement, Statement, Study



@dataclass(frozen=True)
class Terms:
    n: int = 1


@dataclass(frozen=True)
class Sum:
    total: float
    even: bool


def run_sum(config):
    shift = float(os.environ.get("TALLY_SHIFT", "0"))
    return Sum(config.n * (config.n + 1) / 2 + shift, config.n % 2 == 0)


@dataclass(frozen=True)
class Training:
    rate: float = 0.5
    steps: int = 1000


@dataclass(frozen=True, kw_only=True)
class Step:
    step: int
    loss: float | None


def run_training(config):
    return Outcome([Step(step=i, loss=config.rate**i) for i in range(config.steps)])


version = int(os.environ.get("TALLY_VERSION", "1"))
sums = CellKind("tally_sum", Terms, Sum, run_sum, version, tolerance=Tolerance(1e-3, 0.0))
trained = CellKind(
    "tally_trained", Training, Step, run_training, shortened=lambda config: replace(config, steps=2)
)
SIZES = {"quick": 3, "standard": 20, "paper": 40}


def cells(scale, seed):
    return [
        sums.sweep([Terms(n) for n in range(3)]),
        *(sums(Terms(n)) for n in range(3, SIZES[scale])),
        trained(Training(steps=SIZES[scale])),
    ]


def total(view):
    found = [view.row(point).total for c in cells(view.scale, 0)[:-1] for point in c.points]
    return Judgement("holds" if found[2] == 3 else "fails", sum(found), "", "", grade="exact")


def large(view):
    if SIZES[view.scale] < 20:
        return Judgement("undecided at this scale", "too few", "", "", "Scale 'standard' decides.")
    if view.scale == "paper":
        view.row(sums(Terms(39)))
    return Judgement("holds", view.row(sums(Terms(19))).total, 190, "", grade="exact")


study = Study(
    name="tally",
    title="Sums",
    source="arithmetic",
    summary="Sums of integers.",
    kinds=(sums, trained),
    cells=cells,
    figures=(),
    claims=(
        Claim("tally-total", "arithmetic", "One and two are three.", total),
        Claim("tally-large", "arithmetic", "One to nineteen are 190.", large),
    ),
    statements=(
        Statement("tally-first", "Chapter 1", "theorem", "They are three.", ("tally-total",)),
        Statement("tally-second", "Chapter 2", "theorem", "So are others.", ("tally-large",)),
    ),
    evidence=Path(__file__).parent / "evidence",
)
"""


def written(root: Path) -> Path:
    """The folder of studies with this one in it."""
    folder = root / "studies"
    (folder / "tally").mkdir(parents=True)
    (folder / "tally" / "__init__.py").write_text(SOURCE)
    return folder


def loaded(folder: Path):
    """The study, as the environment has it now."""
    import sys

    sys.modules.pop("attnlab_study_tally", None)
    return load_study("tally", folder)


def computed(root: Path, *plans) -> Store:
    """A store with the cells of plans."""
    store = Store(root)
    run_plans(list(plans), store, InProcess(), Console(quiet=True))
    return store
