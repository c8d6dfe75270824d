"""The module whose ports are a board's pins, around the device or around the lane alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qstep.spec.config import Config
from qstep_fpga.board import PINS, Board
from qstep_fpga.pins import led_bits
from qstep_rtl.crossing import lanes_clock

__all__ = [
    "DEVICE",
    "LANE",
    "LANES_CLOCK",
    "LANES_OUTPUT",
    "LANE_WRAPPER",
    "WRAPPER",
    "around_acting",
    "around_device",
    "around_lane",
]

LANES_CLOCK, LANES_OUTPUT = "lanes_clk", "lanes_out"
"""Net of the lanes' own clock, if they have one, and the output of the PLL that makes it."""

WRAPPER = "board"
"""Name of the module; its ports are the names of the board's pins."""

DEVICE = "u_board.u_top.design.device."
"""Prefix of the device's cells in a netlist."""

LANE_WRAPPER = "u_wrapper."
LANE = "u_wrapper.u_lane."
"""Prefixes of names around the lane, and inside it, in the netlist of the lane alone."""


def around_device(board: Board, config: Config) -> str:
    """Return the module, around ``pll`` and ``qs_board``."""
    clocks, outputs, inputs = "clk", ".clock_out(clk)", ".clk_i(clk)"
    if lanes_clock(config):
        clocks += f", {LANES_CLOCK}"
        outputs += f", .{LANES_OUTPUT}({LANES_CLOCK})"
        inputs += f", .lanes_clk_i({LANES_CLOCK})"

    def positive(pin: str) -> str:
        return f"{'!' if board.pins[pin].active_low else ''}{pin}"

    return _module(
        board,
        [
            f"wire {clocks}, locked, lit;",
            f"pll u_pll (.clock_in(clock), {outputs}, .locked(locked));",
            "qs_board u_board (",
            f"  {inputs}, .locked_i(locked), .button_i({positive('button')}),",
            "  .rx_i(rx), .tx_o(tx), .led_o(lit)" + "," * bool(led_bits(config)),
            *_led(config),
            ");",
            f"assign {'led = !lit' if board.pins['led'].active_low else 'led = lit'};",
        ],
    )


def around_lane(board: Board, sizes: Mapping[str, int]) -> str:
    """Return the module around ``qs_lane_wrapper`` with these parameters, not for use on a board."""
    parameters = ", ".join(f".{name}({value})" for name, value in sizes.items())
    return _module(
        board,
        [
            f"qs_lane_wrapper #({parameters}) u_wrapper (",
            "  .clk_i(clock), .din_i(rx), .load_i(button), .dout_o(tx)",
            ");",
            "assign led = 1'b0;",
        ],
    )


def around_acting(board: Board) -> str:
    """Return the module around ``qs_acting_wrapper``, not for use on a board."""
    return _module(
        board,
        [
            "qs_acting_wrapper u_wrapper (",
            "  .clk_i(clock), .din_i(rx), .load_i(button), .dout_o(tx)",
            ");",
            "assign led = 1'b0;",
        ],
    )


def _led(config: Config) -> list[str]:
    """Return the connections of a world's pins, one wire each."""
    bits = led_bits(config)
    wires = {
        word: ", ".join(f"{word}{bit}" for bit in reversed(range(width)))
        for word, width in bits.items()
    }
    given = [
        f"  .pin_{word}_{'o' if word.startswith('action') else 'i'}({{{wires[word]}}})"
        for word in bits
    ]
    return [line + "," * (line != given[-1]) for line in given]


def _module(board: Board, body: Sequence[str]) -> str:
    ports = ["input wire clock", "input wire rx", "output wire tx"]
    ports += ["output wire led", "input wire button"]
    ports += [
        f"{'output' if name.startswith('action') else 'input'} wire {name}"
        for name in board.pins
        if name not in PINS
    ]
    ports += [f"output wire high{index}" for index in range(len(board.high))]
    constants = [f"assign high{index} = 1'b1;" for index in range(len(board.high))]
    return "\n".join(
        [
            f"module {WRAPPER} (",
            ",\n".join(f"  {port}" for port in ports),
            ");",
            *(f"  {line}" for line in (*body, *constants)),
            "endmodule",
            "",
        ]
    )
