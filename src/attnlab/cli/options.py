"""Options that several commands share."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from attnlab.lab.study import Scale, check_seed

if TYPE_CHECKING:
    from attnlab.lab.runner import Summary
    from attnlab.lab.store import Store
    from attnlab.lab.study import Plan, Study


@dataclass(frozen=True)
class Common:
    """What every command that looks at results takes."""

    store: Annotated[Path, arg(metavar="DIR")] = field(
        default_factory=lambda: Path(os.environ.get("ATTNLAB_STORE", "attnlab-store"))
    )
    """Where results are kept (or set ATTNLAB_STORE)."""
    studies_dir: Annotated[Path | None, arg(metavar="DIR")] = field(
        default_factory=lambda: (
            Path(os.environ["ATTNLAB_STUDIES"]) if "ATTNLAB_STUDIES" in os.environ else None
        )
    )
    """A folder with studies of your own (or set ATTNLAB_STUDIES)."""

    def open(self, *, create: bool) -> Store:
        """The store; without `create` it must exist."""
        from attnlab.lab.store import Store

        return Store(self.store, create=create)

    def load(self, names: tuple[str, ...]) -> list[Study]:
        """The studies of these names, or all of them."""
        from attnlab.lab.catalog import load_studies

        return load_studies(names, self.studies_dir)


@dataclass(frozen=True)
class OfScale(Common):
    """Which of a study's plans: its size and its seed."""

    scale: Annotated[Scale, arg(metavar="{quick,standard,paper}")] = "quick"
    """quick: minutes on a laptop; standard: an hour there; paper: the paper's full grid."""
    seed: int = 0
    """Seed of every random draw."""

    def spelled(self) -> str:
        """The options that another command needs to look at the same results."""
        usual = OfScale()
        names = ("scale", "seed", "store", "studies_dir")
        return "".join(
            f" --{name.replace('_', '-')} {shlex.quote(str(getattr(self, name)))}"
            for name in names
            if getattr(self, name) != getattr(usual, name)
        )

    def plans(self, studies: list[Study]) -> list[Plan]:
        """What the studies ask for at this scale and seed."""
        seed = check_seed(self.seed)
        return [study.plan(self.scale, seed) for study in studies]

    def look_up(self, studies: list[Study]) -> list[Summary]:
        """What the store holds of the studies; nothing of any where there is no store yet.

        There has to be a store where no evidence ships with any of the studies: nothing could be
        shown then.
        """
        from attnlab.lab.evidence import evidence_of
        from attnlab.lab.runner import Summary, look_up

        plans = self.plans(studies)
        absent = not self.store.exists() or (self.store.is_dir() and not any(self.store.iterdir()))
        if absent and any(evidence_of(study) for study in studies):
            return [Summary(plan, len(plan.cells), 0, {}) for plan in plans]
        store = self.open(create=False)
        return [look_up(plan, store) for plan in plans]
