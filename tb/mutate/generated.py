"""Runs the link's generated blocks, as netlists with mutants, in their own pytest benches.

A bench runs in Amaranth's simulator as usual, but on an empty design. At each change of an input and
each clock edge, the Verilated netlist with its mutants computes the outputs.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from amaranth import Module, Signal
from amaranth.back import verilog
from amaranth.hdl import ClockDomain
from amaranth.lib.wiring import Component
from amaranth.sim import Simulator
from tb.bench import BUILD, RTL, Run
from tb.formal import blocks as generated_blocks
from tb.mutate.forks import PASSED, fork_for_each
from tb.netlist_bridge import bridge, harness, load, ports
from tb.unit import streams
from tb.verilated import shared_library

from qstep._io.files import make_folder, write_atomically
from qstep_rtl.invariants import GENERATED

__all__ = ["Generated"]


def _widths(block: Component) -> dict[str, tuple[int, bool]]:
    return {name: (len(value), is_input) for name, (value, is_input) in ports(block).items()}


@dataclass(frozen=True)
class Generated:
    """A generated block and its bench.

    Parameters
    ----------
    component : type of Component
    arguments : tuple
        Arguments with which the bench creates the block.
    module : str
        Module of the bench, such as ``tb.unit.test_link_cobs``.
    chosen : str
        Selection of its tests, as for ``pytest -k``; empty for all.
    release : str
        Selection of its release tests, which run on mutants that survive the other tests; empty for
        none.
    marker : str
        Marker expression of the tests to run, as for ``pytest -m``.
    """

    component: type[Component]
    arguments: tuple[Any, ...]
    module: str
    chosen: str = ""
    release: str = ""
    marker: str = "not release"

    @property
    def in_release(self) -> Generated:
        """The same bench with only its release tests."""
        return replace(self, chosen=self.release, release="", marker="release")

    @property
    def source(self) -> str:
        """File name of the block."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", self.component.__name__).lower() + ".v"

    @cached_property
    def block(self) -> Component:
        """The block, created with `arguments`."""
        return self.component(*self.arguments)

    @cached_property
    def run(self) -> Run:
        """The block as the top-level module of a netlist."""
        path = BUILD / "generated" / self.source
        text = verilog.convert(
            self.block,
            name=path.stem,
            ports=generated_blocks.ports(self.block),
            platform=GENERATED,
            emit_src=False,
        )
        make_folder(path.parent)
        write_atomically(path, text.encode())
        return Run(path.stem, self.module, sources=(path,))

    def judge(self, netlist: Path, mutants: Sequence[int], verdicts: Path, jobs: int) -> None:
        """Run the bench on each mutant in a separate process, as in :func:`fork_for_each`.

        Raises
        ------
        AssertionError
            The bench fails on the unmutated netlist.
        """
        plugin = _Plugin(
            self, self._library(netlist), lambda: fork_for_each(mutants, verdicts, jobs)
        )
        left_out = ("terminal", "cacheprovider", "xdist", "unraisableexception")
        options = [*(f"-pno:{name}" for name in left_out), "-o", "addopts=", "-s", "-x"]
        options += ["-W", "ignore::amaranth.hdl.UnusedElaboratable"]  # a netlist replaces it
        chosen = ["-k", self.chosen, "-m", self.marker, "--pyargs", self.module]
        code = pytest.main([*options, "--import-mode=importlib", *chosen], plugins=[plugin])
        if plugin.is_child:
            if code == pytest.ExitCode.OK and not plugin.is_used:
                os.write(1, b"AssertionError: no test of the bench makes this block")
                code = pytest.ExitCode.TESTS_FAILED
            os._exit(PASSED if code == pytest.ExitCode.OK else 1)
        if plugin.broken:
            raise plugin.broken

    def _library(self, netlist: Path) -> ctypes.CDLL:
        top = self.run.top
        given = {"mutant": (Signal(16), True), "rst": (Signal(), True), **ports(self.block)}
        cpp = netlist.with_name("harness.cpp")
        cpp.write_text(harness(top, given), encoding="utf-8")
        return load(
            shared_library(top, RTL, [], cpp, generated=netlist.read_text(encoding="utf-8"))
        )


class _Plugin:
    """Forks after the tests have been collected, and replaces the block by the netlist in each child."""

    def __init__(self, of: Generated, library: ctypes.CDLL, fork: Callable[[], int | None]) -> None:
        self._component, self._ports = of.component, _widths(of.block)
        self._library, self._fork = library, fork
        self.is_child = self.is_used = False
        self.broken: AssertionError | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        number = None
        try:
            number = self._fork()
        except AssertionError as error:
            self.broken = error
        if number is None:
            session.items.clear()
            return
        self.is_child = True

        def simulator(block: Component, reset: Signal) -> Simulator:
            if type(block) is self._component and _widths(block) == self._ports:
                self.is_used = True
                return _simulator(block, reset, self._library, number)
            return make(block, reset)

        make, streams.make_simulator = streams.make_simulator, simulator

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            print(crash.message if crash else report.longreprtext, flush=True)


def _simulator(block: Component, reset: Signal, library: ctypes.CDLL, number: int) -> Simulator:
    """Return a simulator in which a netlist drives the outputs of a block."""
    module = Module()
    module.domains.sync = domain = ClockDomain()
    given = {"rst": (reset, True), **ports(block)}
    simulator = Simulator(module)
    simulator.add_process(bridge(library, domain, given, number.to_bytes(4, "little")))
    return simulator
