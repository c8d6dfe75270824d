"""Shortening ECP5's carry chains preserves their results, and keeps the ends that are needed."""

import copy
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from qstep_fpga.families.ecp5.carries import shorten_carries

Module = dict[str, Any]
A, B, C, CARRY, END = 10, 11, 12, 20, 21
LOW, HIGH = 30, 31


def half_adder_cell(inverted: str, carry: str) -> Module:
    """Return yosys' CCU2C for two bits: A + B, or A - B if `inverted` and `carry` are 1."""
    pins = {"A0": [A], "B0": [B], "C0": [inverted], "D0": ["1"]}
    pins |= {"A1": [C], "B1": ["0"], "C1": [inverted], "D1": ["1"], "CIN": [carry]}
    table = "1001011010101010"
    return {
        "type": "CCU2C",
        "parameters": {"INIT0": table, "INIT1": table, "INJECT1_0": "NO", "INJECT1_1": "NO"},
        "port_directions": dict.fromkeys(pins, "input")
        | dict.fromkeys(("S0", "S1"), "output")
        | {"COUT": "output"},
        "connections": pins | {"S0": [LOW], "S1": [HIGH], "COUT": [END]},
    }


def netlist(inverted: str = "0", carry: str = "0") -> Module:
    ports = {"out": {"direction": "output", "bits": [LOW, HIGH]}}
    return {"ports": ports, "cells": {"c": half_adder_cell(inverted, carry)}}


def made(module: Module, values: dict[Any, int], open_carry: int) -> dict[Any, int]:
    """Return the outputs of the cells by Lattice's model: first LUTs, then sums and carries."""
    known = {"0": 0, "1": 1, "x": open_carry} | values
    for cell in module["cells"].values():
        pins = {pin: known.get(bits[0], 0) for pin, bits in cell["connections"].items()}
        if cell["type"] == "LUT4":
            known[cell["connections"]["Z"][0]] = _looked_up(
                cell["parameters"]["INIT"], [pins[pin] for pin in "ABCD"]
            )
            continue
        carry = pins["CIN"]
        for half in "01":
            inputs = [pins[f"{pin}{half}"] for pin in "ABCD"]
            table = cell["parameters"][f"INIT{half}"]
            passes = _looked_up(table, inputs)
            if cell["connections"][f"S{half}"] != ["x"]:
                known[cell["connections"][f"S{half}"][0]] = passes ^ carry
            carry = carry if passes else _looked_up(table, inputs[:2])
    return known


def _looked_up(table: str, inputs: list[int]) -> int:
    return int(table[-1 - sum(bit << n for n, bit in enumerate(inputs))])


@pytest.mark.parametrize("inverted", "01")
@pytest.mark.parametrize("carry", "01")
def test_a_shortened_chain_makes_the_same_sums_whatever_goes_in(inverted: str, carry: str) -> None:
    before, after = netlist(inverted, carry), netlist(inverted, carry)
    assert shorten_carries(after) == 2
    nets = after["cells"]["c"]["connections"]
    assert (nets["CIN"], nets["COUT"], nets["S0"]) == (["x"], ["x"], ["x"])
    for bits in product((0, 1), repeat=3):
        values = dict(zip((A, B, C), bits, strict=True))
        expected = made(before, values, 0)
        for open_carry in (0, 1):
            found = made(after, values, open_carry)
            assert [found[net] for net in (LOW, HIGH)] == [expected[net] for net in (LOW, HIGH)]


def test_other_cells_stay_as_they_are() -> None:
    module = netlist()
    register = {"type": "TRELLIS_FF", "port_directions": {"Q": "output"}, "connections": {"Q": [A]}}
    module["cells"]["register"] = register
    before = copy.deepcopy(register)
    assert shorten_carries(module) == 2
    assert module["cells"]["register"] == before


def test_a_comparison_needs_no_table_for_its_lowest_sum() -> None:
    module = netlist("1", "1")
    module["ports"]["out"]["bits"] = [HIGH]
    assert shorten_carries(module) == 2
    assert list(module["cells"]) == ["c"]


def _carry_used(module: Module) -> None:
    module["ports"]["out"]["bits"].append(END)


def _carry_goes_in(module: Module) -> None:
    module["cells"]["c"]["connections"]["CIN"] = [CARRY]


def _third_operand(module: Module) -> None:
    module["cells"]["c"]["connections"]["C0"] = [C]


def _injected(module: Module) -> None:
    module["cells"]["c"]["parameters"]["INJECT1_0"] = "YES"


@pytest.mark.parametrize("change", [_carry_used, _carry_goes_in, _third_operand, _injected])
def test_an_end_that_does_more_stays(change: Callable[[Module], None]) -> None:
    module = netlist()
    change(module)
    assert shorten_carries(module) == 1
    nets = module["cells"]["c"]["connections"]
    assert (nets["COUT"] == ["x"]) == (change is not _carry_used)
    assert (nets["CIN"] == ["x"]) == (change is _carry_used)
