"""Calls that are under way at once, in threads, while their results come in order.

Results are taken one by one, and no more calls are started than there may be under way, so that
what the calls hold in memory is bounded however many there are.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_flight(
    call: Callable[[T], R], items: Iterable[T], flights: int, threads: int | None = None
) -> Iterator[R]:
    """call(item) for each item, in order, up to `flights` of them started and not yet taken.

    They share `threads` threads, as many as flights unless given; a single flight needs none.
    """
    if flights == 1:
        yield from map(call, items)
        return
    with ThreadPoolExecutor(max_workers=threads or flights) as pool:
        started: deque[Future[R]] = deque()
        for item in items:
            started.append(pool.submit(call, item))
            if len(started) == flights:
                yield started.popleft().result()
        while started:
            yield started.popleft().result()
