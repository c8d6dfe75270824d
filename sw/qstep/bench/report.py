"""The benchmark's result: what was measured, on what, with every repeat, as plain values."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qstep.bench import backends
from qstep.bench.backends import Absent, Backend, Counts
from qstep.bench.machine import machine, versions
from qstep.bench.measure import Measured, Repeat, Spread, measure, rates, ratios
from qstep.bench.workloads import WORKLOADS, Workload
from qstep.config import Config
from qstep.devices import Device
from qstep.devices.link_device import LinkDevice
from qstep.errors import QStepError
from qstep.link.records import RecordLayout

__all__ = ["Figures", "Report", "Section", "Simulated", "open_simulated", "run"]

BASE = "dictionary"
"""The backend that ratios are taken to."""


@dataclass(frozen=True)
class Simulated:
    """What a simulated device counted: simulated, not measured on hardware.

    Rates are million updates/s, and hold only if the hardware runs at the assumed clock.

    Attributes
    ----------
    counts : Counts
        Over all repeats.
    lane_clocks, device_clocks : float
        Clocks an update: those in which the lane was offered one, and all that the device took, with
        its link at one byte a clock.
    assumed_clock_hz : int
        An assumption: ``config.link.clock_hz``, not the result of a place and route.
    lane_rate, device_rate : float
        What follows for the lane alone, and for the device that is fed a byte a clock.
    baud : int
        Rate of the serial line, ``config.link.baud``.
    line_rate : float
        What that line carries at most, records alone; the clock does not matter to it.
    """

    counts: Counts
    lane_clocks: float
    device_clocks: float
    assumed_clock_hz: int
    lane_rate: float
    device_rate: float
    baud: int
    line_rate: float


@dataclass(frozen=True)
class Figures:
    """One backend on one workload; rates in million updates/s, ratios to the dictionary."""

    name: str
    what: str
    updates: int
    kernel: Spread
    end_to_end: Spread
    kernel_ratio: Spread
    end_to_end_ratio: Spread
    checked: str
    simulated: Simulated | None
    repeats: tuple[Repeat, ...]


@dataclass(frozen=True)
class Section:
    """One workload: figures of the backends that are present, and why the others are not."""

    workload: str
    task: str
    config: dict[str, Any]
    hyperparameters: dict[str, Any]
    figures: tuple[Figures, ...]
    absent: tuple[Absent, ...]


@dataclass(frozen=True)
class Report:
    """A whole run of the benchmark."""

    date: str
    rounds: int
    seconds_per_repeat: float
    machine: dict[str, str | int]
    versions: dict[str, str]
    sections: tuple[Section, ...]

    def write(self, path: Path) -> None:
        """Write everything, each repeat included, as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


Progress = Callable[[str, int, int], None]


def run(names: tuple[str, ...], rounds: int, seconds: float, progress: Progress) -> Report:
    """Run the benchmark.

    Parameters
    ----------
    names : tuple of str
        Keys of :data:`~qstep.bench.workloads.WORKLOADS`.
    rounds : int
        Repeats of each backend, 1 or more.
    seconds : float
        About how long one repeat may take.
    progress : callable
        ``progress(what, done, total)``, called as work goes on.

    Raises
    ------
    WrongTableError
        A backend's table is not what it must be.
    """
    sections = tuple(_section(WORKLOADS[name](), rounds, seconds, progress) for name in names)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Report(date, rounds, seconds, machine(), versions(), sections)


def _section(workload: Workload, rounds: int, seconds: float, progress: Progress) -> Section:
    with ExitStack() as stack:
        progress(f"{workload.name}: opening the simulated device", 0, 1)
        found = [
            *backends.software(workload),
            backends.torch(workload),
            backends.model(workload),
            open_simulated(workload, stack),
        ]
        present = [entry for entry in found if isinstance(entry, Backend)]
        total, done = len(present) * (rounds + 1), 0

        def tick(name: str) -> None:
            nonlocal done
            done += 1
            progress(f"{workload.name}: {name}", done, total)

        results = measure(present, rounds, seconds, workload.limit, tick)
    base = next(result for result in results if result.backend.name == BASE)
    return Section(
        workload.name,
        workload.task,
        workload.config.to_dict(),
        workload.hyper.to_dict(),
        tuple(_figures(workload, result, base) for result in results),
        tuple(entry for entry in found if isinstance(entry, Absent)),
    )


def open_simulated(workload: Workload, stack: ExitStack) -> Backend | Absent:
    """Open the simulated device as a backend that `stack` closes, or say why it is absent."""
    try:
        opened, clocks = _simulation(workload.config)
    except QStepError as cause:
        return Absent("simulated device", "RTL in Verilator, in process", str(cause))
    stack.enter_context(opened)
    return backends.device(workload, opened, clocks)


def _simulation(config: Config) -> tuple[Device, Callable[[], int]]:
    """Open what ``sim:`` names, with a way to read its clocks, which a board would not have."""
    from qstep_sim.port import SimPort

    port = SimPort(config)
    return LinkDevice(port, config), lambda: port.clocks


def _figures(workload: Workload, result: Measured, base: Measured) -> Figures:
    kernel, end_to_end = rates(result)
    kernel_ratio, end_to_end_ratio = ratios(result, base)
    return Figures(
        result.backend.name,
        result.backend.what,
        result.updates,
        kernel,
        end_to_end,
        kernel_ratio,
        end_to_end_ratio,
        result.checked,
        _simulated(workload, result),
        result.repeats,
    )


def _simulated(workload: Workload, result: Measured) -> Simulated | None:
    counts = result.counts
    if counts is None:
        return None
    link, layout = workload.config.link, RecordLayout.coded(workload.config)
    stream = workload.record(result.updates)
    continuing = float(np.mean(stream.state[1:] == stream.next_state[:-1]))
    size = layout.full_bytes + continuing * (layout.continuing_bytes - layout.full_bytes)
    lane_clocks = counts.offered_clocks / counts.accepted
    device_clocks = counts.clocks / counts.accepted
    return Simulated(
        counts,
        lane_clocks,
        device_clocks,
        link.clock_hz,
        link.clock_hz / lane_clocks / 1e6,
        link.clock_hz / device_clocks / 1e6,
        link.baud,
        link.baud / 10 / size / 1e6,  # a byte takes ten bits on the line
    )
