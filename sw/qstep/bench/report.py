"""The benchmark's result: what was measured, on what, with every repeat, as plain values."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qstep.bench import backends
from qstep.bench.backend import Absent, Backend
from qstep.bench.boards import Board, board
from qstep.bench.limits import BAUDS, LinkLimits, link_limits
from qstep.bench.machine import machine, today, versions
from qstep.bench.measure import Measured, Repeat, Spread, measure, rates, ratios
from qstep.bench.pairs import Comparison, System, compare
from qstep.bench.simulated import Simulated, open_simulated
from qstep.bench.workloads import WORKLOADS, Workload
from qstep.bench.yardstick import compiler_version
from qstep.files import make_folder, write_atomically

if TYPE_CHECKING:
    from qstep_fpga.report import Report as BuildReport

__all__ = ["Figures", "Hardware", "Report", "Section", "run"]

BASE = "dictionary"
"""The backend that ratios are taken to."""


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
class Hardware:
    """What hardware would do with a workload, none of it measured on hardware.

    Attributes
    ----------
    link : LinkLimits
    boards : tuple of Board
    absent : tuple of Absent
        The boards whose table is too small.
    """

    link: LinkLimits
    boards: tuple[Board, ...]
    absent: tuple[Absent, ...]


@dataclass(frozen=True)
class Section:
    """One workload: who did it how fast, what boards and the link would allow, and who is absent.

    Attributes
    ----------
    workload, task : str
    config, hyperparameters : dict
    figures : tuple of Figures
        Of the backends that are present.
    absent : tuple of Absent
        The backends that this machine lacks.
    numba_to_c : Spread or None
        Numba's kernel rate over that of the same loop in C, paired round by round; None without a
        compiler.
    hardware : Hardware or None
        None where it was not asked for.
    """

    workload: str
    task: str
    config: dict[str, Any]
    hyperparameters: dict[str, Any]
    figures: tuple[Figures, ...]
    absent: tuple[Absent, ...]
    numba_to_c: Spread | None
    hardware: Hardware | None


@dataclass(frozen=True)
class Report:
    """A whole run of the benchmark: workloads of the grid world, and forms of other systems."""

    date: str
    rounds: int
    seconds_per_repeat: float
    machine: dict[str, str | int]
    versions: dict[str, str]
    sections: tuple[Section, ...]
    systems: tuple[Comparison, ...]

    def write(self, path: Path) -> None:
        """Write everything, each repeat included, as JSON.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        make_folder(path.parent)
        write_atomically(path, (json.dumps(asdict(self), indent=2) + "\n").encode())


Progress = Callable[[str, int, int], None]


def run(
    names: tuple[str, ...],
    rounds: int,
    seconds: float,
    progress: Progress,
    builds: Sequence[BuildReport] | None = None,
    systems: Sequence[System] = (),
    torch_device: str = "cpu",
) -> Report:
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
    builds : sequence of qstep_fpga.report.Report, optional
        Boards to compare with, and with them what the link allows; None leaves both out.
    systems : sequence of System, optional
        Systems whose forms are compared with each other.
    torch_device : str
        Where PyTorch works in the grid world: ``cpu``, ``cuda``, ``mps`` or ``auto``.

    Raises
    ------
    TorchDeviceError
        There is no such device here.
    WrongTableError
        A backend's table is not what it must be, or a form did its work wrong.
    """
    sections = tuple(
        _section(WORKLOADS[name](), rounds, seconds, progress, builds, torch_device)
        for name in names
    )
    comparisons = tuple(_comparison(system, rounds, seconds, progress) for system in systems)
    known = versions()
    if any(section.numba_to_c for section in sections):
        known["compiler"] = compiler_version()
    return Report(today(), rounds, seconds, machine(), known, sections, comparisons)


def _comparison(system: System, rounds: int, seconds: float, progress: Progress) -> Comparison:
    total, done = len(system.forms) * (rounds + 2), 0

    def tick(name: str) -> None:
        nonlocal done
        done += 1
        progress(f"{system.name}: {name}", done, total)

    progress(f"{system.name}: first runs", 0, total)
    return compare(system, rounds, seconds, tick)


def _section(
    workload: Workload,
    rounds: int,
    seconds: float,
    progress: Progress,
    builds: Sequence[BuildReport] | None,
    torch_device: str,
) -> Section:
    with ExitStack() as stack:
        progress(f"{workload.name}: opening the simulated device", 0, 1)
        found = [
            *backends.original(workload),
            *backends.software(workload),
            backends.c_loop(workload),  # beside Numba, so that what disturbs one disturbs both
            backends.torch(workload, torch_device),
            backends.model(workload),
            open_simulated(workload, stack),
        ]
        present = [entry for entry in found if isinstance(entry, Backend)]
        lines = 0 if builds is None else len(BAUDS)
        total, done = len(present) * (rounds + 1) + lines, 0

        def tick(name: str) -> None:
            nonlocal done
            done += 1
            progress(f"{workload.name}: {name}", done, total)

        results = measure(present, rounds, seconds, workload.limit, tick)
    named = {result.backend.name: result for result in results}
    compiled = named.get(backends.C_LOOP)
    figures = tuple(_figures(result, named[BASE]) for result in results)
    return Section(
        workload.name,
        workload.task,
        workload.config.to_dict(),
        workload.hyper.to_dict(),
        figures,
        tuple(entry for entry in found if isinstance(entry, Absent)),
        ratios(named["numba"], compiled)[0] if compiled else None,
        None if builds is None else _hardware(workload, figures, builds, seconds, tick),
    )


def _hardware(
    workload: Workload,
    figures: Sequence[Figures],
    builds: Sequence[BuildReport],
    seconds: float,
    tick: Callable[[str], None],
) -> Hardware:
    # A simulation's speed is no rival.
    rivals = {entry.name: entry.end_to_end.median for entry in figures if not entry.simulated}
    known = [board(workload, build) for build in builds]
    return Hardware(
        link_limits(workload, rivals, seconds, tick),
        tuple(entry for entry in known if isinstance(entry, Board)),
        tuple(entry for entry in known if isinstance(entry, Absent)),
    )


def _figures(result: Measured, base: Measured) -> Figures:
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
        None if result.counts is None else Simulated.of(result.counts),
        result.repeats,
    )
