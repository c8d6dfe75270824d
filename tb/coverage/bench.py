"""Run a file of tests with all generated Verilog replaced by one that counts, and write the counts.

    python -m tb.coverage.bench tb.unit.test_link_cobs COUNTS

In the benches of single blocks, a Verilated netlist stands in the place of each block. Simulated devices
are compiled from Verilog that counts.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import os
import pkgutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from amaranth import Module, Signal
from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Elaboratable
from amaranth.lib.wiring import Component
from amaranth.sim import Simulator
from tb.bench import RTL
from tb.coverage.instrument import NETLISTS, measured
from tb.netlist_bridge import Ports, bridge, harness, load, ports
from tb.toggle_counts import HEADER, header
from tb.unit import streams
from tb.verilated import shared_library

import qstep_rtl
from qstep.config import Config
from qstep.files import make_folder, write_atomically
from qstep_rtl import sources
from qstep_rtl.ring import RingReader
from qstep_sim import build
from qstep_sim.port import SimPort

__all__ = ["Counts", "counting_devices", "counting_netlists"]

_WRITER = """#include "verilated_cov.h"
#define SEEN extern "C" __attribute__((visibility("default")))
SEEN void *coverage_context() { return Verilated::threadContextp(); }
SEEN void clear_coverage() { Verilated::threadContextp()->coveragep()->clear(); }
SEEN void write_coverage(void *context, const char *path) {
  static_cast<VerilatedContext *>(context)->coveragep()->write(path);
}
"""
"""Writes the counts of all models that a context has; that of the one made last, in this thread."""

_Key = tuple[object, ...]


class Counts:
    """What libraries have counted, of generated Verilog alone."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, library: ctypes.CDLL, context: int) -> None:
        """Add what the models of a context have counted."""
        library.write_coverage.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "coverage.dat"
            library.write_coverage(context, bytes(path))
            text = path.read_text(encoding="utf-8", errors="replace")
        self._lines += [line for line in text.splitlines(keepends=True) if str(NETLISTS) in line]

    def write(self, path: Path) -> None:
        """Write everything as a file of Verilator's."""
        make_folder(path.parent)
        write_atomically(path, "".join(self._lines).encode())


def _context(library: ctypes.CDLL) -> int:
    library.coverage_context.restype = ctypes.c_void_p
    return int(library.coverage_context())


class _Netlists:
    """Verilated netlists in the places of the blocks of a simulation."""

    def __init__(self) -> None:
        self.libraries: dict[_Key, ctypes.CDLL] = {}
        self.contexts: dict[int, ctypes.CDLL] = {}

    def simulator(self, block: Component, reset: Signal) -> Simulator:
        """Return a simulator of a bench; :func:`tb.unit.streams.make_simulator` without netlists."""
        module = Module()
        module.domains.sync = domain = ClockDomain()
        module.d.comb += domain.rst.eq(reset)
        module.submodules.block = block
        return self._simulator(module, domain, {"rst": (reset, True)})

    def simulator_of(self, design: Component) -> Simulator:
        """Return a simulator of a crossing between clocks, as :func:`tb.unit.streams.simulator_of`."""
        clocks = {"clk": design.clk, "rst": design.rst, "lanes_clk": design.lanes_clk}
        return self._simulator(design, None, {name: (clocks[name], True) for name in clocks})

    def _simulator(
        self, design: Elaboratable, domain: ClockDomain | None, clocks: Ports
    ) -> Simulator:
        with _replaced() as replaced:
            simulator = Simulator(design)
        for one in replaced:
            if domain is None:
                clocks = {**clocks, "lanes_rst": (one.reset, True)}
            library = self._library(one, {**clocks, **ports(one)})
            simulator.add_process(bridge(library, domain, {**clocks, **ports(one)}))
        return simulator

    def _library(self, block: Component, of: Ports) -> ctypes.CDLL:
        sizes = tuple((name, len(value)) for name, (value, _) in ports(block).items())
        given = [value for value in vars(block).values() if isinstance(value, int | Config | tuple)]
        key = type(block), sizes, repr(given)
        if key not in self.libraries:
            self.libraries[key] = library = self._made(block, of)
            if _context(library) not in self.contexts:
                library.clear_coverage()  # this process may have used it before
            self.contexts[_context(library)] = library
        return self.libraries[key]

    @staticmethod
    def _made(block: Component, of: Ports) -> ctypes.CDLL:
        name = type(block).__name__.lower()
        text = verilog.convert(block, name=name)
        with tempfile.TemporaryDirectory() as folder:
            cpp = Path(folder) / "harness.cpp"
            cpp.write_text(harness(name, of) + _WRITER, encoding="utf-8")
            path = shared_library(name, RTL, [], cpp, generated=text, toggles=True)
        return load(path)


@contextmanager
def _replaced() -> Iterator[list[Component]]:
    """Elaborate blocks of QStep as nothing meanwhile; return these blocks, without those inside."""
    found: list[Component] = []

    def nothing(self: Component, platform: object) -> Module:
        found.append(self)
        return Module()

    with ExitStack() as stack:
        for kind in _blocks() - {RingReader}:  # its memory is outside
            stack.enter_context(patch.object(kind, "elaborate", nothing))
        yield found


def _blocks() -> set[type[Component]]:
    names = [f"qstep_rtl.{module.name}" for module in pkgutil.iter_modules(qstep_rtl.__path__)]
    return {
        kind
        for name in names
        for kind in vars(importlib.import_module(name)).values()
        if isinstance(kind, type) and issubclass(kind, Component) and kind.__module__ == name
    }


@contextmanager
def counting_netlists(counts: Counts) -> Iterator[None]:
    """Put netlists in the places of blocks that are simulated meanwhile, and add their counts."""
    netlists = _Netlists()
    with (
        patch.object(streams, "make_simulator", netlists.simulator),
        patch.object(streams, "simulator_of", netlists.simulator_of),
    ):
        yield
    for context, library in netlists.contexts.items():
        counts.add(library, context)


@contextmanager
def counting_devices(counts: Counts) -> Iterator[None]:
    """Let the devices that are simulated meanwhile count, and add the counts."""
    translate, compile_, begin = build._verilate, build._library, SimPort.__init__

    def verilate(folder: Path, *arguments: Any) -> None:
        translate(folder, *arguments)
        (folder / HEADER).write_bytes(header())
        (folder / "writer.cpp").write_text(_WRITER, encoding="utf-8")

    def library(digest: str, *arguments: Any, **options: Any) -> Path:
        options |= {"coverage": True, "optimise": False}
        return compile_(digest + _digest(), *arguments, **options)

    def as_generated(config: Config, device: Path) -> list[Path]:
        return [*sources.rtl_files(config), device]

    def made(port: SimPort, *arguments: Any, **options: Any) -> None:
        begin(port, *arguments, **options)
        _, destroy, (device,), _ = port._release.detach()
        context = _context(port._library)

        def end() -> None:
            counts.add(library_of, context)
            destroy(device)

        library_of = port._library
        port._release = weakref.finalize(port, end)

    with ExitStack() as stack:
        for name, instead in (
            ("_verilate", verilate),
            ("_library", library),
            ("as_simulated", as_generated),
            ("_VERILATE", (*build._VERILATE, "--coverage-toggle")),
        ):
            stack.enter_context(patch.object(build, name, instead))
        stack.enter_context(patch.object(SimPort, "__init__", made))
        # What a library counts is in its netlist, so they are kept and removed together.
        stack.enter_context(patch.dict(os.environ, QSTEP_CACHE=str(NETLISTS.parent / "cache")))
        yield


def _digest() -> str:
    """Return a digest of what a library depends on that its own digest does not know."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def main(module: str, counts: str, *options: str) -> int:
    """Run the tests of a module with options of pytest; return its status."""
    found = Counts()
    left_out = ("cacheprovider", "xdist")
    given = [*(f"-pno:{name}" for name in left_out), "-o", "addopts=", "-q", "-x"]
    given += ["-W", "ignore::amaranth.hdl.UnusedElaboratable", "--import-mode=importlib"]
    with measured(), counting_netlists(found), counting_devices(found):
        status = pytest.main([*given, *options, "--pyargs", module])
    if status == pytest.ExitCode.OK:
        found.write(Path(counts))
    return int(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
