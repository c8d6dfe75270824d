"""What a backend of the benchmark is.

It splits its work in three, so that the clock can be read between the parts: `prepare` (from arrays or
environment to what the loop takes), `kernel` (the updates), `read` (a table on the host).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

from qstep.bench.checks import Check, Table

__all__ = ["Absent", "Backend", "Counts"]


@dataclass(frozen=True)
class Counts:
    """What a simulated device has counted so far.

    Attributes
    ----------
    clocks : int
        All clocks of the device while it was given transitions, its link included.
    offered_clocks, accepted, held, forwarded : int
        The lane's own counters, see :class:`qstep.devices.base.Counters`.
    """

    clocks: int
    offered_clocks: int
    accepted: int
    held: int
    forwarded: int

    def __sub__(self, earlier: Counts) -> Counts:
        pairs = zip(astuple(self), astuple(earlier), strict=True)
        return Counts(*(now - before for now, before in pairs))


@dataclass(frozen=True)
class Backend:
    """One way to do one workload.

    Attributes
    ----------
    name, what : str
        What it is called, and one phrase of what it is.
    prepare : callable
        ``prepare(updates)`` returns what `kernel` takes.
    kernel : callable
        ``kernel(prepared)`` does the updates and returns what `read` takes.
    read : callable
        ``read(result)`` returns the table as real numbers, float64 of shape (S, A).
    verify : Check
        Says what the table was found to be, or raises, see :mod:`qstep.bench.checks`.
    counts : callable or None
        Reads what a simulated device has counted.
    """

    name: str
    what: str
    prepare: Callable[[int], Any]
    kernel: Callable[[Any], Any]
    read: Callable[[Any], Table]
    verify: Check
    counts: Callable[[], Counts] | None = None


@dataclass(frozen=True)
class Absent:
    """A backend that this machine lacks, and why."""

    name: str
    what: str
    reason: str
