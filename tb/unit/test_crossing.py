"""Signals pass between clock domains only in the crossing, which the proof ``crossing`` verifies."""

from pathlib import Path
from types import ModuleType

import pytest
from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Module
from amaranth.lib.wiring import Component, In, Out, connect, flipped
from tb.generated import generated
from tb.planted import plant_python
from tb.unit.clock_domains import Netlist

from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep_rtl import crossing
from qstep_rtl.handle_agents import AgentsSignature
from qstep_rtl.invariants import GENERATED

LANES = 2


class _Top(Component):
    """The `Crossing` of a module, between its two clock domains."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        agents = AgentsSignature(LANES)
        clocks = {name: In(1) for name in ("clk", "rst", "lanes_clk")}
        super().__init__({**clocks, "host": In(agents), "agents": Out(agents)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains += [sync := ClockDomain("sync"), lanes := ClockDomain("lanes")]
        m.submodules.crossing = inner = self._module.Crossing(LANES)
        sync.clk, lanes.clk = self.clk, self.lanes_clk
        sync.rst, lanes.rst = self.rst, inner.reset
        connect(m, flipped(self.host), inner.host)
        connect(m, inner.agents, flipped(self.agents))
        return m


def check_domains(text: str, top: str, folder: Path) -> None:
    """Check that no signal passes between the clock domains except through the crossing."""
    netlist = Netlist(text, top, folder)
    bits, held = set(), set()
    for passage in netlist.passages():
        names = {name.rpartition("crossing.")[2] for name in passage.source if "crossing." in name}
        if names & set(crossing.Crossing.held):
            held |= names & set(crossing.Crossing.held)
            continue
        assert names & set(crossing.Crossing.bits), f"{sorted(passage.source)} pass elsewhere"
        bits |= names & set(crossing.Crossing.bits)
        assert passage.is_direct, f"there is logic between {names} and its chain"
        sink = passage.sink
        for _ in range(crossing.STAGES - 1):
            sink = netlist.follower(sink)
    assert bits == set(crossing.Crossing.bits)
    assert held == set(crossing.Crossing.held)


@pytest.mark.synth
@pytest.mark.slow
def test_between_the_clocks_of_a_device_nothing_passes_but_by_the_crossing(tmp_path: Path) -> None:
    acting = Acting(agents=2, clock_hz=96_000_000)
    config = Config(4, 2, acting=acting, link=Link(buffer_bytes=512), lanes=2)
    check_domains(generated(config)["qstep_top"], "qstep_top", tmp_path)


PASSES = {
    "elsewhere": ("running & ~agents.busy", "running & ~agents.busy & ~waits", "pass elsewhere"),
    "no chain": ("asked_there != taken", "asked != taken", "logic between"),
    "logic": ("bit, there,", "bit & ~agents.busy, there,", "logic between"),
    "one register": ("stages=STAGES", "stages=1 + 1", "leads to"),
}


@pytest.mark.synth
@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSES)
def test_what_passes_elsewhere_is_found(fault: str, tmp_path: Path) -> None:
    old, new, message = PASSES[fault]
    top = _Top(plant_python(crossing, old, new))
    text = verilog.convert(top, name="top", platform=GENERATED, emit_src=False)
    with pytest.raises(AssertionError, match=message):
        check_domains(text, "top", tmp_path)
