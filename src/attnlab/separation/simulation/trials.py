"""What the trials of both models share: the event, and how many are computed at once."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from attnlab.memory import require_memory
from attnlab.separation.models import exceeds

BLOCK = 2**22  # bytes held at once, about as many as a processor has of cache


def succeeds(top: Float[np.ndarray, "trials 4"], tau: float) -> Bool[np.ndarray, " trials"]:
    """E_success from the largest score of each of the four networks (in the order of NETWORKS)."""
    fires = exceeds(top, tau)
    return fires[:, 0] & ~(fires[:, 1] | fires[:, 2] | fires[:, 3])


def block_sizes(trials: int, bytes_per_trial: int, block: int) -> Iterator[int]:
    """Sizes of blocks that add up to `trials`, each of about `block` bytes or of one trial."""
    size = max(block // bytes_per_trial, 1)
    for start in range(0, trials, size):
        yield min(size, trials - start)


def require_one_trial(bytes_per_trial: float, reduce: str) -> None:
    """Refuse sizes of which not even one trial fits into the memory of this machine."""
    require_memory("The numbers of one trial", bytes_per_trial, reduce)
