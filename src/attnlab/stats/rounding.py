"""Rounding errors in words. Their digits differ from one processor to the next, so none is shown.

An identity that holds exactly is checked to a stated number of roundings. Whoever reads the result
needs to know whether the difference is below that limit; the stored rows have the number itself.
"""


def below(difference: float, limit: float) -> str:
    """'below LIMIT' for a difference within a limit of rounding, its size otherwise."""
    return f"below {limit:.0e}".replace("e-0", "e-") if difference <= limit else f"{difference:.1e}"
