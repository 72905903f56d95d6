"""One statement of a paper: what it says, and which claims judge it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

StatementKind = Literal[
    "theorem", "lemma", "corollary", "proposition", "claim", "fact", "definition", "remark",
    "figure", "table", "sentence",
]  # fmt: skip
STATEMENT_KINDS: tuple[StatementKind, ...] = get_args(StatementKind)


@dataclass(frozen=True)
class Statement:
    """One numbered result, definition, figure panel, table or asserted sentence of a paper.

    Parameters
    ----------
    id
        Its name, such as "theorem-6.2".
    where
        Where it stands: section, page or caption.
    kind
        What it is.
    statement
        What it says, in our words, with its quantifiers.
    claims
        The ids of the claims that judge it, as the paper has it.
    beside
        The ids of claims of ours that stand beside those.
    reason
        Of a sentence without a truth value: why nothing can judge it.
    """

    id: str
    where: str
    kind: StatementKind
    statement: str
    claims: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    reason: str = ""
