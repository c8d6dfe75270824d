"""Several tools at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from typing import TypeVar

from qstep.processes import threads

__all__ = ["in_parallel"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int,
    progress: Callable[[Result], None],
) -> list[Result]:
    """Call `function` on all items, `jobs` at a time, and return the results in their order.

    `progress` is called with each result as it comes. After an error nothing new is begun.
    """
    with threads(jobs) as pool:
        under_way = {pool.submit(function, item): index for index, item in enumerate(items)}
        done: dict[int, Result] = {}
        for future in as_completed(under_way):
            done[under_way[future]] = future.result()
            progress(future.result())
    return [done[index] for index in range(len(items))]
