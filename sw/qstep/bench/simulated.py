"""The simulated device in the benchmark: opened, as a backend, and what its counters say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from qstep.bench.backend import Absent, Backend, Counts
from qstep.bench.checks import both, equal_to, model_table, solved, transitions
from qstep.bench.workloads import Workload
from qstep.config import Config
from qstep.devices import Device
from qstep.devices.link_device import LinkDevice
from qstep.errors import QStepError
from qstep.transitions import Transitions

__all__ = ["Simulated", "device", "open_simulated"]


@dataclass(frozen=True)
class Simulated:
    """What a simulated device counted over all repeats: simulated, not measured on hardware.

    Attributes
    ----------
    counts : Counts
    lane_clocks, device_clocks : float
        Clocks an update: those in which the lane was offered one, and all that the device took, with
        its link at one byte a clock.
    """

    counts: Counts
    lane_clocks: float
    device_clocks: float

    @classmethod
    def of(cls, counts: Counts) -> Self:
        """Return the clocks an update that counts make."""
        return cls(counts, counts.offered_clocks / counts.accepted, counts.clocks / counts.accepted)


def open_simulated(workload: Workload, stack: ExitStack) -> Backend | Absent:
    """Open the simulated device as a backend that `stack` closes, or say why it is absent."""
    try:
        opened, clocks = _simulation(workload.config)
    except QStepError as cause:
        return Absent("simulated device", "RTL in Verilator, in process", str(cause))
    stack.enter_context(opened)
    return device(workload, opened, clocks)


def _simulation(config: Config) -> tuple[Device, Callable[[], int]]:
    """Open what ``sim:`` names, with a way to read its clocks, which a board would not have."""
    from qstep_sim.port import SimPort

    port = SimPort(config)
    return LinkDevice(port, config), lambda: port.clocks


def device(workload: Workload, opened: Device, clocks: Callable[[], int]) -> Backend:
    """Return a simulated device as a backend; whoever opened it closes it.

    `clocks` says how many clocks have been simulated so far.
    """
    busy = 0

    def prepare(updates: int) -> Transitions:
        checked = transitions(workload, updates)
        opened.configure(workload.hyper)
        opened.clear()
        return checked

    def apply(checked: Transitions) -> None:
        nonlocal busy
        before = clocks()
        opened.apply(checked)
        busy += clocks() - before

    def counts() -> Counts:
        lane = opened.counters()
        assert lane is not None, "a simulated device has counters"
        return Counts(busy, lane.offered_clocks, lane.accepted, lane.held, lane.forwarded)

    equal = equal_to(lambda updates: model_table(workload, updates), "equal to model")
    verify = equal if workload.world is None else both(solved(workload), equal)
    return Backend(
        "simulated device",
        "RTL in Verilator, in process",
        prepare=prepare,
        kernel=apply,
        read=lambda _: workload.config.format.to_float(opened.read()),
        verify=verify,
        counts=counts,
    )
