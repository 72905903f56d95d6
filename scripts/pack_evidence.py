"""Pack what a store holds of a study into the evidence that ships with it.

    attnlab reproduce random --scale paper --no-report --store results
    python scripts/pack_evidence.py results random --scale paper --companions
    python scripts/pack_evidence.py results random --scale paper

A store may come from another machine (`attnlab store import`). The first call of the script, made
on the machine that computed the rest, adds to the store the short cells that `attnlab verify`
reruns for the kinds of cells that train; a study that trains nothing has none. The second writes
`src/attnlab/<paper>/evidence/`. A part of the cells of a scale is enough: what ships already of the
same scale stays beside it, and the evidence says how many cells there are. --commit, --device,
--on-processor and --beside are for run logs that do not name commit and device.
"""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from attnlab.errors import AttnlabError
from attnlab.lab.catalog import load_study
from attnlab.lab.engine import InProcess
from attnlab.lab.packing import Unrecorded, companion_plan, pack
from attnlab.lab.runner import run_plans
from attnlab.lab.store import Store
from attnlab.lab.study import SCALES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("study")
    parser.add_argument("--scale", choices=SCALES, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--companions", action="store_true", help="compute the short cells")
    parser.add_argument("--fresh", action="store_true", help="leave out what ships already")
    parser.add_argument(
        "--commit", nargs="*", default=[], metavar="[NAMED=]HASH",
        help="of runs whose logs name none, or name one of which their files are not",
    )  # fmt: skip
    parser.add_argument("--device", help="of cells whose logs do not name one")
    parser.add_argument(
        "--on-processor", nargs="*", default=[], metavar="KIND", help="kinds of which it was not"
    )
    parser.add_argument(
        "--beside", metavar="PROCESSOR", help="processor of the only machine that had the device"
    )
    given = parser.parse_args()
    try:
        study, store = load_study(given.study), Store(given.store, create=False)
        if given.companions:
            plan = companion_plan(study, given.scale, given.seed)
            (found,) = run_plans([plan], store, InProcess(), Console())
            for cell, reason in found.failed:
                print(f"{cell}: {reason}", file=sys.stderr)
            print(f"{found.computed} short cells computed, {found.from_store} were there.")
            return 1 if found.failed else 0
        pairs = (text.rpartition("=") for text in given.commit)
        commits = {named: commit for named, _, commit in pairs}
        unrecorded = Unrecorded(commits, given.device, tuple(given.on_processor), given.beside)
        run = pack(store, study, given.scale, given.seed, unrecorded, fresh=given.fresh)
    except AttnlabError as reason:
        print(f"pack_evidence: {reason}", file=sys.stderr)
        return reason.exit_code
    folder = study.evidence
    assert folder is not None
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(
        f"{study.name} at {run.scale}: {run.cells} of {run.planned} cells and "
        f"{len(run.companions)} short ones, {run.seconds:.0f} s on {run.device}; "
        f"{folder} now has {size / 1e6:.2f} MB."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
