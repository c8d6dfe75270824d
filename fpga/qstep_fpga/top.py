"""The top module of a board: pins, PLL, and the device between them."""

from __future__ import annotations

from qstep_fpga.board import Board

__all__ = ["TOP", "verilog"]

TOP = "board"
"""Name of the module; its ports are the names of the board's pins."""


def verilog(board: Board) -> str:
    """Return the module, around ``pll`` and ``qs_board``."""

    def positive(pin: str) -> str:
        return f"{'!' if board.pins[pin].active_low else ''}{pin}"

    ports = ["input wire clock", "input wire rx", "output wire tx"]
    ports += ["output wire led", "input wire button"]
    ports += [f"output wire high{index}" for index in range(len(board.high))]
    constants = [f"  assign high{index} = 1'b1;" for index in range(len(board.high))]
    return "\n".join(
        [
            f"module {TOP} (",
            ",\n".join(f"  {port}" for port in ports),
            ");",
            "  wire clk, locked, lit;",
            "  pll u_pll (.clock_in(clock), .clock_out(clk), .locked(locked));",
            "  qs_board u_board (",
            f"    .clk_i(clk), .locked_i(locked), .button_i({positive('button')}),",
            "    .rx_i(rx), .tx_o(tx), .led_o(lit)",
            "  );",
            f"  assign {'led = !lit' if board.pins['led'].active_low else 'led = lit'};",
            *constants,
            "endmodule",
            "",
        ]
    )
