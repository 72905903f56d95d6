"""The table of verdicts on a study's page: what it says is what the ledger says.

Pages show only numbers that do not depend on a seed or a machine. The tests of each study call
`check_table` with the ledger that they have.
"""

import re
from collections.abc import Iterable
from decimal import Decimal

from attnlab.lab.ledger import Entry
from tests.docs.markdown_pages import ROOT

NUMBER = r"\d+(?:[.,]\d+)*(?:e-\d+)?%?"
PLAIN = str.maketrans("", "", ",%")


def check_table(study: str, entries: Iterable[Entry]) -> None:
    """Every claim is in the table with its verdict, and every number there is in the ledger."""
    ledger = {entry.id: entry for entry in entries}
    text = (ROOT / "docs" / f"{study}.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([^`]+)` \| ([a-z ]+) \| (.*) \|$", text, re.MULTILINE)
    assert sorted(claim for claim, _, _ in table) == sorted(ledger)
    for claim, verdict, words in table:
        entry = ledger[claim]
        assert verdict == entry.verdict, claim
        parts = (entry.statement, entry.measured, entry.reference, entry.note)
        known = " ".join(str(part) for part in parts)
        for number in re.findall(NUMBER, words):
            assert agrees(number, known), f"{claim}: {number} is not in {known!r}"


def agrees(shown: str, known: str) -> bool:
    """Whether a number is in a text, to one and a half units of the last digit shown."""
    value = Decimal(shown.translate(PLAIN))
    unit = Decimal(1).scaleb(int(value.as_tuple().exponent))
    others = [Decimal(number.translate(PLAIN)) for number in re.findall(NUMBER, known)]
    return any(abs(value - other) <= Decimal("1.5") * unit for other in others)
