"""Generates the top module around the device or the lane alone, with the board's pins as ports."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.back import rtlil
from amaranth.hdl import Cat, Const, Instance, IOPort, Module, Signal, Value
from amaranth.lib.wiring import Flow, In, Out

from qstep.errors import BuildError
from qstep.spec.config import Config
from qstep_fpga.board import Board, Pin
from qstep_fpga.pins import led_bits, led_names, ports
from qstep_rtl.board_control import BoardControl
from qstep_rtl.crossing import lanes_clock
from qstep_rtl.pins import pins_of

__all__ = [
    "DEVICE",
    "LANE",
    "LANES_CLOCK",
    "LANES_OUTPUT",
    "LANE_WRAPPER",
    "LINK",
    "WRAPPER",
    "around_acting",
    "around_device",
    "around_lane",
    "around_learner",
    "generated_top",
]

LANES_CLOCK, LANES_OUTPUT = "lanes_clk", "lanes_out"
"""Net of the lanes' separate clock, if they have one, and the PLL output that generates it."""

WRAPPER = "board"
"""Name of the top module; its ports are named after the board's pins."""

LINK = "qs_link"
"""Name of the module in a board's link file, if the link is not a UART."""

DEVICE = "top.design."
"""Prefix of the device's cells in a netlist."""

LANE_WRAPPER = "u_wrapper."
LANE = "u_wrapper.u_lane."
"""Prefixes of names in the wrapper and in the lane, in a netlist of the lane alone."""

_Ports = dict[str, Signal | IOPort]
"""The ports of the module by name."""

_STREAMS = {"rx_valid": 1, "rx_ready": 1, "rx_data": 8, "tx_valid": 1, "tx_ready": 1, "tx_data": 8}
_FROM_LINK = "rx_valid", "rx_data", "tx_ready"
"""Width of each signal between a link and the device, and the signals that the link drives."""


def generated_top(board: Board) -> str:
    """Return the name of the generated inner module, which has a UART, or byte streams for a link."""
    return "qstep_device" if board.link else "qstep_top"


def around_device(board: Board, config: Config, build: str = "") -> str:
    """Return the RTLIL of the top module, which contains ``pll`` and the generated device.

    `build` is the identity of the build in hexadecimal digits, by default 0.
    """
    m = Module()
    pins = _ports(board)
    clk = Signal(name="clk")
    m.submodules.control = control = BoardControl(config.link.clock_hz)
    made: dict[str, Value] = {"o_clock_out": clk, "o_locked": control.locked}
    device: dict[str, Value] = {
        "i_clk": clk,
        "i_rst": control.reset,
        "i_build": Const(int.from_bytes(bytes.fromhex(build), "little"), 64),
    }
    if lanes_clock(config):
        made[f"o_{LANES_OUTPUT}"] = device[f"i_{LANES_CLOCK}"] = Signal(name=LANES_CLOCK)
    m.submodules.pll = Instance("pll", i_clock_in=pins["clock"], **made)
    m.d.comb += control.clk.eq(clk)
    if "button" in pins:
        m.d.comb += control.button.eq(pins["button"] ^ board.pins["button"].active_low)
    if "led" in pins:
        m.d.comb += pins["led"].eq(control.led ^ board.pins["led"].active_low)
    m.d.comb += [pins[f"high{index}"].eq(1) for index, _ in enumerate(board.high)]
    if board.link:
        others = {"clock", "led", "button", *led_names(config)}
        link_pins = {name: pin for name, pin in board.pins.items() if name not in others}
        device |= _add_link(m, link_pins, pins, control)
    else:
        device |= {"i_rx": pins["rx"], "o_tx": pins["tx"]}
        m.d.comb += control.receives.eq(~pins["rx"])
    if led_bits(config):
        device |= _add_world(m, config, pins, control)
    m.submodules.top = Instance(generated_top(board), **device)
    return _converted(m, pins)


def around_lane(board: Board, sizes: Mapping[str, int]) -> str:
    """Return the top module around ``qs_lane_wrapper`` with these parameters, only for estimates.

    Raises
    ------
    BuildError
        The board has no UART or no button.
    """
    return _around_wrapper(board, "qs_lane_wrapper", sizes)


def around_acting(board: Board) -> str:
    """Return the top module around ``qs_acting_wrapper``; otherwise like :func:`around_lane`."""
    return _around_wrapper(board, "qs_acting_wrapper", {})


def around_learner(board: Board) -> str:
    """Return the top module around ``qs_learner_wrapper``; otherwise like :func:`around_lane`."""
    return _around_wrapper(board, "qs_learner_wrapper", {})


def _around_wrapper(board: Board, wrapper: str, sizes: Mapping[str, int]) -> str:
    if missing := [name for name in ("rx", "tx", "button") if name not in board.pins]:
        raise BuildError(
            f"{board.title} has no pin {', '.join(missing)}; a standalone lane needs rx, tx and "
            "button"
        )
    m = Module()
    pins = _ports(board)
    m.submodules.u_wrapper = Instance(
        wrapper,
        **{f"p_{name}": value for name, value in sizes.items()},
        i_clk_i=pins["clock"],
        i_din_i=pins["rx"],
        i_load_i=pins["button"],
        o_dout_o=pins["tx"],
    )
    m.d.comb += [
        pins[name].eq(name != "led")
        for name, pin in ports(board)
        if pin.direction == "out" and name != "tx"
    ]
    return _converted(m, pins)


def _add_link(
    m: Module, link_pins: dict[str, Pin], pins: _Ports, control: BoardControl
) -> dict[str, Value]:
    """Add the board-specific link; return the device's connections to it."""
    wires = {name: Signal(width, name=name) for name, width in _STREAMS.items()}
    ways = {name: "oi" if name in _FROM_LINK else "io" for name in wires}
    kinds = {"in": "i", "out": "o", "inout": "io"}
    m.submodules.link = Instance(
        LINK,
        i_clk=control.clk,
        i_rst=control.reset,
        **{f"{ways[name][0]}_{name}": wire for name, wire in wires.items()},
        **{f"{kinds[pin.direction]}_{name}": pins[name] for name, pin in link_pins.items()},
    )
    m.d.comb += control.receives.eq(wires["rx_valid"])
    return {f"{ways[name][1]}_{name}": wire for name, wire in wires.items()}


def _add_world(m: Module, config: Config, pins: _Ports, control: BoardControl) -> dict[str, Value]:
    """Add the handshake with a world at the board's pins; return the device's connections to it."""
    members = pins_of(config)
    wires = {name: Signal(member.shape, name=name) for name, member in members.items()}
    words: dict[Flow, list[str]] = {Out: [], In: []}
    for word in led_bits(config):
        if not word.endswith("_valid"):
            words[members[word].flow].append(word)
    inside = {flow: Cat(wires[word] for word in own) for flow, own in words.items()}
    outside = {
        flow: Cat(pins[f"{word}{bit}"] for word in own for bit in range(len(wires[word])))
        for flow, own in words.items()
    }
    m.submodules.u_pins = Instance(
        "qs_pins",
        p_ActionBits=len(inside[Out]),
        p_AnswerBits=len(inside[In]),
        i_clk_i=control.clk,
        i_rst_i=control.reset,
        i_action_valid_i=wires["action_valid"],
        i_action_i=inside[Out],
        o_answer_valid_o=wires["answer_valid"],
        o_answer_o=inside[In],
        o_pin_action_valid_o=pins["action_valid0"],
        o_pin_action_o=outside[Out],
        i_pin_answer_valid_i=pins["answer_valid0"],
        i_pin_answer_i=outside[In],
    )
    ways = {name: "i" if member.flow == In else "o" for name, member in members.items()}
    return {f"{ways[name]}_{name}": wire for name, wire in wires.items()}


def _ports(board: Board) -> _Ports:
    return {
        name: (IOPort(1, name=name) if pin.direction == "inout" else Signal(name=name))
        for name, pin in ports(board)
    }


def _converted(m: Module, pins: _Ports) -> str:
    return str(rtlil.convert(m, WRAPPER, ports=tuple(pins.values()), emit_src=False))
