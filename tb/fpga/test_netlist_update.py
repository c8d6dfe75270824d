"""A synthesised update is exact: all operands of 8 bits, corners, and 100 million at 16 and 32 bits."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from tb.bench import RTL, Run, run
from tb.fpga.bit_slices import Simulator, bit_slices
from tb.fpga.netlists import cells, hand_written, on_netlist
from tb.fpga.update_check import CLOCKS, LANES, check, every_operand, stretches
from tb.verify.figures import Count
from tb.verilated import shared_library

from qstep.fixed import Rounding
from qstep.hyperparameters import Hyperparameters
from qstep_fpga.families import FAMILIES

pytestmark = [pytest.mark.synth, pytest.mark.slow]

SHAPES = {8: 1, 16: 2, 32: 3}
"""The loop depth of each width."""

OFTEN = {"ecp5": 8, "gowin": 16, "ice40": 32}
"""One width of each family for every test run; a release has them all."""

STRETCH = CLOCKS * LANES
RELEASE = -(-100_000_000 // STRETCH)
"""Stretches of at least 100 million operands."""

TABLE = re.compile(r"(LUT4 #\(\s*\.(?:LUT_)?INIT\(16'h)([0-9a-f]{4})(?=\)\s*\) max_product_q)")
"""A look-up table behind a product."""

EVERY = [
    Hyperparameters(0.5, 0.9, Rounding.NEAREST),
    Hyperparameters(1.0, 1.0, Rounding.FLOOR),
    Hyperparameters(0.1, 1.0, Rounding.NEAREST),
    Hyperparameters(0.93, 0.37, Rounding.FLOOR),
]
"""For all operands of 8 bits."""


def netlist(family: str, width: int) -> Path:
    return hand_written(family, "qs_update", {"Width": width, "LoopDepth": SHAPES[width]})


def simulated(family: str, width: int) -> Simulator:
    return bit_slices("qs_update", [*cells(family), netlist(family, width)])


def with_a_wrong_table(family: str, width: int, folder: Path) -> Path:
    """Return a netlist in which one look-up table is inverted."""
    text = netlist(family, width).read_text(encoding="utf-8")
    wrong, count = TABLE.subn(lambda found: f"{found[1]}{int(found[2], 16) ^ 0xFFFF:04x}", text, 1)
    assert count == 1
    path = folder / "qs_update.v"
    path.write_text(wrong, encoding="utf-8")
    return path


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("family", "width", "count"),
    [
        *((family, width, 2) for family, width in OFTEN.items()),
        *(
            pytest.param(family, width, RELEASE, marks=pytest.mark.release)
            for family in FAMILIES
            for width in (16, 32)
        ),
    ],
)
def test_synthesised_update_is_exact_for_random_operands(
    family: str, width: int, count: int, record_property: Count
) -> None:
    simulator, loop_depth = simulated(family, width), SHAPES[width]
    for hyper, given in islice(stretches(1, width, loop_depth), count):
        check(simulator, width, loop_depth, hyper, given)
    record_property("operands", count * STRETCH)


@pytest.mark.release
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", FAMILIES)
def test_synthesised_update_is_exact_for_all_operands_of_eight_bits(family: str) -> None:
    simulator = simulated(family, 8)
    for hyper in EVERY:
        for part in range((1 << 24) // STRETCH):
            check(simulator, 8, SHAPES[8], hyper, every_operand(part))


@pytest.mark.release
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("width", SHAPES)
def test_synthesised_update_is_exact_with_bubbles(family: str, width: int) -> None:
    shape = {"Width": width, "LoopDepth": SHAPES[width]}
    run(on_netlist(Run("qs_update", "tb.unit.rtl_update", shape), family))


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, marks=[] if family == "ecp5" else pytest.mark.release)
        for family in FAMILIES
    ],
)
def test_bit_slices_are_what_verilator_simulates_also_with_a_wrong_look_up_table(
    family: str, tmp_path: Path
) -> None:
    files = [*cells(family), with_a_wrong_table(family, 8, tmp_path)]
    simulator = bit_slices("qs_update", files)
    hyper, given = next(stretches(1, 8, SHAPES[8]))
    with pytest.raises(AssertionError, match=r"is -?\w+, not -?\w+, with Hyper.* are wrong"):
        check(simulator, 8, SHAPES[8], hyper, given)
    harness = Path(__file__).with_name("update_verilated.cpp")
    library = ctypes.CDLL(str(shared_library("qs_update", RTL, files, harness)))
    rng = np.random.default_rng(2)
    inputs = {
        name: rng.integers(0, 1 << bits, (200, simulator.lanes), np.uint32)
        for name, bits in simulator.inputs.items()
    }
    sliced, verilated = (
        each.run(200, inputs) for each in (simulator, replace(simulator, library=library))
    )
    for name in simulator.outputs:
        assert np.array_equal(sliced[name], verilated[name]), name
        assert len(np.unique(sliced[name])) > 1
