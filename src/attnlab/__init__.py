"""attnlab: a laboratory for the theory of attention.

Each paper is a package of its own with few public names: `from attnlab import linear, random, rank,
separation`. `study(name)` is a paper as claims, figures and cells; `ledger(name)` judges its claims
on stored results, and `query(sql)` asks them; `stats` has what comparisons are made with. All are
imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from attnlab.papers import STUDIES

if TYPE_CHECKING:
    from pathlib import Path

    from attnlab.lab.ledger import Ledger
    from attnlab.lab.query import Answer
    from attnlab.lab.study import Scale, Study

__version__ = "0.1.0"

__all__ = ["__version__", *STUDIES, "ledger", "query", "stats", "study"]


def study(name: str) -> Study:
    """The study of this name: ours, or one that an installed package declares."""
    from attnlab.lab.catalog import load_study

    return load_study(name)


def ledger(
    name: str, store: Path | str = "attnlab-store", scale: Scale = "quick", seed: int = 0
) -> Ledger:
    """Every claim of a study, judged on what a store holds; a notebook shows it as a table.

    The field `shipped` of a line is what a run that ships with attnlab found, or None.

    Parameters
    ----------
    name
        Name of the study.
    store
        Folder with the results, as `attnlab reproduce` leaves it.
    scale, seed
        Which of the results.
    """
    from attnlab.lab.evidence import judged_beside_shipped
    from attnlab.lab.runner import look_up
    from attnlab.lab.store import Store

    plan = study(name).plan(scale, seed)
    return judged_beside_shipped(plan, look_up(plan, Store(store, create=False)).view).ledger


def query(sql: str, store: Path | str = "attnlab-store") -> Answer:
    """Ask the results in a store: one SELECT, with a table for each kind of cell.

    The answer has `columns` and `rows`, `to_arrow()` and `to_pandas()`; a notebook shows a table.
    """
    from attnlab.lab.query import query as ask
    from attnlab.lab.store import Store

    return ask(Store(store, create=False), sql)


def __getattr__(name: str) -> Any:
    if name in STUDIES or name == "stats":
        return importlib.import_module(f"attnlab.{name}")
    raise AttributeError(f"module 'attnlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
