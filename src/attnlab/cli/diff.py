"""`attnlab diff A B`: which verdicts and numbers differ between two runs."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from tyro.conf import Positional, arg

from attnlab.cli.options import OfScale
from attnlab.errors import UserError
from attnlab.lab.study import SCALES
from attnlab.report.text import counted, value

if TYPE_CHECKING:
    from rich.console import Console

    from attnlab.lab.compare import Pair
    from attnlab.lab.ledger import Ledger
    from attnlab.lab.store import Store
    from attnlab.lab.study import Study


@dataclass(frozen=True, kw_only=True)
class Diff(OfScale):
    """Compare two runs: which verdicts and which numbers changed.

    A run is a store, a scale (quick, standard, paper), a seed (seed=5), or several of these joined
    by commas; what it does not say is taken from --store, --scale and --seed. Claims are judged by
    this version of attnlab on both. The exit code is 1 if a claim is decided differently.

    For example:
      attnlab diff quick paper
      attnlab diff seed=0 seed=5 --study rank
      attnlab diff attnlab-store laptop-store,standard,seed=1
    """

    first: Annotated[Positional[str], arg(metavar="A")]
    """One run."""
    second: Annotated[Positional[str], arg(metavar="B")]
    """The other run."""
    study: Annotated[
        tuple[str, ...], arg(metavar="STUDY ...", help_behavior_hint="(default: all)")
    ] = ()
    """Only these studies."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print a list of objects, one per claim that changed."""

    def run(self, console: Console) -> int:
        """Judge both and print what changed."""
        from attnlab.lab.compare import pairs

        runs = [self._run(words) for words in (self.first, self.second)]
        if (runs[0].store.resolve(), runs[0].scale, runs[0].seed) == (
            runs[1].store.resolve(),
            runs[1].scale,
            runs[1].seed,
        ):
            raise UserError(f"A and B are the same run, {runs[0].name}; give two different ones.")
        studies = self.load(self.study)
        stores = [run.open(create=False) for run in runs]
        found: list[Pair] = []
        skipped = []
        for study in studies:
            ledgers = [_judged(study, run, s) for run, s in zip(runs, stores, strict=True)]
            if ledgers[0] is None or ledgers[1] is None:
                skipped.append(study.name)
            else:
                found += pairs(ledgers[0], ledgers[1])
        if not found:
            raise UserError(
                f"{runs[0].name} and {runs[1].name} have no study in common: nothing to compare."
            )
        if self.json:
            changed = [_as_dict(pair) for pair in found if _changed(pair)]
            print(json.dumps(changed, indent=2, ensure_ascii=False))
        else:
            _print(found, skipped, runs, stores, console)
        return 1 if any(pair.turned for pair in found) else 0

    def _run(self, words: str) -> _Run:
        found = _Run(self.store, self.studies_dir, self.scale, self.seed)
        for word in words.split(","):
            if word in SCALES:
                found = dataclasses.replace(found, scale=word)
            elif word.startswith("seed="):
                number = word.removeprefix("seed=")
                if not number.isdecimal():
                    raise UserError(f"seed must be an integer of at least 0, got {number!r}.")
                found = dataclasses.replace(found, seed=int(number))
            elif not word:
                raise UserError(f"{words!r} names no run; give a store, a scale or seed=N.")
            elif not Path(word).exists():
                raise UserError(
                    f"{word!r} is no store, no scale ({', '.join(SCALES)}) and no seed=N."
                )
            else:
                found = dataclasses.replace(found, store=Path(word))
        return found


@dataclass(frozen=True)
class _Run(OfScale):
    @property
    def name(self) -> str:
        return f"{self.store} at {self.scale}, seed {self.seed}"


def _judged(study: Study, run: _Run, store: Store) -> Ledger | None:
    """The ledger of what a store holds of a run; None where it holds nothing."""
    from attnlab.lab.ledger import Judged
    from attnlab.lab.runner import look_up

    (plan,) = run.plans([study])
    found = look_up(plan, store)
    return Judged.of(plan, found.view).ledger if found.from_store else None


def _print(
    found: list[Pair],
    skipped: list[str],
    runs: list[_Run],
    stores: list[Store],
    console: Console,
) -> None:
    from attnlab.report.terminal import shown
    from attnlab.report.verdicts import mark_of

    for letter, run, store in zip("AB", runs, stores, strict=True):
        console.print(shown(f"{letter}: {run.name}{_versions(store)}", "bold"), soft_wrap=True)
    lacking = [pair.first.id for pair in found if not pair.comparable]
    found = [pair for pair in found if pair.comparable]
    for pair in found:
        first, second = pair.first, pair.second
        name = f"{first.id} ({first.study})"
        if pair.reworded:
            marks = [mark_of(entry) for entry in (first, second)]
            sign = "✗ turned" if pair.turned else "· verdict"
            style = "bold red" if pair.turned else "yellow"
            words = " → ".join(mark.verdict for mark in marks)
            console.print(shown(f"{sign}  {name}: {words}", style), soft_wrap=True)
        if pair.moved:
            for what in ("measured", "reference"):
                old, new = (value(getattr(entry, what)) for entry in (first, second))
                if old != new:
                    line = shown(f"  {what}  {name}: {old or 'none'} → {new or 'none'}")
                    console.print(line, soft_wrap=True)
    if lacking:
        line = f"Not computed in one of them ({len(lacking)}): {', '.join(lacking)}."
        console.print(shown(line), soft_wrap=True)
    if skipped:
        console.print(shown(f"Not in both: {', '.join(skipped)}."), soft_wrap=True)
    turned, reworded = (sum(getattr(p, what) for p in found) for what in ("turned", "reworded"))
    moved = sum(pair.moved for pair in found)
    line = (
        f"{counted(len(found), 'claim')} in both: {reworded or 'no'} other "
        f"{'verdict' if reworded == 1 else 'verdicts'} ({turned or 'none'} decided differently), "
        f"other numbers in {moved or 'none'}."
    )
    console.print(shown(line), soft_wrap=True)


def _changed(pair: Pair) -> bool:
    return pair.comparable and (pair.reworded or pair.moved)


def _versions(store: Store) -> str:
    """The versions of attnlab, JAX and NumPy that computed a store's results."""
    from attnlab.lab.provenance import read_runs

    seen = [header["versions"] for header, _ in read_runs(store.root / "runs")]
    found = []
    for name in ("attnlab", "jax", "numpy"):
        known = sorted({str(each[name]) for each in seen if name in each})
        found += [f"{name} {' and '.join(known)}"] if known else []
    return f" ({', '.join(found)})" if found else ""


def _as_dict(pair: Pair) -> dict[str, Any]:
    return {
        "id": pair.first.id,
        "study": pair.first.study,
        "turned": pair.turned,
        "a": pair.first.as_dict(),
        "b": pair.second.as_dict(),
    }
