"""`attnlab weights`: the networks that have names, shipped and in the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from attnlab.cli.options import Common
from attnlab.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Weights(Common):
    """List the networks that 'attnlab read' opens by name: shipped ones and those in the store.

    Without PREFIX the best of several runs stands for all of them.

    For example:
      attnlab weights
      attnlab weights linear/axis/uniform-5
      attnlab read linear/axis/uniform-5/7
    """

    prefix: Annotated[Positional[str | None], arg(metavar="[PREFIX]")] = None
    """Only names that begin so, and then every run."""

    def run(self, console: Console) -> int:
        """List."""
        from attnlab.lab.network_names import shipped_networks, stored_weights
        from attnlab.report.terminal import print_rows

        studies = self.load(())
        rows = [
            (each.name, each.about, "shipped")
            for each in shipped_networks(studies).values()
            if each.main or self.prefix is not None
        ]
        if self.store.exists():
            for found in stored_weights(self.open(create=False), studies):
                depths = [(f"{found.key}/{each.name}", each.about) for each in found.networks]
                whole = (found.key, f"{found.kind}: {depths[-1][1] if depths else 'weights'}")
                listed = depths if depths and self.prefix is not None else [whole]
                rows += [(*each, str(found.path)) for each in listed]
        chosen = [row for row in rows if row[0].startswith(self.prefix or "")]
        if self.prefix is not None and not chosen:
            hint = did_you_mean(self.prefix, [row[0] for row in rows], 3)
            raise UserError(
                f"No network has a name that begins with {self.prefix!r}; {hint}'attnlab weights' "
                "lists them."
            )
        print_rows(["name", "network", "where"], chosen, console)
        return 0
