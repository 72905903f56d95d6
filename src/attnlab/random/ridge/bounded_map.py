"""Calls in threads whose results are taken in order, with a bound on how many are under way.

No more calls are started than the bound allows until results are taken, so that what the calls hold
in memory is bounded however many there are.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def bounded_map(
    call: Callable[[T], R], items: Iterable[T], limit: int, threads: int | None = None
) -> Iterator[R]:
    """call(item) for each item, in order.

    Parameters
    ----------
    call
        The function.
    items
        Its arguments, taken one by one.
    limit
        At most so many calls are started and not yet taken; with 1 no thread is used.
    threads
        Threads that the calls share, as many as `limit` unless given.
    """
    if limit == 1:
        yield from map(call, items)
        return
    with ThreadPoolExecutor(max_workers=threads or limit) as pool:
        started: deque[Future[R]] = deque()
        for item in items:
            started.append(pool.submit(call, item))
            if len(started) == limit:
                yield started.popleft().result()
        while started:
            yield started.popleft().result()
