"""A table on a page that does not say what the ledger says is noticed."""

from tests.docs.tables import agrees


def test_a_number_that_is_not_the_ledgers_is_noticed():
    known = "medians 0.691, 1,286 and 2e-16"
    assert agrees("0.692", known)
    assert agrees("1,286", known)
    assert not agrees("0.694", known)
    assert not agrees("246", known)
    assert not agrees("5e-15", known)
