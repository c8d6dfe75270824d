"""A rewrite of an ECP5 netlist that changes its function aborts the build."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tb.fpga import test_carries, test_inverters, test_multipliers, test_registers
from tb.planted import plant_python

from qstep.errors import BuildError
from qstep_fpga.families.ecp5 import carries, inverters, multipliers, ports, registers
from qstep_fpga.families.ecp5.equivalence import checked
from qstep_fpga.netlist import refine

Module = dict[str, Any]
WRITES, READ = 40, 41


def inverting(before: Module) -> Module:
    module = test_inverters.netlist(before, inverts_behind=True)
    module["cells"]["kept"]["connections"] |= {"CLK": [2], "LSR": [3]}
    module["cells"]["kept"]["port_directions"] |= {"CLK": "input", "LSR": "input"}
    module["cells"]["kept"]["parameters"]["CEMUX"] = "1 "
    return module


def inverter() -> Module:
    return inverting(test_inverters.table(test_inverters.INVERTER, 20, D=10))


def exclusive_or() -> Module:
    return inverting(test_inverters.table(test_inverters.EXCLUSIVE_OR, 20, A=10, B=11))


def memory() -> Module:
    """Return a block RAM whose port A both writes and reads."""
    cell = {
        "type": "DP16KD",
        "parameters": {"WRITEMODE_A": "READBEFOREWRITE", "WRITEMODE_B": "READBEFOREWRITE"},
        "port_directions": {"WEA": "input", "DOA0": "output", "DOB0": "output"},
        "connections": {"WEA": [WRITES], "DOA0": [READ], "DOB0": [42]},
    }
    out = {"direction": "output", "bits": [READ, 42]}
    return {"ports": {"out": out}, "cells": {"ram": cell}}


REWRITES = {
    "absorb_registers": (registers, test_registers.multiplier),
    "absorb_registers of a block RAM": (registers, test_registers.block_ram),
    "absorb_registers of an unwritten one": (registers, test_registers.unwritten_block_ram),
    "absorb_registers of a wide one": (registers, test_registers.wide_block_ram),
    "deepen_multipliers": (multipliers, test_multipliers.netlist),
    "deepen_multipliers and a register that stays": (multipliers, test_multipliers.shared_operand),
    "shorten_carries": (carries, test_carries.netlist),
    "remove_inverters": (inverters, inverter),
    "remove_inverters behind a table": (inverters, exclusive_or),
    "quiet_ports": (ports, memory),
}


def rewritten(source: ModuleType, name: str, module: Module, folder: Path) -> Module:
    """Return a module after a checked rewrite."""
    file = folder / "netlist.json"
    file.write_text(json.dumps({"modules": {"board": module}}), encoding="utf-8")
    refine([checked(getattr(source, name.partition(" ")[0]))], file, "board")
    changed: Module = json.loads(file.read_text(encoding="utf-8"))["modules"]["board"]
    return changed


@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_passes_its_check(name: str, tmp_path: Path) -> None:
    source, make = REWRITES[name]
    assert rewritten(source, name, make(), tmp_path) != json.loads(json.dumps(make()))


FAULTS = {
    "enable": (
        "absorb_registers",
        'connections["CE"][0] if parameters["CEMUX"].strip() == "CE" else _ALWAYS',
        "_ALWAYS",
        "output P0 of cell first",
    ),
    "output": (
        "absorb_registers",
        "[registered.get(bit, bit) for bit in nets]",
        "nets[::-1]",
        "output Q of cell q10",
    ),
    "mode": (
        "absorb_registers of a block RAM",
        '[f"REGMODE_{port}"] = "OUTREG"',
        '[f"REGMODE_{port}"] = "NOREG"',
        "output DOB0 of cell first",
    ),
    "low half": (
        "absorb_registers of a wide one",
        "    for port in ports:\n        parameters",
        '    for port in "B":\n        parameters',
        "output DOA0 of cell first",
    ),
    "stage": (
        "deepen_multipliers",
        '("INPUTA", "INPUTB", "PIPELINE")',
        '("INPUTA", "INPUTB")',
        "output P0 of cell m",
    ),
    "operand": (
        "deepen_multipliers",
        "moved = {bit: cells[before[bit]]",
        "moved = {bit: cells[before[min(before)]]",
        "output P0 of cell m",
    ),
    "copy": (
        "deepen_multipliers and a register that stays",
        "for bit in operands if not uses[bit]]",
        "for bit in operands]",
        "output Q of cell a",
    ),
    "carry": (
        "shorten_carries",
        '"0" * 12 + carries',
        '"0" * 12 + carries[::-1]',
        "output S1 of cell c",
    ),
    "sum": (
        "shorten_carries",
        'connections["CIN"] == ["1"]',
        'connections["CIN"] == ["0"]',
        "output Z of cell c_S0_LUT4",
    ),
    "initial value": (
        "remove_inverters",
        '{"SET": "RESET", "RESET": "SET"}',
        '{"SET": "SET", "RESET": "RESET"}',
        "output (S0|S1|Z) of cell (sum|seen)",
    ),
    "table before": (
        "remove_inverters behind a table",
        'str.maketrans("01", "10")',
        'str.maketrans("01", "01")',
        "output (S0|S1|Z) of cell (sum|seen)",
    ),
    "table after": (
        "remove_inverters",
        "            nets.turn(pin)\n",
        "            pass\n",
        "output Q of cell kept",
    ),
    "write mode": (
        "quiet_ports",
        "never_writes or not uses.intersection(outputs)",
        "never_writes or outputs",
        "output DOA0 of cell ram",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_rewrite_is_found(fault: str, tmp_path: Path) -> None:
    name, old, new, seen = FAULTS[fault]
    source, make = REWRITES[name]
    with pytest.raises(
        BuildError, match=f"{name.partition(' ')[0]} changed the ({seen}), so the net"
    ):
        rewritten(plant_python(source, old, new), name, make(), tmp_path)


def removed(module: Module) -> None:
    del module["cells"]["ram"]


def without_enable(module: Module) -> None:
    module["cells"]["ram"]["connections"]["WEA"] = [READ + 10]


def another_mode(module: Module) -> None:
    module["cells"]["ram"]["parameters"]["DATA_WIDTH_A"] = "18"


@pytest.mark.parametrize(
    ("rewrite", "seen"),
    [
        (removed, "type or mode of cell ram"),
        (without_enable, "output DOA0 of cell ram|input WEA of cell ram"),
        (another_mode, "type or mode of cell ram"),
    ],
)
def test_a_cell_that_is_not_simulated_keeps_its_inputs_and_its_mode(
    rewrite: Callable[[Module], None], seen: str, tmp_path: Path
) -> None:
    source = ModuleType("rewrites")
    source.__dict__[rewrite.__name__] = rewrite
    with pytest.raises(BuildError, match=f"{rewrite.__name__} changed the ({seen}), so"):
        rewritten(source, rewrite.__name__, memory(), tmp_path)
