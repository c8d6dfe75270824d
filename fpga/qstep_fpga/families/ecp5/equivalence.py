"""Checks that a rewrite of an ECP5 netlist changes nothing visible to the rest of the netlist.

The cells that a rewrite changed, added or removed are simulated before and after it over several clocks,
together with the flip-flops before changed multipliers. Both simulations drive the input nets of these
cells with the same random values, and their output nets must be equal in every clock. All other cells
are unchanged, so the whole netlist is equivalent. The value of a net is an integer, in which each bit
belongs to an independent simulation run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import wraps
from random import Random
from typing import Any

from qstep.errors import BuildError
from qstep_fpga.families.base import Refinement

__all__ = ["checked"]

_RUNS = 128
_CLOCKS = 16
_ONES = (1 << _RUNS) - 1
_OPEN = "x"

_FREE = {
    "LUT4": ("INIT",),
    "CCU2C": ("INIT",),
    "TRELLIS_FF": ("REGSET",),
    "MULT18X18D": ("REG_", "GSR"),
    "DP16KD": ("REGMODE_", "WRITEMODE_"),
}
"""Prefixes of the parameters that a rewrite may change, because the simulation models them."""

_SEEN = "LUT4", "CCU2C", "TRELLIS_FF", "MULT18X18D"
"""Cell types that are simulated completely, so their inputs may differ."""

Net = int | str
Cell = dict[str, Any]


class _Streams:
    """Random values for nets and memory outputs; within a clock, both netlists get the same values."""

    def __init__(self) -> None:
        self._random = Random(1)
        self._now: dict[object, int] = {}

    def __getitem__(self, key: object) -> int:
        if key not in self._now:
            self._now[key] = self.fresh()
        return self._now[key]

    def fresh(self) -> int:
        """Return a new random value."""
        return self._random.getrandbits(_RUNS)

    def tick(self) -> None:
        """Start the next clock."""
        self._now = {}


class _Region:
    """A subset of a netlist's cells, with their registers."""

    def __init__(self, module: Cell, names: set[str], streams: _Streams, earlier: Cell) -> None:
        self.cells: dict[str, Cell] = {
            name: cell for name, cell in module["cells"].items() if name in names
        }
        self._streams, self._earlier = streams, earlier
        self.drivers: dict[Net, tuple[str, str, int]] = {
            bit: (name, port, index)
            for name, cell in self.cells.items()
            for port, bits in cell["connections"].items()
            if cell["port_directions"][port] == "output"
            for index, bit in enumerate(bits)
            if isinstance(bit, int)
        }
        self._state: dict[tuple[str, str], int] = {
            (name, "Q"): _ONES if cell["parameters"]["REGSET"] == "SET" else 0
            for name, cell in self.cells.items()
            if cell["type"] == "TRELLIS_FF"
        }
        self._now: dict[tuple[str, str], int] = {}
        self._products: dict[str, list[int]] = {}

    def net(self, bit: Net) -> int:
        """Return the value of a net in this clock."""
        if isinstance(bit, str):
            return _ONES if bit == "1" else 0
        return self._output(*self.drivers[bit]) if bit in self.drivers else self._streams[bit]

    def pin(self, name: str, port: str, index: int = 0) -> int:
        """Return the value at an input of a cell, random for an input that the rewrite left open."""
        bits = self.cells[name]["connections"].get(port, ["0"])
        if bits[index] == _OPEN:
            before = self._earlier.get(name, {}).get("connections", {}).get(port, [])
            return 0 if before[index:] == [_OPEN] else self._streams.fresh()
        return self.net(bits[index])

    def tick(self) -> None:
        """Load the registers."""
        loaded = {}
        for name, cell in self.cells.items():
            for key, clock, enable, reset, to, value in self._registers(name, cell):
                old, one = self._state.get(key, 0), _ONES if to == "SET" else 0
                new = (reset & one) | (~reset & ((enable & value) | (~enable & old)))
                ticks = self._streams[clock]
                loaded[key] = (ticks & new) | (~ticks & old)
        self._state |= loaded
        self._now = {}
        self._products = {}

    def _registers(self, name: str, cell: Cell) -> Iterator[tuple[Any, ...]]:
        """Yield the registers of a cell: key, clock, enable, reset, reset value, next value."""
        parameters, wires = cell["parameters"], cell["connections"]
        if cell["type"] == "TRELLIS_FF":
            mux = parameters.get("CEMUX", "CE").strip()
            enable = _ONES if mux == "1" else self.pin(name, "CE") ^ (_ONES * (mux == "INV"))
            clock = "tick", wires.get("CLK", ["0"])[0], parameters.get("CLKMUX", "CLK")
            reset = self.pin(name, "LSR") ^ (_ONES * (parameters.get("LSRMUX") == "INV"))
            yield (name, "Q"), clock, enable, reset, parameters["REGSET"], self.pin(name, "DI")
        elif cell["type"] == "MULT18X18D":
            for key, value in self._stages(name):
                register = key[1].partition(" ")[0]
                pins = [
                    parameters.get(f"REG_{register}_{pin}", default)
                    for pin, default in (("CLK", "NONE"), ("CE", "CE0"), ("RST", "RST0"))
                ]
                clock = "tick", wires.get(pins[0], ["0"])[0], "CLK"
                yield key, clock, self.pin(name, pins[1]), self.pin(name, pins[2]), "RESET", value
        elif cell["type"] == "DP16KD":
            for port in wires:
                side = port[2:3]
                if port[:2] == "DO" and parameters.get(f"REGMODE_{side}") == "OUTREG":
                    clock = "tick", wires[f"CLK{side}"][0], "CLK"
                    enable = self.pin(name, f"CE{side}") & self.pin(name, f"OCE{side}")
                    reset = self.pin(name, f"RST{side}")
                    yield (name, port), clock, enable, reset, "RESET", self._read(name, port)

    def _output(self, name: str, port: str, index: int) -> int:
        if (name, port) not in self._now:
            self._now[name, port] = self._made(name, port)
        return self._now[name, port] if index == 0 else self._streams[name, port, index]

    def _made(self, name: str, port: str) -> int:
        """Return the first bit at an output of a cell."""
        cell = self.cells[name]
        parameters = cell["parameters"]
        if cell["type"] == "LUT4":
            return _looked_up(parameters["INIT"], [self.pin(name, pin) for pin in "ABCD"])
        if cell["type"] == "CCU2C":
            return self._carried(name, port)
        if cell["type"] == "TRELLIS_FF":
            return self._state[name, "Q"]
        if cell["type"] == "MULT18X18D" and port[0] == "P":
            registered = parameters.get("REG_OUTPUT_CLK", "NONE") != "NONE"
            return self._results(name, registered=registered)[int(port[1:])]
        if cell["type"] == "DP16KD":
            registered = parameters.get(f"REGMODE_{port[2]}") == "OUTREG"
            return self._state.get((name, port), 0) if registered else self._read(name, port)
        return self._streams[name, port, 0]

    def _carried(self, name: str, port: str) -> int:
        """Return an output of a carry-chain cell."""
        carry, parameters = self.pin(name, "CIN"), self.cells[name]["parameters"]
        for half in "01":
            pins = [self.pin(name, f"{pin}{half}") for pin in "ABCD"]
            table, injects = parameters[f"INIT{half}"], parameters[f"INJECT1_{half}"] == "YES"
            passes = _looked_up(table, pins)
            if port == f"S{half}":
                return passes if injects else passes ^ carry
            generates = 0 if injects else _looked_up(table[-4:], pins[:2])
            carry = (passes & carry) | (~passes & generates)
        return carry

    def _read(self, name: str, port: str) -> int:
        """Return a block RAM's read data, which depend on its write mode if the port also writes."""
        side = port[2]
        mode = self.cells[name]["parameters"].get(f"WRITEMODE_{side}")
        writes = self.pin(name, f"WE{side}")
        return (writes & self._streams[name, port, mode]) | (~writes & self._streams[name, port])

    def _operand(self, name: str, letter: str) -> list[int]:
        parameters = self.cells[name]["parameters"]
        if parameters.get(f"REG_INPUT{letter}_CLK", "NONE") != "NONE":
            return [self._state.get((name, f"INPUT{letter} {n}"), 0) for n in range(18)]
        return [self.pin(name, f"{letter}{n}") for n in range(18)]

    def _results(self, name: str, *, registered: bool) -> list[int]:
        """Return the result of a multiplier, after or before its last register."""
        if registered:
            return [self._state.get((name, f"OUTPUT {n}"), 0) for n in range(36)]
        if self.cells[name]["parameters"].get("REG_PIPELINE_CLK", "NONE") != "NONE":
            return [self._state.get((name, f"PIPELINE {n}"), 0) for n in range(36)]
        return self._product(name)

    def _product(self, name: str) -> list[int]:
        if name not in self._products:
            self._products[name] = self._multiplied(name)
        return self._products[name]

    def _multiplied(self, name: str) -> list[int]:
        first, second = (
            [*bits, *18 * [self.pin(name, f"SIGNED{letter}") & bits[-1]]]
            for letter, bits in ((letter, self._operand(name, letter)) for letter in "AB")
        )
        total = 36 * [0]
        for shift, factor in enumerate(second):
            carry = 0
            for n in range(shift, 36):
                one, two = total[n], factor & first[n - shift]
                total[n] = one ^ two ^ carry
                carry = (one & two) | (carry & (one | two))
        return total

    def _stages(self, name: str) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield the registers that a multiplier uses, with their input values."""
        parameters = self.cells[name]["parameters"]

        def used(register: str) -> bool:
            return bool(parameters.get(f"REG_{register}_CLK", "NONE") != "NONE")

        for letter in "AB":
            if used(f"INPUT{letter}"):
                for n in range(18):
                    yield (name, f"INPUT{letter} {n}"), self.pin(name, f"{letter}{n}")
        if used("PIPELINE"):
            for n, bit in enumerate(self._product(name)):
                yield (name, f"PIPELINE {n}"), bit
        if used("OUTPUT"):
            for n, bit in enumerate(self._results(name, registered=False)):
                yield (name, f"OUTPUT {n}"), bit


def checked(rewrite: Refinement) -> Refinement:
    """Return a rewrite of a netlist that checks its own result.

    The rewrite raises BuildError if it changed the netlist's function; the message names the rewrite
    and a cell.

    Notes
    -----
    A changed look-up table is tested with 2,048 random inputs, which cover all of its entries. Clock
    edges are random for each net and polarity, so a change of clock or edge is detected. A block RAM is
    modelled as an arbitrary function of its inputs; its write mode matters only while a port writes.
    Initial contents of block RAMs are not compared.
    """

    @wraps(rewrite)
    def rewrite_and_check(module: Cell) -> None:
        before = json.loads(json.dumps(module))
        rewrite(module)
        _check(rewrite.__name__, before, module)

    return rewrite_and_check


def _check(rewrite: str, before: Cell, after: Cell) -> None:
    cells = {**before["cells"], **after["cells"]}
    changed = {name for name in cells if before["cells"].get(name) != after["cells"].get(name)}
    changed |= _before_multipliers(before["cells"], changed)
    streams = _Streams()
    old, new = (_Region(module, changed, streams, before["cells"]) for module in (before, after))
    for name in sorted(old.cells.keys() & new.cells.keys()):
        if _fixed(old.cells[name]) != _fixed(new.cells[name]):
            raise _error(rewrite, name, "type or mode")
    for name in sorted(old.cells.keys() ^ new.cells.keys()):
        if cells[name]["type"] not in ("LUT4", "TRELLIS_FF"):
            raise _error(rewrite, name, "type or mode")
    read = {bit for port in after["ports"].values() for bit in port["bits"]}
    read |= {
        bit
        for name, cell in after["cells"].items()
        if name not in changed
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] != "output"
        for bit in bits
    }
    leaving = sorted(bit for bit in (old.drivers.keys() | new.drivers.keys()) & read)
    opaque = [
        (name, port, index)
        for name, cell in new.cells.items()
        if cell["type"] not in _SEEN
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] != "output" and port[:3] != "OCE"
        for index in range(len(bits))
    ]
    for _ in range(_CLOCKS):
        for bit in leaving:
            if old.net(bit) != new.net(bit):
                name, port, _ = new.drivers.get(bit) or old.drivers[bit]
                raise _error(rewrite, name, f"output {port}")
        for name, port, index in opaque:
            if old.pin(name, port, index) != new.pin(name, port, index):
                raise _error(rewrite, name, f"input {port}")
        old.tick()
        new.tick()
        streams.tick()


def _before_multipliers(cells: dict[str, Cell], changed: set[str]) -> set[str]:
    """Return the flip-flops before changed multipliers; the rewrite may have moved them inside."""
    operands = {
        bit
        for name, cell in cells.items()
        if name in changed and cell["type"] == "MULT18X18D"
        for bits in cell["connections"].values()
        for bit in bits
    }
    return {
        name
        for name, cell in cells.items()
        if cell["type"] == "TRELLIS_FF" and cell["connections"]["Q"][0] in operands
    }


def _fixed(cell: Cell) -> tuple[str, dict[str, str]]:
    """Return the properties of a cell that no rewrite may change: its type and some parameters."""
    free = _FREE.get(cell["type"], ())
    return cell["type"], {
        name: value for name, value in cell["parameters"].items() if not name.startswith(free)
    }


def _error(rewrite: str, cell: str, what: str) -> BuildError:
    return BuildError(
        f"{rewrite} changed the {what} of cell {cell}, so the netlist no longer computes the same. This "
        "is a fault of QStep; please report it"
    )


def _looked_up(table: str, inputs: list[int]) -> int:
    """Return the table entries that inputs select; the table lists its highest entry first."""
    values = [_ONES if entry == "1" else 0 for entry in reversed(table)]
    for pin in inputs:
        values = [
            (pin & high) | (~pin & low) for low, high in zip(values[::2], values[1::2], strict=True)
        ]
    return values[0]
