"""Registers around ECP5's multipliers move into them when allowed, and only then."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from qstep_fpga.families.ecp5.multipliers import deepen_multipliers

Module = dict[str, Any]
CLOCK = 2


def flip_flop(d: int, q: int) -> Module:
    inputs = {"CLK": [CLOCK], "DI": [d], "LSR": ["0"]}
    return {
        "type": "TRELLIS_FF",
        "parameters": {"CLKMUX": "CLK", "REGSET": "RESET", "GSR": "DISABLED", "CEMUX": "1 "},
        "port_directions": dict.fromkeys(inputs, "input") | {"Q": "output"},
        "connections": inputs | {"Q": [q]},
    }


def netlist() -> Module:
    """Return a multiplier of a bit by two copies of another, with registered operands and result."""
    inputs = {"A0": [11], "B0": [13], "B1": [13], "CLK0": [CLOCK], "CE0": ["1"], "RST0": ["0"]}
    multiplier = {
        "type": "MULT18X18D",
        "parameters": {"REG_OUTPUT_CLK": "CLK0"},
        "port_directions": dict.fromkeys(inputs, "input") | {"P0": "output", "P1": "output"},
        "connections": inputs | {"P0": [14], "P1": [16]},  # the second output is unused
    }
    cells = {
        "m": multiplier,
        "a": flip_flop(10, 11),
        "b": flip_flop(12, 13),
        "p": flip_flop(14, 15),
    }
    return {"ports": {"out": {"direction": "output", "bits": [15]}}, "cells": cells}


def test_multiplier_takes_the_registers_around_it() -> None:
    module = netlist()
    assert deepen_multipliers(module) == 1
    assert list(module["cells"]) == ["m"]
    cell = module["cells"]["m"]
    nets = cell["connections"]
    assert (nets["A0"], nets["B0"], nets["B1"], nets["P0"]) == ([10], [12], [12], [15])
    registers = {name for name in cell["parameters"] if name.endswith("_CLK")}
    assert registers == {f"REG_{name}_CLK" for name in ("INPUTA", "INPUTB", "PIPELINE", "OUTPUT")}


def test_register_before_two_multipliers_goes_into_both() -> None:
    module = netlist()
    cells = module["cells"]
    for name, d, q in (("c", 20, 21), ("p2", 24, 25)):
        cells[name] = flip_flop(d, q)
    cells["m2"] = deepcopy(cells["m"])
    cells["m2"]["connections"] |= {"A0": [11], "B0": [21], "B1": [21], "P0": [24], "P1": [26]}
    module["ports"]["out"]["bits"].append(25)
    assert deepen_multipliers(module) == 2
    assert sorted(cells) == ["m", "m2"]
    assert cells["m"]["connections"]["A0"] == cells["m2"]["connections"]["A0"] == [10]


def shared_operand() -> Module:
    """Return the same netlist, with the first operand's register also connected to an output."""
    module = netlist()
    module["ports"]["out"]["bits"].append(11)
    return module


def test_register_that_is_used_elsewhere_also_stays() -> None:
    module = shared_operand()
    assert deepen_multipliers(module) == 1
    assert sorted(module["cells"]) == ["a", "m"]
    assert module["cells"]["a"] == flip_flop(10, 11)
    assert module["cells"]["m"]["connections"]["A0"] == [10]


def _unregistered(module: Module) -> None:
    del module["cells"]["m"]["parameters"]["REG_OUTPUT_CLK"]


def _result_elsewhere(module: Module) -> None:
    module["ports"]["out"]["bits"].append(14)


def _reset(module: Module) -> None:
    module["cells"]["a"]["connections"]["LSR"] = [3]


def _enabled(module: Module) -> None:
    module["cells"]["p"]["parameters"]["CEMUX"] = "CE"
    module["cells"]["p"]["connections"]["CE"] = [4]
    module["cells"]["p"]["port_directions"]["CE"] = "input"


@pytest.mark.parametrize("change", [_unregistered, _result_elsewhere, _reset, _enabled])
def test_registers_that_do_more_stay_outside(change: Callable[[Module], None]) -> None:
    module = netlist()
    change(module)
    assert deepen_multipliers(module) == 0
    assert len(module["cells"]) == 4
