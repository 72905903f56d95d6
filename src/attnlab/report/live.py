"""Trainings that a page starts, watches and stops: one at a time, within limits.

A training runs in a thread of its own. It ends when it is done, when it is stopped, after `SECONDS`
of time, or when nobody has asked for it for `UNSEEN` seconds, which is how a browser that went away
shows. The rows so far are kept until the next training starts.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Mapping
from typing import Any

from attnlab.drawing.specs import plain, spec_of
from attnlab.errors import AttnlabError, Stopped, UserError
from attnlab.lab.cell import Outcome, column_types, config_values
from attnlab.lab.explorer import Explorer
from attnlab.lab.fault import describe
from attnlab.lab.watch import Watch, watching

SECONDS = 120.0
UNSEEN = 15.0
STOPPING = 10.0  # seconds that a start waits for an earlier training of the same page


class Busy(Exception):
    """Another page's training runs."""


class Training:
    """One training: its rows so far and what became of it."""

    def __init__(self, explorer: Explorer, values: Mapping[str, Any], page: str):
        self.explorer, self.values, self.page = explorer, dict(values), page
        configs = explorer.configs(**self.values)
        if len(configs) != 1:
            raise UserError(f"A training is one cell; these knobs ask for {len(configs)}.")
        self.config = configs[0]
        self.rows: list[dict[str, Any]] = []
        self.words = "starting"
        self.running = True
        self.done = False
        self._stop = threading.Event()
        self._seen = self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it after the steps that are under way."""
        self._stop.set()

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, for at most so long."""
        self._thread.join(seconds)

    def answer(self) -> str:
        """What a page shows of it now: a document to draw, a sentence, and whether it runs on."""
        self._seen = time.monotonic()
        running, words = self.running, self.words
        rows = [plain(row) for row in list(self.rows)]
        spec = spec_of(self.explorer.draw, rows) if rows else None
        return json.dumps({"spec": spec, "words": words, "running": running})

    def _over(self) -> bool:
        now = time.monotonic()
        return self._stop.is_set() or now - self._seen > UNSEEN or now - self._began > SECONDS

    def _add(self, step: int, loss: float) -> None:
        kind = self.explorer.kind
        empty = dict.fromkeys(column_types(kind.row))
        found = {"step": step, "loss": loss if math.isfinite(loss) else None}
        self.rows.append({**config_values(self.config), **empty, **found})
        self.words = f"step {step}"

    def _run(self) -> None:
        try:
            with watching(Watch(losses=self._add, stop=self._over)):
                result = self.explorer.kind.run(self.config)
            own = config_values(self.config)
            several = result.rows if isinstance(result, Outcome) else [result]
            self.rows = [{**own, **config_values(row)} for row in several]
            self.words, self.done = "done", True
        except Stopped as reason:
            self.words = f"stopped at step {reason.step}"
        except AttnlabError as reason:
            self.words = str(reason)
        except Exception as reason:  # a bug in a cell ends one training and not the server
            self.words = describe(reason)
        finally:
            self.running = False


class Trainings:
    """At most one training at a time; the last one is kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._last: Training | None = None

    def start(self, explorer: Explorer, values: Mapping[str, Any], page: str) -> str:
        """Start a training and return its number; an earlier one of the same page ends."""
        with self._lock:
            last = self._last
            if last is not None and last.running:
                if last.page != page:
                    raise Busy
                last.stop()
                last.wait(STOPPING)
                if last.running:
                    raise Busy
            self._last = Training(explorer, values, page)
            self._number += 1
            return str(self._number)

    def find(self, number: str) -> Training:
        """The training of this number, while it is the last one."""
        if self._last is None or number != str(self._number):
            raise UserError(f"There is no training {number!r}; another was started since, or none.")
        return self._last

    def rows(self, explorer: Explorer, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of the last training, if it had these knobs."""
        last = self._last
        if last is None or last.explorer.id != explorer.id or last.values != dict(values):
            raise UserError("These knobs have not been trained; start the training first.")
        return list(last.rows)

    def end(self) -> None:
        """Stop what runs, as the server ends."""
        if self._last is not None:
            self._last.stop()
