"""Finds the signals of a netlist that cross clock domains."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qstep_fpga import tools

__all__ = ["Netlist", "Passage"]

_CLOCKS = "CLK", "RD_CLK", "WR_CLK", "clk_i"


@dataclass(frozen=True)
class Passage:
    """A path from a register in one clock domain to a cell in another.

    Attributes
    ----------
    source : frozenset of str
        Names of the source register.
    sink : str
        Cell that depends on the source register.
    is_direct : bool
        Whether the path contains no logic.
    """

    source: frozenset[str]
    sink: str
    is_direct: bool


class Netlist:
    """The flattened netlist of a design, given as Verilog text.

    Modules that the text does not define remain instances. Their ports end in _i and _o, and their clock
    is ``clk_i``.
    """

    def __init__(self, text: str, top: str, folder: Path) -> None:
        (folder / "design.v").write_text(text, encoding="utf-8")
        script = (
            f"read_verilog design.v; hierarchy -top {top}; proc; flatten; opt_clean; memory -nomap; "
            "write_json design.json"
        )
        tools.yosys(script, folder)
        tree = json.loads((folder / "design.json").read_text(encoding="utf-8"))
        self._module = tree["modules"][top]
        self._cells: dict[str, Any] = self._module["cells"]
        self._driver = {
            bit: name
            for name, cell in self._cells.items()
            for port, bits in cell["connections"].items()
            if self._is_output(cell, port)
            for bit in bits
        }
        self._ports = {
            bit: name
            for name, port in self._module["ports"].items()
            if port["direction"] == "input"
            for bit in port["bits"]
        }

    def clock(self, name: str) -> str | None:
        """Return the input port that clocks a cell, or None if the cell has no clock."""
        wires = self._cells[name]["connections"]
        bits = [bit for port in _CLOCKS for bit in wires.get(port, [])]
        found = {self._ports[bit] for bit in bits if isinstance(bit, int)}
        assert len(found) < 2, f"{name} has the clocks {found}"
        return next(iter(found), None)

    def passages(self) -> Iterator[Passage]:
        """Yield every path to a cell from another clock domain, once per bit of the source register."""
        for name in self._cells:
            clock = self.clock(name)
            if clock is not None:
                for source, is_direct in self._sources(name):
                    other = self.clock(self._driver[source])
                    if other != clock:
                        yield Passage(self._names(source), name, is_direct)

    def follower(self, cell: str) -> str:
        """Return the only register that samples a register's output, without logic in between.

        Raises
        ------
        AssertionError
            The output has a second load, or its only load is not a register in the same clock domain.
        """
        held = self._cells[cell]["connections"]["Q"]
        takers = [
            (name, port)
            for name, other in self._cells.items()
            for port, bits in other["connections"].items()
            if not self._is_output(other, port) and set(bits) & set(held)
        ]
        assert len(takers) == 1, f"{cell} leads to {takers}"
        (name, port) = takers[0]
        assert (port, self.clock(name)) == ("D", self.clock(cell)), f"{cell} leads to {takers}"
        return name

    def _is_output(self, cell: Any, port: str) -> bool:
        way = cell.get("port_directions", {}).get(port)
        return port.endswith("_o") if way is None else way == "output"

    def _sources(self, sink: str) -> Iterator[tuple[int, bool]]:
        """Yield each register bit that a cell's inputs depend on, and whether the path is direct."""
        cell = self._cells[sink]
        inputs = {
            bit
            for port, bits in cell["connections"].items()
            if port not in _CLOCKS and not self._is_output(cell, port)
            for bit in bits
        }
        seen, left = set(inputs), list(inputs)
        while left:
            bit = left.pop()
            driver = self._driver.get(bit)
            if driver is None:
                continue  # an input or a constant
            if self.clock(driver) is not None:
                yield bit, bit in inputs
                continue
            for port, bits in self._cells[driver]["connections"].items():
                if not self._is_output(self._cells[driver], port):
                    left += set(bits) - seen
                    seen.update(bits)

    def _names(self, bit: int) -> frozenset[str]:
        nets = self._module["netnames"].items()
        return frozenset(name for name, net in nets if bit in net["bits"])
