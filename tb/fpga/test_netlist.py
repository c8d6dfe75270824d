"""The netlists of the lane and of its table pass the RTL tests with each family's cells."""

from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, Run, run
from tb.fpga.netlists import on_netlist
from tb.uvm.lane_runs import NETLISTS

from qstep_fpga.families import FAMILIES

pytestmark = [pytest.mark.synth, pytest.mark.slow]


@pytest.mark.parametrize("family", FAMILIES)
def test_lane_as_a_netlist_passes_its_own_tests(family: str) -> None:
    for this in NETLISTS[family]:
        run(on_netlist(this, family))


def test_wide_words_keep_both_halves_in_the_registers_of_block_ram(tmp_path: Path) -> None:
    table = Run("qs_table", "tb.unit.rtl_table", {"States": 512, "Actions": 2, "Width": 32})
    netlist = on_netlist(table, "ecp5")
    run(netlist)
    text = netlist.sources[1].read_text(encoding="utf-8")
    assert "TRELLIS_FF" not in text, "a register stayed outside"
    outside = '.REGMODE_A("NOREG")'
    halved = tmp_path / "qs_table.v"
    halved.write_text(text.replace('.REGMODE_A("OUTREG")', outside), encoding="utf-8")
    assert halved.read_text(encoding="utf-8").count(outside) > text.count(outside)
    with pytest.raises(BenchError, match="tests failed"):
        run(replace(netlist, sources=(netlist.sources[0], halved, *netlist.sources[2:])))


def test_lane_as_a_netlist_of_another_loop_depth_is_found() -> None:
    throughput = NETLISTS["gowin"][-1]
    right = on_netlist(throughput, "gowin")
    claim = {**throughput.parameters, "LoopDepth": 3}
    with pytest.raises(BenchError, match="result"):
        run(replace(right, parameters=claim))
