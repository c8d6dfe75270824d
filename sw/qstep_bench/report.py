"""The benchmark's result as plain values: the timings of every turn, and the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from qstep_bench.boards import Hardware, hardware
from qstep_bench.efficiency import Efficiency, efficiencies
from qstep_bench.machine import machine, today, versions
from qstep_bench.measure import Benchmark, Comparison, compare
from qstep_bench.systems import TABLES
from qstep_bench.tables import C_LOOP
from qstep_bench.yardstick import compiler_version

if TYPE_CHECKING:
    from qstep_fpga.report import BuildReport

__all__ = ["BenchReport", "run"]


@dataclass(frozen=True)
class BenchReport:
    """A complete run of the benchmark.

    Attributes
    ----------
    date : str
    rounds : int
    seconds_per_turn : float
    machine, versions : dict
    systems : tuple of Comparison
    hardware : dict
        Hardware estimates by system, for systems that fill a table; empty if not requested.
    efficiency : tuple of Efficiency
        Boards with agents compared with cores, if system ``farm`` was timed and hardware was requested.
    """

    date: str
    rounds: int
    seconds_per_turn: float
    machine: dict[str, str | int]
    versions: dict[str, str]
    systems: tuple[Comparison, ...]
    hardware: dict[str, Hardware]
    efficiency: tuple[Efficiency, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, including each turn, as plain values."""
        return asdict(self)


def run(
    systems: Sequence[Benchmark],
    rounds: int,
    seconds: float,
    progress: Callable[[str, int, int], None],
    builds: Sequence[BuildReport] | None = None,
) -> BenchReport:
    """Run the benchmark.

    Parameters
    ----------
    systems : sequence of Benchmark
        Systems to time; the implementations of each system are compared with each other.
    rounds : int
        Turns of each implementation, 1 or more.
    seconds : float
        Approximate time per turn.
    progress : callable
        ``progress(what, done, total)``, called as work progresses.
    builds : sequence of qstep_fpga.report.BuildReport, optional
        Build reports of the boards to compare, used for systems that fill a table; None omits boards and
        serial lines.

    Raises
    ------
    WrongTableError
        An implementation gave a wrong result.
    """
    compared = tuple(compare(system, rounds, seconds, progress) for system in systems)
    tables = [timed.system for timed in compared if timed.system in TABLES]
    known = versions()
    if any(form.name == C_LOOP for timed in compared for form in timed.forms):
        known["compiler"] = compiler_version()
    here = machine()
    found = {} if builds is None else {name: hardware(name, builds) for name in tables}
    efficiency = [
        entry
        for timed in compared
        if timed.system == "farm" and builds is not None
        for entry in efficiencies(timed, int(here["cores"]), builds)
    ]
    return BenchReport(today(), rounds, seconds, here, known, compared, found, tuple(efficiency))
