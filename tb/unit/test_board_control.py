"""The reset and the LED of a board pass their cocotb bench."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from amaranth.back import verilog
from tb.bench import RTL, BenchError, Run, run
from tb.planted import Fault, faults, plant_python
from tb.unit.rtl_board import HERTZ

from qstep_rtl import board_control
from qstep_rtl.invariants import GENERATED

pytestmark = [pytest.mark.rtl, pytest.mark.slow]


def board_run(module: ModuleType, folder: Path) -> Run:
    """Generate the module and return the simulation that runs its tests."""
    name = "qs_board_control"
    file = folder / "qstep_board_control.v"
    text = verilog.convert(
        module.BoardControl(HERTZ), name=name, platform=GENERATED, emit_src=False
    )
    file.write_text(text, encoding="utf-8")
    return Run(name, "tb.unit.rtl_board", sources=(RTL / "qstep_generated.vlt", file))


@pytest.mark.bench("tb.unit.rtl_board", "qs_board_control")
def test_a_board_resets_its_device_and_blinks(only: str, tmp_path: Path) -> None:
    assert run(replace(board_run(board_control, tmp_path), test=only)).tests == (1 if only else 4)


@pytest.mark.parametrize("fault", faults("test_board_control"), ids=lambda fault: fault.name)
def test_bench_of_the_board_finds_the_planted_fault(fault: Fault, tmp_path: Path) -> None:
    faulty = plant_python(board_control, fault.old, fault.new)
    with pytest.raises(BenchError, match=str(fault.seen)):
        run(board_run(faulty, tmp_path))
