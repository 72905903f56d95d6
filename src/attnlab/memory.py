"""How much memory there is, and one sentence where it does not suffice.

Every estimate is made before anything is drawn, so that a size that no machine can hold is refused
at once.
"""

import os

from attnlab.errors import UserError

GB = 1e9
LITTLE = 0.5e9  # bytes that every machine has: asking the system would take longer than the work


def available_memory() -> float:
    """Bytes of this machine that can be had without swapping."""
    try:
        import psutil
    except ImportError:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return float(psutil.virtual_memory().available)


def available_device_memory() -> float | None:
    """Bytes that are free on the device of JAX; None where it does not say."""
    import jax

    stats = jax.devices()[0].memory_stats() or {}
    if "bytes_limit" not in stats:
        return None
    return float(stats["bytes_limit"]) - float(stats.get("bytes_in_use", 0.0))


def require_memory(what: str, needed: float, reduce: str, available: float | None = None) -> None:
    """Refuse what needs more memory than there is.

    Parameters
    ----------
    what
        The subject of the sentence, in the plural.
    needed
        Bytes.
    reduce
        The arguments to make smaller.
    available
        Bytes; what the machine says unless given.
    """
    if available is None:
        if needed <= LITTLE:
            return
        available = available_memory()
    if needed > available:
        raise UserError(
            f"{what} need {_amount(needed)} of memory, and {_amount(available)} are available: "
            f"{reduce} must be smaller."
        )


def ran_out(reason: BaseException) -> bool:
    """Whether an error says that memory was used up, on the machine or on a device of JAX."""
    return isinstance(reason, MemoryError) or "RESOURCE_EXHAUSTED" in str(reason)


def out_of_memory(what: str, device: str = "cpu") -> str:
    """The sentence where sizes were not known to be too large before they were.

    `device` is "cpu", or the name of the card on which it was computed.
    """
    if device == "cpu":
        there = f"of which {_amount(available_memory())} are available here"
        return f"{what} ran out of memory, {there}: its sizes must be smaller."
    return (
        f"{what} ran out of the memory that this process has on the {device}: its sizes must be "
        "smaller, or fewer processes must share the card."
    )


def _amount(size: float) -> str:
    amount = size / GB
    return f"{amount:.3g} GB" if amount < 1000 else f"{amount:,.0f} GB"
