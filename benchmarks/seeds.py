"""Whether the verdicts at `quick` depend on the seed.

    python benchmarks/seeds.py [STUDY ...] [--seeds 0 5 11 77] [--store DIR]

runs each study at every seed and prints how many claims hold, hold as corrected, fail and are
undecided, and every claim whose verdicts differ. It ends with exit code 1 if two seeds decide a
claim differently. With --store the results are kept, and a second run goes on where one ended.
"""

import argparse
import os
import sys
import tempfile
from itertools import combinations
from pathlib import Path

from rich.console import Console

from attnlab.lab.catalog import load_studies
from attnlab.lab.compare import flips
from attnlab.lab.engine import open_engine
from attnlab.lab.judgement import VERDICTS
from attnlab.lab.ledger import Judged, Ledger
from attnlab.lab.runner import run_plans
from attnlab.lab.store import Store
from attnlab.lab.study import Study


def ledgers(studies: list[Study], seed: int, root: Path) -> dict[str, Ledger]:
    """The ledger of each study at one seed."""
    plans = [study.plan("quick", seed) for study in studies]
    with open_engine(workers=os.cpu_count() or 1) as engine:
        summaries = run_plans(plans, Store(root), engine, Console(stderr=True))
    return {each.plan.study.name: Judged.of(each.plan, each.view).ledger for each in summaries}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("study", nargs="*")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 5, 11, 77])
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    studies = load_studies(tuple(given.study), None)
    turned = 0
    with tempfile.TemporaryDirectory(prefix="attnlab-seeds-") as folder:
        root = given.store or Path(folder) / "store"
        found = {seed: ledgers(studies, seed, root) for seed in given.seeds}
    for study in studies:
        print(f"{study.name}: {len(study.claims)} claims")
        own = {seed: found[seed][study.name] for seed in given.seeds}
        for seed, ledger in own.items():
            counts = [sum(entry.verdict == verdict for entry in ledger) for verdict in VERDICTS]
            said = ", ".join(f"{n} {name}" for n, name in zip(counts, VERDICTS, strict=True))
            print(f"  seed {seed}: {said}")
        for claim in study.claims:
            verdicts = {
                seed: next(entry.verdict for entry in ledger if entry.id == claim.id)
                for seed, ledger in own.items()
            }
            if len(set(verdicts.values())) > 1:
                said = ", ".join(f"{verdict} at {seed}" for seed, verdict in verdicts.items())
                print(f"  {claim.id}: {said}")
        turned += sum(len(flips(a, b)) for a, b in combinations(own.values(), 2))
    print(f"{turned} decided differently by two seeds")
    return 1 if turned else 0


if __name__ == "__main__":
    sys.exit(main())
