"""Progress that fits where it is shown: a live bar on a terminal, plain lines elsewhere.

Nothing is shown for work that ends within a second.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Generator
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

FIRST_LINE_AFTER = 1.0
LINE_EVERY = 5.0
SHARE = 0.05  # of the whole cost: less than this says nothing about the time left


class Meter(Protocol):
    def advance(self, label: str, cost: float = 1.0, step: str = "") -> None:
        """One more step is done; `step` names it, where `inside` was called."""
        ...

    def inside(self, label: str, step: str = "", cost: float = 0.0) -> None:
        """A long step is under way; so much of its cost is done."""
        ...


@contextlib.contextmanager
def meter(
    console: Console, job: str, total: int, total_cost: float, from_store: int | None = None
) -> Generator[Meter]:
    """Follow `total` steps of a job; the time left is estimated from their costs."""
    if console.is_terminal and not console.is_dumb_terminal:
        with _Bar(console, job, total, total_cost, from_store) as bar:
            yield bar
    else:
        yield _Lines(console, job, total, total_cost, from_store)


class _Pace:
    """How far, and how long it will still take at the pace so far.

    A small first step is left out of the pace: most of its time is imports and compiling. Until
    enough steps are done, the pace is that inside of the long ones that are under way.
    """

    def __init__(self, job: str, total: int, total_cost: float, from_store: int | None):
        self.job, self.total, self.total_cost, self.from_store = job, total, total_cost, from_store
        self.done, self.cost = 0, 0.0
        self.first_cost, self.first_seconds = 0.0, 0.0
        self.started = time.monotonic()
        self.under_way: dict[str, tuple[float, float]] = {}  # the cost done at first, and now
        self.inside_since: tuple[float, float] | None = None  # when, and the cost done then

    def inside(self, step: str, cost: float) -> None:
        first, _ = self.under_way.get(step, (cost, cost))
        self.under_way[step] = first, cost
        if self.inside_since is None:
            self.inside_since = self.elapsed, self.cost

    def step(self, cost: float, step: str = "") -> None:
        # What an earlier run had done of it took no time of this one.
        before, _ = self.under_way.pop(step, (0.0, 0.0))
        if self.inside_since is not None:
            self.inside_since = self.inside_since[0], self.inside_since[1] + before
        self.done += 1
        self.cost += cost
        if self.done == 1 and cost < SHARE * self.total_cost:
            self.first_cost, self.first_seconds = cost, self.elapsed

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    @property
    def left(self) -> str:
        cost = self.cost - self.first_cost
        here = sum(now - first for first, now in self.under_way.values())
        seconds = self.elapsed - self.first_seconds
        if cost <= 0 or cost < SHARE * self.total_cost:
            if self.inside_since is None:
                return "time left unknown"
            since, known = self.inside_since
            seconds, cost = self.elapsed - since, self.cost - known
        if cost + here <= 0 or seconds <= 0:
            return "time left unknown"
        ahead = self.total_cost - self.cost - sum(now for _, now in self.under_way.values())
        return f"about {duration(seconds / (cost + here) * max(ahead, 0.0))} left"

    @property
    def stored(self) -> str:
        return "" if self.from_store is None else f"{self.from_store} from the store, "


class _Lines:
    def __init__(
        self, console: Console, job: str, total: int, total_cost: float, from_store: int | None
    ):
        self._console = console
        self._pace = _Pace(job, total, total_cost, from_store)
        self._next = self._pace.started + FIRST_LINE_AFTER

    def advance(self, label: str, cost: float = 1.0, step: str = "") -> None:
        pace = self._pace
        pace.step(cost, step)
        if pace.done < pace.total:
            self.inside(label)

    def inside(self, label: str, step: str = "", cost: float = 0.0) -> None:
        pace = self._pace
        if step:
            pace.inside(step, cost)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_EVERY
            self._console.print(
                f"{pace.job}: {pace.done}/{pace.total} done, {pace.stored}{pace.left} ({label})",
                soft_wrap=True,
                highlight=False,
            )


class _Bar:
    def __init__(
        self, console: Console, job: str, total: int, total_cost: float, from_store: int | None
    ):
        self._pace = _Pace(job, total, total_cost, from_store)
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[stored]}{task.fields[left]} · {task.fields[label]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task(
            job, total=total, stored=self._pace.stored, left=self._pace.left, label="starting"
        )
        self._shown = 0.0
        # The first step may take minutes, so the bar cannot wait for it to appear.
        self._appear = threading.Timer(FIRST_LINE_AFTER, self._progress.start)
        self._appear.daemon = True

    def __enter__(self) -> _Bar:
        self._appear.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._appear.cancel()
        self._appear.join()
        if self._progress.live.is_started:
            self._progress.stop()

    def inside(self, label: str, step: str = "", cost: float = 0.0) -> None:
        if step:
            self._pace.inside(step, cost)
        self._progress.update(self._task, label=label, left=self._pace.left)

    def advance(self, label: str, cost: float = 1.0, step: str = "") -> None:
        self._pace.step(cost, step)
        now = time.monotonic()
        if now - self._shown > 0.1 or self._pace.done == self._pace.total:
            self._shown = now
            self._progress.update(
                self._task, completed=self._pace.done, left=self._pace.left, label=label
            )


def duration(seconds: float) -> str:
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
