"""The ports of a board's top module and their pins, including those of an external world."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Shape

from qstep.errors import BuildError
from qstep.spec.config import Config
from qstep_fpga.board import Board, Pin
from qstep_rtl.pins import pins_of

__all__ = ["led_bits", "led_names", "led_out", "pins_text", "ports"]

_ONE_AGENT = "action_agent", "answer_agent", "answer_ready"
"""Ports without pins: with one agent, its number is always 0, and the world answers only actions."""


def ports(board: Board) -> list[tuple[str, Pin]]:
    """Return every port of the top module with its pin."""
    high = [(f"high{index}", Pin(at, direction="out")) for index, at in enumerate(board.high)]
    return [*board.pins.items(), *high]


def led_bits(config: Config) -> dict[str, int]:
    """Return the width of each word at the pins of an external world; empty if there is none."""
    return {
        name: Shape.cast(member.shape).width
        for name, member in pins_of(config).items()
        if name not in _ONE_AGENT
    }


def led_names(config: Config) -> list[str]:
    """Return the port name of each bit of :func:`led_bits`: action_state3 is ``action_state[3]``."""
    return [f"{word}{bit}" for word, width in led_bits(config).items() for bit in range(width)]


def led_out(board: Board, config: Config) -> Board:
    """Return the board with one pin per name in :func:`led_names`.

    Pins are assigned from :attr:`Board.header` in order. Words have the order of
    :func:`qstep_rtl.pins.pins_of`, lowest bit first. Undriven inputs are pulled down if the chip
    supports it.

    Raises
    ------
    BuildError
        There are several agents, or too few pins.
    """
    names = led_names(config)
    if not names:
        return board
    assert config.acting is not None
    if config.acting.agents > 1:
        raise BuildError(
            f"acting.agents is {config.acting.agents}; a board with acting.world 'pins' supports 1 agent"
        )
    if len(names) > len(board.header):
        raise BuildError(
            f"{config.states} x {config.actions} in {config.format} needs {len(names)} pins for "
            f"its world; the board file of {board.title} lists {len(board.header)} under header"
        )
    led = {
        name: Pin(at, direction="out") if name.startswith("action") else Pin(at, pull="down")
        for name, at in zip(names, board.header, strict=False)
    }
    return replace(board, pins={**board.pins, **led})


def pins_text(board: Board, config: Config) -> str:
    """Return one line per bit that a board connects to a pin: its port and its pin."""
    return "".join(f"{name} {board.pins[name].at}\n" for name in led_names(config))
