"""Stops the clock of the device's idle blocks in a simulation.

A Verilated model evaluates every block in every clock, although most of them wait: for the end of
an APPLY frame, or while agents act for the next request. A few registers tell whether any of them
can change: the device's signals `awake`, or `link_awake` and `counters_awake` beside agents. While
such a signal is 0, the registers of its blocks keep their values, so a simulation may leave out
their clock. The hardware does not use the signal, and synthesis removes it. Registers with the attribute
``qstep_rtl.sleep.SLEEPLESS`` keep their clock. The table access sleeps with the other blocks of a
lane, unless it is busy. The bus of the agents, ``qs_agent_bus``, sleeps with its link unless an
access is in flight; behind the chain of a farm, or in a clock of its own, it never sleeps.

``tb/unit/test_rewritten.py`` proves that a device that is awake is the one that Amaranth wrote.
``tb/unit/test_standing_still.py`` and ``test_standing_still_agents.py`` prove that sleeping blocks would
not have changed. ``tb/unit/test_sleep.py`` compares sleeping devices with others clock by clock.
"""

from __future__ import annotations

import re

__all__ = ["sleeping", "sleeping_bus"]

_SLEEPERS = {
    "awake": ("commands", "counters", "responder", "access"),
    "link_awake": ("receiver", "commands", "responder"),
    "counters_awake": ("counters",),
}

_BUSY = {"access": "request__busy || "}
"""For each block, its own signals that also wake it."""

_BUS_AWAKE = "{link_awake} || state_q != StIdle || |token_q"
"""When the bus of the agents is awake, by its own names."""

_BUS_CLOCK = "always_ff @(posedge clk_i)"

_MODULE_END = re.compile(r"(?<=^endmodule\n)", re.MULTILINE)
_DEVICE = re.compile(
    r"^module \\(?P<path>\S+) (?:(?!^endmodule)[\s\S])*?^  wire \w*awake;[\s\S]*?^endmodule",
    re.MULTILINE,
)
_SLEEPLESS = re.compile(
    r"^  \(\* sleepless = .*\n(?:  (?:\(\*|output) .*\n)*  reg (?:\[\S+\] )?(\S+)", re.MULTILINE
)
_PROCESS = re.compile(
    r"^  always @\(posedge clk\)(?P<body>(?: begin)?\n(?:    .*\n)*)", re.MULTILINE
)
_ASSIGNED = re.compile(r"^ +(\S+?) *(?:\[\S+\])? <= ", re.MULTILINE)


def sleeping(verilog: str) -> str:
    """Return a generated device in which sleeping blocks have no clock."""
    device = _device(verilog)
    path, scope = device["path"], _scope(device)
    signals = {
        block: scope + signal
        for signal, blocks in _SLEEPERS.items()
        if f"\n  wire {signal};\n" in device[0]
        for block in blocks
    }
    sleeper = re.compile(rf"^module \\{re.escape(path)}\.({'|'.join(signals)})[ .]", re.MULTILINE)

    def module(text: str) -> str:
        block = sleeper.search(text)
        if block is None:
            return text
        sleepless = set(_SLEEPLESS.findall(text))

        def process(match: re.Match[str]) -> str:
            assigned = _ASSIGNED.search(match["body"])
            if assigned is None or assigned[1] in sleepless:
                return match[0]
            awake = _BUSY.get(block[1], "") + signals[block[1]]
            return f"  always @(posedge clk iff {awake}){match['body']}"

        return _PROCESS.sub(process, text)

    return "".join(module(text) for text in _MODULE_END.split(verilog))


def sleeping_bus(bus: str, verilog: str) -> str:
    """Return the text of ``qs_agent_bus`` without a clock while it sleeps in a generated device."""
    awake = _BUS_AWAKE.format(link_awake=f"{_scope(_device(verilog))}link_awake")
    return bus.replace(_BUS_CLOCK, f"always_ff @(posedge clk_i iff ({awake}))")


def _device(verilog: str) -> re.Match[str]:
    """Find the module of the device, whose name is its path in the design."""
    device = _DEVICE.search(verilog)
    if device is None:
        raise ValueError("the Verilog is not that of a device: it has no signal 'awake'")
    return device


def _scope(device: re.Match[str]) -> str:
    """Return the start of a device signal's name, escaped because it may be a keyword."""
    return "".join(f"\\{part} ." for part in device["path"].split("."))
