"""Places a design with many seeds; placement or routing may fail with some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from qstep._io.workers import Workers, in_parallel
from qstep.errors import BuildError

__all__ = ["with_seeds"]

Result = TypeVar("Result")


def with_seeds(
    place: Callable[[int], Result],
    seeds: Sequence[int],
    workers: Workers,
    progress: Callable[[str], object],
    what: str,
    is_enough: Callable[[Result], bool] = lambda result: False,
) -> list[Result]:
    """Call `place` with each seed and return the results, without the seeds that failed.

    Parameters
    ----------
    place : callable
    seeds : sequence of int
    workers : Workers
    progress : callable
        Called with a description of each seed's result.
    what : str
        Start of the error message if all seeds fail.
    is_enough : callable, optional
        Function that returns whether a result is good enough to skip the remaining seeds.

    Raises
    ------
    BuildError
        All seeds failed.
    """

    def attempt(seed: int) -> Result | str:
        try:
            return place(seed)
        except BuildError as error:
            return f"seed {seed}: not placed and routed: {_reason(error)}"

    found: list[Result] = []
    failed: list[str] = []
    for first in range(0, len(seeds), workers.jobs):
        some = seeds[first : first + workers.jobs]
        for one in in_parallel(attempt, some, workers, lambda one: progress(str(one))):
            if isinstance(one, str):
                failed.append(one)
            else:
                found.append(one)
        if any(map(is_enough, found)):
            break
    if not found:
        raise BuildError(
            f"{what} with none of {len(seeds)} seeds; the last one: {failed[-1]}. Try more seeds"
        )
    return found


def _reason(error: BuildError) -> str:
    """Return the line with the tool's error, or else the last line."""
    lines = str(error).rstrip().splitlines()
    return next((line for line in lines if line.startswith("ERROR: ")), lines[-1])
