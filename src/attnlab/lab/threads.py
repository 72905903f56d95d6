"""One thread of linear algebra per cell, so that its bytes do not depend on the number of cores."""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any


def one_thread() -> contextlib.AbstractContextManager[Any]:
    """Limit every BLAS and OpenMP pool of this process to one thread, inside of a `with`."""
    import scipy.linalg  # noqa: F401 - loads its BLAS, which could not be limited before that

    return _pools(len(sys.modules)).limit(limits=1)


@functools.lru_cache(maxsize=1)
def _pools(modules: int) -> Any:
    """The pools of this process. Looking for them takes a millisecond, which a cell may not: they
    are looked for again only when a module was imported, which may have brought one more."""
    from threadpoolctl import ThreadpoolController

    del modules
    return ThreadpoolController()
