"""Flip-flops move into ECP5's multipliers and block RAMs when allowed, and only then."""

from collections.abc import Callable
from typing import Any

import pytest

from qstep_fpga.families.ecp5.registers import absorb_registers

CLOCK, ENABLE, RESULTS, QS = 2, 3, (10, 11), (20, 21)
Module = dict[str, Any]


def cell(kind: str, parameters: dict[str, str], inputs: Module, outputs: Module) -> Module:
    directions = dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output")
    connections = {port: [bit] for port, bit in (inputs | outputs).items()}
    return {
        "type": kind,
        "parameters": parameters,
        "port_directions": directions,
        "connections": connections,
    }


def flip_flop(d: int, q: int, enable: int | None) -> Module:
    given = {"CLKMUX": "CLK", "REGSET": "RESET", "GSR": "DISABLED"}
    given["CEMUX"] = "1 " if enable is None else "CE"
    inputs = {"CLK": CLOCK, "DI": d, "LSR": "0"} | ({} if enable is None else {"CE": enable})
    return cell("TRELLIS_FF", given, inputs, {"Q": q})


def module(first: Module, enable: int | None) -> Module:
    """Return a netlist of `first` with a flip-flop after each of two results; both are outputs."""
    cells = {"first": first}
    cells |= {f"q{d}": flip_flop(d, q, enable) for d, q in zip(RESULTS, QS, strict=True)}
    return {"ports": {"out": {"direction": "output", "bits": list(QS)}}, "cells": cells}


def multiplier() -> Module:
    outputs = {"P0": RESULTS[0], "P1": RESULTS[1], "P2": 12}  # the last output is unused
    return module(cell("MULT18X18D", {}, {"A0": 5, "B0": 6}, outputs), ENABLE)


def ram_parameters(width: int) -> dict[str, str]:
    return {"DATA_WIDTH_B": f"{width:032b}", "REGMODE_A": "NOREG", "REGMODE_B": "NOREG"}


def block_ram() -> Module:
    inputs = {"CLKB": CLOCK, "CEB": "1", "OCEB": "1", "RSTB": "0"}
    outputs = {"DOB0": RESULTS[0], "DOB1": RESULTS[1]}
    return module(cell("DP16KD", ram_parameters(18), inputs, outputs), None)


def unwritten_block_ram() -> Module:
    """Return a block RAM whose port A reads; port B is idle."""
    inputs = {"CLKA": CLOCK, "CEA": "1", "OCEA": "1", "RSTA": "0", "CLKB": "0", "CEB": "0"}
    outputs = {"DOA0": RESULTS[0], "DOA1": RESULTS[1]}
    return module(cell("DP16KD", ram_parameters(18), inputs, outputs), None)


def wide_block_ram() -> Module:
    """Return a block RAM with 36-bit reads through both ports."""
    inputs = {"CLKB": CLOCK, "CEB": "1", "OCEB": "1", "RSTB": "0"}
    inputs |= {"CLKA": CLOCK, "CEA": "1", "OCEA": "0", "RSTA": "0"}
    outputs = {"DOA0": RESULTS[0], "DOB0": RESULTS[1]}
    return module(cell("DP16KD", ram_parameters(36), inputs, outputs), None)


def test_a_multiplier_takes_its_flip_flops_and_their_enable() -> None:
    netlist = multiplier()
    absorb_registers(netlist)
    assert list(netlist["cells"]) == ["first"]
    taken = netlist["cells"]["first"]
    assert taken["parameters"]["REG_OUTPUT_CLK"] == "CLK0"
    expected = {"CLK0": [CLOCK], "CE0": [ENABLE], "RST0": ["0"], "P0": [20], "P1": [21], "P2": [12]}
    assert taken["connections"].items() >= expected.items()
    assert taken["port_directions"]["CLK0"] == "input"


def test_a_block_ram_takes_its_flip_flops() -> None:
    netlist = block_ram()
    absorb_registers(netlist)
    assert list(netlist["cells"]) == ["first"]
    taken = netlist["cells"]["first"]
    assert taken["parameters"].items() >= {"REGMODE_A": "NOREG", "REGMODE_B": "OUTREG"}.items()
    assert taken["connections"]["DOB1"] == [21]


def test_a_block_ram_that_nothing_writes_takes_the_flip_flops_of_its_first_port() -> None:
    netlist = unwritten_block_ram()
    absorb_registers(netlist)
    assert list(netlist["cells"]) == ["first"]
    taken = netlist["cells"]["first"]
    assert taken["parameters"].items() >= {"REGMODE_A": "OUTREG", "REGMODE_B": "NOREG"}.items()
    assert taken["connections"]["DOA1"] == [21]


def test_a_wide_block_ram_takes_the_flip_flops_of_both_ports() -> None:
    netlist = wide_block_ram()
    absorb_registers(netlist)
    assert list(netlist["cells"]) == ["first"]
    taken = netlist["cells"]["first"]
    assert taken["parameters"].items() >= {"REGMODE_A": "OUTREG", "REGMODE_B": "OUTREG"}.items()
    assert taken["connections"].items() >= {"DOA0": [20], "DOB0": [21], "OCEA": ["1"]}.items()


def set_parameter(name: str, key: str, value: str) -> Callable[[Module], None]:
    return lambda netlist: netlist["cells"][name]["parameters"].update({key: value})


def connect(name: str, port: str, bit: int | str) -> Callable[[Module], None]:
    return lambda netlist: netlist["cells"][name]["connections"].update({port: [bit]})


def also_out(bit: int) -> Callable[[Module], None]:
    return lambda netlist: netlist["ports"]["out"]["bits"].append(bit)


@pytest.mark.parametrize("make", [multiplier, block_ram, unwritten_block_ram, wide_block_ram])
@pytest.mark.parametrize(
    "change",
    [
        also_out(10),
        connect("first", "A1", 10),
        connect("q11", "LSR", 7),
        connect("q11", "CLK", 8),
        set_parameter("q11", "REGSET", "SET"),
        set_parameter("q11", "CLKMUX", "INV"),
        lambda netlist: netlist["cells"].pop("q11") and also_out(11)(netlist),
    ],
    ids=["leaves", "another-use", "reset", "clock", "set", "edge", "no-flip-flop"],
)
def test_flip_flops_that_do_more_or_less_stay(
    make: Callable[[], Module], change: Callable[[Module], None]
) -> None:
    netlist = make()
    netlist["cells"]["first"]["port_directions"]["A1"] = "input"
    change(netlist)
    before = repr(netlist)
    absorb_registers(netlist)
    assert repr(netlist) == before


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (multiplier, connect("q11", "CE", 9)),
        (multiplier, set_parameter("first", "REG_OUTPUT_CLK", "CLK0")),
        (block_ram, set_parameter("first", "REGMODE_B", "OUTREG")),
        (block_ram, connect("first", "OCEB", 9)),
        (block_ram, connect("first", "CEB", 9)),
        (block_ram, connect("first", "RSTB", 9)),
        (block_ram, connect("first", "CLKB", 9)),
        (unwritten_block_ram, set_parameter("first", "REGMODE_A", "OUTREG")),
        (unwritten_block_ram, connect("first", "OCEA", 9)),
        (unwritten_block_ram, connect("first", "CEB", 9)),
        (wide_block_ram, set_parameter("first", "REGMODE_A", "OUTREG")),
        (wide_block_ram, connect("first", "CEA", 9)),
        (wide_block_ram, connect("first", "RSTA", 9)),
        (wide_block_ram, connect("first", "CLKA", 9)),
    ],
)
def test_a_cell_that_would_do_something_else_keeps_its_flip_flops(
    make: Callable[[], Module], change: Callable[[Module], None]
) -> None:
    netlist = make()
    change(netlist)
    before = repr(netlist)
    absorb_registers(netlist)
    assert repr(netlist) == before
