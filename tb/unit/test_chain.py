"""The chain of a farm alone passes its cocotb bench; faults planted in a stop are found there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from amaranth.back import verilog
from tb.bench import RTL, BenchError, Run, run
from tb.planted import plant_all

from qstep.acting.config import Acting
from qstep.config import Config
from qstep_rtl.chain_head import ChainHead, index_mask
from qstep_rtl.invariants import GENERATED

CONFIG = Config(25, 4, acting=Acting(agents=48), lanes=3)
TOP = Path(__file__).with_name("qs_chain_bench.sv")
WAIVER = RTL / "qstep_generated.vlt"


def bench(folder: Path, rtl: Path = RTL) -> Run:
    head = folder / "qstep_chain_head.v"
    text = verilog.convert(
        ChainHead(CONFIG), name="qs_chain_head", platform=GENERATED, emit_src=False
    )
    head.write_text(text, encoding="utf-8")
    parameters = {"IndexMask": index_mask(CONFIG)}
    sources = (RTL / "qs_chain_pkg.sv", WAIVER, head, TOP)
    return Run("qs_chain_bench", "tb.unit.rtl_chain", parameters, rtl=rtl, sources=sources)


@pytest.mark.rtl
def test_chain_carries_words_and_runs_to_their_lanes_and_back(tmp_path: Path) -> None:
    assert run(bench(tmp_path)).tests == 3


STRIP = [("(passing_q || (first && down_q.all))", "(passing_q || first)", "")]
"""Every lane's own stop is the one after it."""
EARLY = [
    ("ended_q || working_q,", "ended_q,", "a word for .* is lost"),
    ("busy: up_q.busy || busy_i,", "busy: busy_i,", "busy falls while a lane runs"),
]
CUT_OFF = [("!rst_q && (working_q", "(working_q", "a frame that was cut off is obeyed")]


@pytest.mark.rtl
@pytest.mark.parametrize("faults", [STRIP, EARLY, CUT_OFF], ids=["lane", "early", "cut off"])
def test_bench_of_the_chain_finds_the_fault_planted_in_a_stop(
    faults: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    rtl = plant_all(tmp_path, [("qs_stop.sv", old, new) for old, new, _ in faults])
    with pytest.raises(BenchError, match=r"tests failed") as caught:
        run(bench(tmp_path, rtl))
    found = re.search(r"^log: (.*)$", str(caught.value), re.MULTILINE)
    assert found is not None
    log = Path(found[1]).read_text(encoding="utf-8")
    for *_, message in faults:
        assert re.search(message, log), message


@pytest.mark.unit
@pytest.mark.parametrize(("states", "agents", "bits"), [(2, 2, 16), (25, 32, 20), (16384, 2, 26)])
def test_stops_keep_the_bits_of_an_index_that_say_something(
    states: int, agents: int, bits: int
) -> None:
    mask = index_mask(Config(states, 4, acting=Acting(agents=agents), lanes=2))
    assert mask.bit_count() == bits
