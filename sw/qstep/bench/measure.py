"""Timing in turns: every round runs each backend once, so that what slows the machine slows them all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qstep.bench.backend import Backend, Counts

__all__ = ["FEWEST", "Measured", "Repeat", "Spread", "calibrate", "measure", "rates", "ratios"]

FEWEST = 1 << 14
"""Fewest updates of one repeat: enough for every backend to learn the grid world."""


@dataclass(frozen=True)
class Repeat:
    """One timed run, in seconds: the update loop alone, and all from input to table."""

    kernel_s: float
    end_to_end_s: float


@dataclass(frozen=True)
class Spread:
    """Median and range of the repeats."""

    median: float
    minimum: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarise at least one value."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Measured:
    """The repeats of one backend, each of `updates` updates, in the order of the rounds.

    Attributes
    ----------
    checked : str
        What the last table was found to be.
    counts : Counts or None
        What a simulated device counted during all repeats.
    """

    backend: Backend
    updates: int
    repeats: tuple[Repeat, ...]
    checked: str
    counts: Counts | None


def rates(measured: Measured) -> tuple[Spread, Spread]:
    """Return million updates/s of the kernel and end to end."""
    kernel = [measured.updates / repeat.kernel_s / 1e6 for repeat in measured.repeats]
    whole = [measured.updates / repeat.end_to_end_s / 1e6 for repeat in measured.repeats]
    return Spread.of(kernel), Spread.of(whole)


def ratios(measured: Measured, base: Measured) -> tuple[Spread, Spread]:
    """Return how many times as fast as `base`, kernel and end to end, paired round by round."""
    more = measured.updates / base.updates
    pairs = list(zip(measured.repeats, base.repeats, strict=True))
    kernel = [more * b.kernel_s / m.kernel_s for m, b in pairs]
    whole = [more * b.end_to_end_s / m.end_to_end_s for m, b in pairs]
    return Spread.of(kernel), Spread.of(whole)


def _run(backend: Backend, updates: int) -> tuple[Repeat, Callable[[], str]]:
    """Run once; the second result verifies the table, outside of the timed part."""
    begin = time.perf_counter()
    prepared = backend.prepare(updates)
    start = time.perf_counter()
    result = backend.kernel(prepared)
    stop = time.perf_counter()
    table = backend.read(result)
    end = time.perf_counter()
    return Repeat(stop - start, end - begin), lambda: backend.verify(updates, table)


def calibrate(backend: Backend, seconds: float, limit: int) -> int:
    """Return the updates that take about `seconds` end to end: a power of two, FEWEST..`limit`.

    They are doubled until the time is reached. The first run warms up (Numba compiles) and is not
    timed.
    """
    updates = FEWEST
    _run(backend, updates)
    while _run(backend, updates)[0].end_to_end_s < 0.7 * seconds and updates < limit:
        updates *= 2
    return updates


def measure(
    backends: Sequence[Backend],
    rounds: int,
    seconds: float,
    limit: int,
    progress: Callable[[str], None],
) -> list[Measured]:
    """Time backends on one workload.

    Parameters
    ----------
    backends : sequence of Backend
    rounds : int
        Repeats of each backend, 1 or more.
    seconds : float
        About how long one repeat may take; it decides how many updates it has.
    limit : int
        Most updates of one repeat, a power of two.
    progress : callable
        Called with the backend's name after its calibration and after each repeat: ``rounds + 1``
        times a backend.

    Raises
    ------
    WrongTableError
        A backend's table is not what it must be.
    """
    updates = []
    for backend in backends:
        updates.append(calibrate(backend, seconds, limit))
        progress(backend.name)
    before = [backend.counts() if backend.counts else None for backend in backends]
    repeats: list[list[Repeat]] = [[] for _ in backends]
    checks: list[Callable[[], str]] = []
    for _ in range(rounds):
        checks.clear()
        for backend, count, done in zip(backends, updates, repeats, strict=True):
            repeat, check = _run(backend, count)
            done.append(repeat)
            checks.append(check)
            progress(backend.name)
    return [
        Measured(backend, count, tuple(done), check(), _since(backend, start))
        for backend, count, done, check, start in zip(
            backends, updates, repeats, checks, before, strict=True
        )
    ]


def _since(backend: Backend, before: Counts | None) -> Counts | None:
    return backend.counts() - before if backend.counts and before else None
