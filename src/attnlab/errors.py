"""The two ways attnlab says no: the user's argument was wrong, or the work could not be done.

Both carry one sentence meant for a person. The command line prints it without a traceback and
exits with the class's code; library code raises them like any other exception.
"""

import difflib
from collections.abc import Collection


class AttnlabError(Exception):
    """The work could not be done: a full disk, a failed cell, a lost cluster."""

    exit_code = 1


class Stopped(AttnlabError):
    """Work was stopped on request before its last step; the checkpoint, if any, continues it."""

    def __init__(self, step: int, steps: int, checkpoint: str | None, unit: str = "step") -> None:
        self.step, self.steps, self.checkpoint, self.unit = step, steps, checkpoint, unit
        kept = "nothing is saved" if checkpoint is None else f"{checkpoint} continues it"
        super().__init__(f"The work was stopped at {unit} {step} of {steps} on request; {kept}.")


class UserError(AttnlabError, ValueError):
    """A wrong argument: the sentence names it, what was given and what is accepted."""

    exit_code = 2


def did_you_mean(found: str, known: Collection[str], most: int = 1) -> str:
    """A question for the sentence about an unknown name, with a blank at its end; or nothing."""
    close = sorted(difflib.get_close_matches(found, list(known), most, 0.6))
    return f"did you mean {' or '.join(close)}? " if close else ""
