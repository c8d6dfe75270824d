"""A synthesised update is exact: all operands of 8 bits, corners and random ones of 8, 16 and 32."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import TB, BenchError, Run, run
from tb.fpga.netlists import cells, hand_written, on_netlist
from tb.unit.unit_runs import EXHAUSTIVE

from qstep_fpga.families import FAMILIES

pytestmark = pytest.mark.synth

OFTEN = {"ecp5": (8, 1), "gowin": (16, 2), "ice40": (32, 3)}
"""One width and loop depth of each family for every test run; a release has them all."""


def update(width: int, loop_depth: int) -> Run:
    return Run("qs_update", "tb.unit.rtl_update", {"Width": width, "LoopDepth": loop_depth})


@pytest.mark.parametrize(
    ("family", "width", "loop_depth"),
    [
        pytest.param(family, *shape, marks=[] if OFTEN[family] == shape else pytest.mark.release)
        for family in FAMILIES
        for shape in OFTEN.values()
    ],
)
def test_synthesised_update_is_exact_at_corners_and_at_random(
    family: str, width: int, loop_depth: int
) -> None:
    run(on_netlist(update(width, loop_depth), family))


@pytest.mark.release
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("family", FAMILIES)
def test_synthesised_update_is_exact_for_all_operands_of_eight_bits(family: str) -> None:
    netlist = on_netlist(update(8, 1), family)
    shape = {"Width": 8, "IndexBits": 1, "LoopDepth": 1}
    bench = TB / "unit/qs_update_exhaustive.sv"
    sources = (netlist.sources[0], hand_written(family, "qs_update", shape), *cells(family), bench)
    run(
        replace(
            EXHAUSTIVE, sources=sources, build_args=(*EXHAUSTIVE.build_args, *netlist.build_args)
        )
    )


def test_a_synthesised_update_with_one_wrong_look_up_table_is_found(tmp_path: Path) -> None:
    right = on_netlist(update(8, 1), "ecp5")
    text = right.sources[1].read_text(encoding="utf-8")
    wrong = tmp_path / "qs_update.v"
    table = re.compile(r"(LUT4 #\(\s*\.INIT\(16'h)([0-9a-f]{4})(?=\)\s*\) max_product_q)")
    inverted = table.sub(lambda found: f"{found[1]}{int(found[2], 16) ^ 0xFFFF:04x}", text, count=1)
    assert inverted != text
    wrong.write_text(inverted, encoding="utf-8")
    with pytest.raises(BenchError, match="tests failed"):
        run(replace(right, sources=(right.sources[0], wrong, *right.sources[2:])))
