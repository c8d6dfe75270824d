"""What the link allows: bytes a transition, transitions a second, and which processor is as fast."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from qstep.bench.line import SimulatedClock, carry
from qstep.bench.measure import Spread
from qstep.bench.workloads import Workload
from qstep.config import Config
from qstep.protocol import BITS_PER_BYTE
from qstep.transitions import Transitions

__all__ = [
    "BAUDS",
    "LineLimit",
    "LinkLimits",
    "bytes_per_transition",
    "equal_baud",
    "line_rate",
    "link_limits",
]

BAUDS = (115_200, 1_000_000, 3_000_000, 12_000_000)
"""Line rates of the comparison."""

_TRANSITIONS = 1 << 16  # over which bytes are counted: some 130 of the longest frames
_RUNS = 3


@dataclass(frozen=True)
class LineLimit:
    """A serial line of 8 data bits, no parity and 1 stop bit.

    Attributes
    ----------
    baud : int
    rate : float
        Million transitions/s that it carries at most.
    busy : Spread
        Share of the time, 0..1, in which the driver on this computer kept such a line, simulated in
        real time, busy.
    """

    baud: int
    rate: float
    busy: Spread


@dataclass(frozen=True)
class LinkLimits:
    """What serial lines allow on one workload.

    Attributes
    ----------
    to_device, to_host : float
        Bytes a transition, frames and answers included.
    lines : tuple of LineLimit
        One for each of :data:`BAUDS`.
    crossover : dict
        Backend to the baud at which a line carries as many transitions as it makes updates, end to end.
    """

    to_device: float
    to_host: float
    lines: tuple[LineLimit, ...]
    crossover: dict[str, float]


def line_rate(baud: float, to_device: float) -> float:
    """Return the million transitions/s of a line, at so many bytes each."""
    return baud / BITS_PER_BYTE / to_device / 1e6


def equal_baud(rate: float, to_device: float) -> float:
    """Return the baud at which a line carries `rate` million transitions/s: undoes `line_rate`."""
    return rate * 1e6 * to_device * BITS_PER_BYTE


def bytes_per_transition(config: Config, workload: Workload) -> tuple[float, float]:
    """Return the bytes that the driver sends and receives for a transition of a workload.

    They are counted on a simulated line without faults, when the rewards are known to the device and
    payloads have reached their full length.
    """
    transitions = Transitions.from_arrays(config, *workload.record(_TRANSITIONS))
    carried = carry(config, transitions, SimulatedClock(), warm=True)
    return carried.to_device / carried.transitions, carried.to_host / carried.transitions


def link_limits(
    workload: Workload,
    rates: Mapping[str, float],
    seconds: float,
    progress: Callable[[str], None],
) -> LinkLimits:
    """Measure what lines of each of :data:`BAUDS` carry of a workload.

    Parameters
    ----------
    workload : Workload
    rates : mapping
        Million updates/s by backend.
    seconds : float
        How long each of a few runs keeps each line busy, about.
    progress : callable
        Called with what was done, once for each line.
    """
    to_device, to_host = bytes_per_transition(workload.config, workload)
    lines = []
    for baud in BAUDS:
        config = replace(workload.config, link=replace(workload.config.link, baud=baud))
        rate = line_rate(baud, to_device)
        count = max(1, min(workload.limit, round(seconds * rate * 1e6)))
        transitions = Transitions.from_arrays(config, *workload.record(count))
        busy = [carry(config, transitions, time, warm=False).busy for _ in range(_RUNS)]
        lines.append(LineLimit(baud, rate, Spread.of(busy)))
        progress(f"line of {baud:,} baud")
    crossover = {name: equal_baud(rate, to_device) for name, rate in rates.items()}
    return LinkLimits(to_device, to_host, tuple(lines), crossover)
