"""Points of generated Verilog are those of its Python, and a bench that does less leaves some."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import verilog
from tb.bench import BenchError
from tb.coverage.bench import Counts, counting_devices, counting_netlists
from tb.coverage.constants import constants
from tb.coverage.instrument import measured
from tb.coverage.points import Point, counted, declared, netlists
from tb.coverage.runs import PytestRun, count
from tb.unit.device_pair import Pair
from tb.unit.streams import pulse_bytes, simulate

from qstep.config import Config, Link
from qstep.protocol import Request
from qstep_rtl.cobs import CobsDecoder
from qstep_rtl.handle_settings import SettingsHandler
from qstep_sim.port import SimPort

COBS = "rtl/qstep_rtl/cobs.py"
LAST = "m.d.sync += [self.valid.eq(1), left.eq(left - 1), at_code.eq(left == 1)]"


def decoded(data: bytes, path: Path) -> Counter[Point]:
    """Return the points of the decoder after some bytes."""
    counts, decoder = Counts(), CobsDecoder()

    async def bench(ctx: Any) -> None:
        rng = random.Random(1)
        await pulse_bytes(ctx, decoder.in_valid, decoder.in_data, data, rng, 0.0)
        await ctx.tick().repeat(3)

    with measured(), counting_netlists(counts):
        simulate(decoder, bench)
    counts.write(path)
    return counted(path)


def missed(hits: Counter[Point], kind: str) -> set[str]:
    return {point.what for point, number in hits.items() if not number and point.kind == kind}


@pytest.mark.rtl
def test_points_of_a_block_are_its_decisions_conditions_and_signals(tmp_path: Path) -> None:
    decoded(b"\0", tmp_path / "counts.dat")
    (netlist,) = netlists([tmp_path / "counts.dat"])
    points = set(declared(netlist).values())
    assert {point.file for point in points} == {COBS}
    assert sorted(point.what for point in points if point.kind == "branch") == [
        "none of these: with m.If(self.in_valid):",
        "taken: with m.Elif(at_code):",
        "taken: with m.Else():",
        "taken: with m.If(self.in_data == 0):",
        "taken: with m.If(self.in_valid):",
    ]
    assert {point.what for point in points if point.kind == "expr" and point.line == 93} == {
        f"(== left #) = {value}: {LAST}" for value in (0, 1)
    }
    assert {point.what for point in points if point.kind == "toggle"} == {
        *("at_code", "broken", "data", "end", "in_data", "in_valid", "inside", "left"),
        *("pending_zero", "valid"),
    }


@pytest.mark.rtl
def test_a_bench_that_does_less_leaves_points_of_generated_verilog(tmp_path: Path) -> None:
    hits = decoded(b"\3ab\0", tmp_path / "less.dat")
    assert missed(hits, "branch") == set()
    assert missed(hits, "expr") == {
        "(!= in_data #) = 0: pending_zero.eq(self.in_data != _FULL),",
        "(== in_data #) = 1: at_code.eq(self.in_data == 1),",
    }
    assert {"data[7]:0->1", "left[7]:1->0"} <= missed(hits, "toggle")
    assert missed(decoded(b"\0\0", tmp_path / "least.dat"), "branch") == {
        "taken: with m.Elif(at_code):",
        "taken: with m.Else():",
    }
    assert missed(decoded(b"\1\xff\1\0", tmp_path / "more.dat"), "expr") == {
        f"(== left #) = 1: {LAST}"
    }


@pytest.mark.rtl
def test_a_simulated_device_counts_what_its_blocks_do(tmp_path: Path) -> None:
    counts = Counts()
    config = Config(states=4, actions=3, format="Q4.4", link=Link(buffer_bytes=512))
    with measured(), counting_devices(counts):
        pair = Pair(SimPort(config), config)
        pair.ask(Request.STATUS)
        pair.port.close()
    counts.write(tmp_path / "counts.dat")
    hits = counted(tmp_path / "counts.dat")
    assert {Path(point.file).parent.as_posix() for point in hits} == {"rtl/qstep_rtl"}
    assert hits[next(p for p in hits if p.file == COBS and p.what == "end:0->1")] == 1
    assert not any("taken: with m.Case(Request.STATUS" in what for what in missed(hits, "branch"))


@pytest.mark.unit
def test_a_bit_of_a_block_is_constant_if_nothing_at_its_ports_can_change_it() -> None:
    with measured():
        text = verilog.convert(SettingsHandler(Config(states=4, actions=3)), name="settings")
    netlist = Path(text.split('"')[1])
    is_constant = constants([], 1, [netlist])
    places = {point.what: point for point in declared(netlist).values() if point.kind == "toggle"}

    def proved(signal: str, bit: str = "") -> bool:
        point = places[signal].point(f"{signal}{bit}:0->1")
        assert point is not None
        return is_constant(point)

    assert proved("request__lingers")
    assert proved("request__data_bytes", "[10]")
    assert not proved("request__busy")
    assert not proved("request__status", "[1]")


@pytest.mark.unit
def test_verilog_counts_only_while_it_is_measured() -> None:
    with measured():
        assert "coverage_on" in verilog.convert(CobsDecoder(), name="decoder")
    assert "coverage_on" not in verilog.convert(CobsDecoder(), name="decoder")


@pytest.mark.unit
def test_tests_that_fail_or_are_none_do_not_count() -> None:
    for _ in range(2):
        with pytest.raises(BenchError, match="deselected"):
            count([PytestRun("tb.unit.test_link_cobs", "no_such_test")], 1, lambda _: None)
