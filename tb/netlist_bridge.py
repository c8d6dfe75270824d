"""Replace an Amaranth block with a Verilated netlist in Amaranth's simulator.

The netlist is evaluated at each input change and each clock edge, and drives the outputs.
"""

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from amaranth import Value
from amaranth.hdl import ClockDomain
from amaranth.lib.wiring import Component
from tb.formal import blocks

__all__ = ["Ports", "bridge", "harness", "load", "ports"]

Ports = dict[str, tuple[Value, bool]]
"""Ports by their names in Verilog: the value, and whether the port is an input."""

_HARNESS = """#include "V{top}.h"
extern "C" V{top} *make() {{ return new V{top}; }}
extern "C" void evaluate(V{top} *top, int clk, const uint32_t *in, uint32_t *out) {{
  top->clk = clk;
{lines}
}}
"""


def ports(block: Component) -> Ports:
    """Return the ports of a block, without its clock and its zero-width ports."""
    return {
        name: (value, way.name == "Input")
        for name, (value, way) in blocks.ports(block).items()
        if len(value) and name != "clk"
    }


def harness(top: str, of: Ports) -> str:
    """Return the C++ source of a library that creates and evaluates netlists.

    `top` has a port ``clk``, which `of` may include.
    """
    lines = [*_pieces(of, True), "top->eval();", *_pieces(of, False)]
    return _HARNESS.format(top=top, lines="\n".join(f"  {line}" for line in lines))


def load(path: Path) -> ctypes.CDLL:
    """Load a library that was compiled from the source of :func:`harness`."""
    library = ctypes.CDLL(str(path))
    pointer = ctypes.c_void_p
    library.make.restype = pointer
    library.evaluate.argtypes = [pointer, ctypes.c_int, pointer, pointer]
    return library


def bridge(
    library: ctypes.CDLL, domain: ClockDomain | None, of: Ports, given: bytes = b""
) -> Callable[[Any], Any]:
    """Return a simulator process in which a new netlist drives the outputs.

    `given` precedes the input words. Without a domain, the ports include the clocks.
    """
    inputs = [value for value, is_input in of.values() if is_input]
    outputs = [value for value, is_input in of.values() if not is_input]
    read = (ctypes.c_uint32 * sum(map(_words, outputs)))()
    top = library.make()

    def evaluate(clk: int, values: Sequence[Any]) -> bytes:
        parts = [
            (int(value) & (1 << len(port)) - 1).to_bytes(4 * _words(port), "little")
            for port, value in zip(inputs, values, strict=True)
        ]
        library.evaluate(top, clk, given + b"".join(parts), read)
        return bytes(read)

    def drive(ctx: Any, data: bytes) -> None:
        at = 0
        for port in outputs:
            size = 4 * _words(port)
            ctx.set(port, int.from_bytes(data[at : at + size], "little"))
            at += size

    async def with_its_clocks(ctx: Any) -> None:
        async for values in ctx.changed(*inputs):
            drive(ctx, evaluate(0, values))

    async def clocked(ctx: Any) -> None:
        assert domain is not None
        async for edge, *values in ctx.edge(domain.clk, 1).changed(*inputs):
            if edge:
                evaluate(0, values)
            drive(ctx, evaluate(1 if edge else 0, values))

    return with_its_clocks if domain is None else clocked


def _words(value: Value) -> int:
    return (len(value) + 31) // 32


def _pieces(of: Ports, inputs: bool) -> list[str]:
    """Return the C++ statements that copy 32-bit words to the inputs, or from the outputs."""
    lines: list[str] = []
    for name, (value, is_input) in of.items():
        for word in range(_words(value)) if is_input is inputs else ():
            port = f"top->{name.replace('__', '___05F')}" + (f"[{word}]" if len(value) > 64 else "")
            low = len(value) > 64 or not word
            if inputs:
                given = f"in[{len(lines)}]"
                lines.append(f"{port} = {given};" if low else f"{port} |= QData({given}) << 32;")
            else:
                lines.append(f"out[{len(lines)}] = {port}{'' if low else ' >> 32'};")
    return lines
