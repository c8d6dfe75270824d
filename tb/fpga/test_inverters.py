"""Removing look-up tables that only invert preserves the results, and needed inverters stay."""

import copy
from itertools import product
from typing import Any

import pytest
from tb.fpga.test_carries import made

from qstep_fpga.families.ecp5.inverters import remove_inverters

Module = dict[str, Any]
A, B, OTHER = 10, 11, 12
BEFORE, KEPT, BEHIND, SEEN, SUM, TOP = 20, 21, 22, 30, 31, 32

INVERTER = "0000000011111111"  # inverts pin D
EXCLUSIVE_OR = "0110011001100110"  # of pins A and B
ADDER = "1001011010101010"


def table(init: str, out: int, **pins: int) -> Module:
    nets = {pin: [pins.get(pin, "0")] for pin in "ABCD"}
    return {
        "type": "LUT4",
        "parameters": {"INIT": init},
        "port_directions": dict.fromkeys("ABCD", "input") | {"Z": "output"},
        "connections": nets | {"Z": [out]},
    }


def flip_flop(given: int, kept: int, reset_to: str = "RESET") -> Module:
    return {
        "type": "TRELLIS_FF",
        "parameters": {"REGSET": reset_to},
        "port_directions": {"DI": "input", "Q": "output"},
        "connections": {"DI": [given], "Q": [kept]},
    }


def adder() -> Module:
    """Return a two-bit adder: the kept bit plus another bit, and the same with swapped operands."""
    pins: dict[str, list[Any]] = {"A0": [KEPT], "B0": [OTHER], "C0": ["0"], "D0": ["1"]}
    pins |= {"A1": [OTHER], "B1": [KEPT], "C1": ["0"], "D1": ["1"], "CIN": ["0"]}
    return {
        "type": "CCU2C",
        "parameters": {"INIT0": ADDER, "INIT1": ADDER, "INJECT1_0": "NO", "INJECT1_1": "NO"},
        "port_directions": dict.fromkeys(pins, "input") | dict.fromkeys(("S0", "S1"), "output"),
        "connections": pins | {"S0": [SUM], "S1": [TOP]},
    }


def netlist(before: Module, *, inverts_behind: bool) -> Module:
    cells = {"before": before, "kept": flip_flop(BEFORE, KEPT), "sum": adder()}
    seen = KEPT
    if inverts_behind:
        cells["behind"] = table(INVERTER, BEHIND, D=KEPT)
        seen = BEHIND
    cells["seen"] = table(EXCLUSIVE_OR, SEEN, A=seen, B=OTHER)
    ports = {"out": {"direction": "output", "bits": [SEEN, SUM, TOP]}}
    return {"ports": ports, "cells": cells}


def outputs(module: Module, values: dict[Any, int]) -> list[int]:
    """Return the outputs one clock after the cells before the flip-flop received these inputs."""
    cells = module["cells"]
    first = {name: cell for name, cell in cells.items() if name == "before"}
    later = {name: cell for name, cell in cells.items() if name not in ("before", "kept")}
    given = made({"cells": first}, values, 0)[cells["kept"]["connections"]["DI"][0]]
    kept = {cells["kept"]["connections"]["Q"][0]: given}
    found = made({"cells": later}, values | kept, 0)
    return [found[net] for net in module["ports"]["out"]["bits"]]


@pytest.mark.parametrize(
    ("before", "inverts_behind", "removed"),
    [
        (table(INVERTER, BEFORE, D=A), False, 1),
        (table(INVERTER, BEFORE, D=A), True, 2),
        (table(EXCLUSIVE_OR, BEFORE, A=A, B=B), True, 1),
        (table(EXCLUSIVE_OR, BEFORE, A=A, B=B), False, 0),
    ],
    ids=["before", "both", "behind", "none"],
)
def test_what_is_left_of_inverters_makes_the_same(
    before: Module, inverts_behind: bool, removed: int
) -> None:
    module = netlist(before, inverts_behind=inverts_behind)
    less = copy.deepcopy(module)
    assert remove_inverters(less) == removed == len(module["cells"]) - len(less["cells"])
    assert less["cells"]["kept"]["parameters"]["REGSET"] == ("SET" if removed else "RESET")
    for bits in product((0, 1), repeat=3):
        values = dict(zip((A, B, OTHER), bits, strict=True))
        assert outputs(less, values) == outputs(module, values)
    if removed:  # an unadapted table is detected
        less["cells"]["sum"]["parameters"]["INIT1"] = ADDER
        assert outputs(less, values) != outputs(module, values)


@pytest.mark.parametrize("why", ["port", "memory", "shared", "toggles"])
def test_an_inverter_that_is_needed_stays(why: str) -> None:
    module = netlist(table(INVERTER, BEFORE, D=A), inverts_behind=False)
    cells = module["cells"]
    if why == "port":
        module["ports"]["out"]["bits"].append(KEPT)
    elif why == "memory":
        cells["memory"] = flip_flop(KEPT, 40)
    elif why == "shared":
        cells["beside"] = flip_flop(BEFORE, 40)
    else:
        cells["before"]["connections"]["D"] = [KEPT]
    before = copy.deepcopy(module)
    assert remove_inverters(module) == 0
    assert module == before


def test_a_multiplexer_of_tables_keeps_its_inverter() -> None:
    """nextpnr packs a PFUMX with the two tables that it selects from."""
    module = netlist(table(EXCLUSIVE_OR, BEFORE, A=A, B=B), inverts_behind=True)
    module["cells"]["seen"] = {
        "type": "PFUMX",
        "parameters": {},
        "port_directions": {"ALUT": "input", "C0": "input", "Z": "output"},
        "connections": {"ALUT": [BEHIND], "C0": [OTHER], "Z": [SEEN]},
    }
    before = copy.deepcopy(module)
    assert remove_inverters(module) == 0
    assert module == before
