"""Writes the clocks of a violation as a waveform: every named net of a circuit in a VCD file."""

from collections.abc import Callable, Sequence
from pathlib import Path

from bitwuzla import Term
from tb.formal.btor import Circuit, Clock
from vcd import VCDWriter

__all__ = ["CLOCK_NS", "write_trace"]

CLOCK_NS = 10
"""Nanoseconds per clock in the waveform."""


def write_trace(
    path: Path, circuit: Circuit, clocks: Sequence[Clock], value: Callable[[Term], str]
) -> None:
    """Write a circuit's named nets and its properties (1 where violated) in the given clocks.

    Memories are omitted.

    Parameters
    ----------
    path : Path
    circuit : Circuit
    clocks : sequence of Clock
        Evaluated clocks, oldest first.
    value : callable
        Function that returns the bits of a term in the solver's model.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file, VCDWriter(file, timescale="1 ns") as vcd:
        top = path.stem
        count = vcd.register_var(top, "clock", "integer", init=0)
        nets = []
        for net, line in (*circuit.nets.items(), *circuit.properties):
            scope, _, name = f"{top}.{net}".rpartition(".")
            sort = clocks[0].values[line].sort()
            if not sort.is_array():
                wire = vcd.register_var(scope, name, "wire", size=sort.bv_size())
                nets.append((wire, line, name in {"clk", "clk_i"}))
        for number, clock in enumerate(clocks):
            time = CLOCK_NS * number
            vcd.change(count, time, number)
            for wire, line, _ in nets:
                vcd.change(wire, time, int(value(clock.values[line]), 2))
            for half, level in ((0, 1), (CLOCK_NS // 2, 0)):
                for wire in (wire for wire, _, ticks in nets if ticks):
                    vcd.change(wire, time + half, level)
