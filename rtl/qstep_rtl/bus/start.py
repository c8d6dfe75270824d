"""A starting point for integrators: an instantiation template, a bench and a first transaction in C.

The bench and the C file come from ``rtl/bench``; their constants are generated.
"""

from __future__ import annotations

from typing import Any

from qstep.spec.agents import Algorithm
from qstep.spec.config import Config
from qstep.spec.fixed import COEFFICIENT_WIDTH, coefficients
from qstep.spec.memory_map import INDEX, LIMIT
from qstep_rtl import sources
from qstep_rtl.bus.agents_core import record_bytes, stream_numbers
from qstep_rtl.bus.registers import AGENTS, LANE, registers

__all__ = ["BENCH", "CONFIG", "FILES", "FIRST", "INSTANCE", "start_files"]

BENCH, FIRST, INSTANCE = "qstep_axi_bench.v", "qstep_axi_first.c", "qstep_axi_instance.vh"
SIGNALS, TASKS, HEADER = "qstep_axi_signals.vh", "qs_axi_bench.vh", "qstep_axi_first.h"
CONFIG = "qstep_axi_config"
"""Constants of a configuration, with the suffix .vh for the bench and .h for C."""

FILES = {
    INSTANCE: "instantiation template",
    BENCH: "a bench",
    **dict.fromkeys((SIGNALS, TASKS, f"{CONFIG}.vh"), "included by the bench"),
    FIRST: "a first transaction, for C",
    **dict.fromkeys((HEADER, f"{CONFIG}.h"), "included by the first transaction"),
}
"""Description of each file."""

_STEMS = {LANE: "qs_axi_lane", AGENTS: "qs_axi_agents"}
_GAMMA = 0.9


def start_files(
    config: Config, block: str, top: str, ports: dict[str, dict[str, Any]], stream_bytes: int
) -> dict[str, bytes]:
    """Return the content of each file by name; the parameters are those of ``generate_axi``."""
    folder = sources.RTL / "bench"
    constants, digest = _constants(config), config.digest[:16]
    constants["STREAM_BYTES"] = stream_bytes
    texts = {
        INSTANCE: _instance(top, ports),
        SIGNALS: _signals(ports),
        f"{CONFIG}.vh": _verilog(block, digest, constants),
        f"{CONFIG}.h": _c(digest, constants),
        BENCH: (folder / f"{_STEMS[block]}_bench.v").read_text(encoding="utf-8"),
        FIRST: (folder / f"{_STEMS[block]}_first.c").read_text(encoding="utf-8"),
    }
    for name in (TASKS, HEADER):
        texts[name] = (folder / name).read_text(encoding="utf-8")
    return {name: text.encode() for name, text in texts.items()}


def _constants(config: Config) -> dict[str, int]:
    # alpha is the greatest power of two up to 1/2 that fits its width. The reward is a multiple of 1 /
    # alpha, or 0 if no such multiple fits the format, so that the first update is exact in every
    # rounding mode.
    bits, most = config.coefficient_bits, config.format.maximum
    shift = max(1, bits - COEFFICIENT_WIDTH + 1)
    c = coefficients(2.0**-shift, _GAMMA, bits)
    reward = max(1 << shift, min(1 << config.format.fraction, most) >> shift << shift)
    reward = reward if reward <= most else 0
    constants = {"STATES": config.states, "ACTIONS": config.actions, "REWARD": reward}
    constants["RECORD_BYTES"] = record_bytes(config)
    constants |= {"RESULT": reward >> shift, "ALPHA": c.alpha, "KAPPA": c.kappa}
    acting = config.acting
    if acting is None:
        return constants
    return constants | {
        "AGENTS": acting.agents,
        "TABLES": 2 if acting.algorithm is Algorithm.DOUBLE_Q_LEARNING else config.planes,
        "PLANES": config.planes if acting.is_at_pins else 1,
        "NUMBERS": stream_numbers(config),
        "SHARED": int(acting.shared_table),
        "AT_PINS": int(acting.is_at_pins),
        "OUTCOMES": acting.outcomes if acting.is_table else 0,
        "START_SLOTS": acting.starts,
        **_map(),
    }


def _map() -> dict[str, int]:
    """Return each region's number, and the lowest bit of each field of its indexes."""
    places = {region.name: int(region) for region in INDEX} | {"LIMIT_WORD": LIMIT.number}
    for region, fields in INDEX.items():
        for field, bit in fields.offsets.items():
            places[f"{region.name}_{field.upper()}_BIT"] = bit
    return places


def _signals(ports: dict[str, dict[str, Any]]) -> str:
    """Return a declaration of each signal, as a bench drives or reads it."""
    lines = []
    for name, port in ports.items():
        kind = "reg " if port["direction"] == "input" else "wire"
        bits = f"[{port['bits'] - 1}:0] " if port["bits"] > 1 else ""
        lines.append(f"  {kind} {bits}{name};\n")
    return "".join(lines)


def _instance(top: str, ports: dict[str, dict[str, Any]]) -> str:
    lines = ["  // Include this in a module whose signals have the ports' names, or copy it."]
    lines.append(f"  {top} u_qstep (")
    for number, (name, port) in enumerate(ports.items(), 1):
        comma = "," if number < len(ports) else ""
        lines.append(f"      .{name}({name}){comma}  // {port['direction']}, {_bits(port['bits'])}")
    return "\n".join([*lines, "  );", ""])


def _bits(count: int) -> str:
    return "1 bit" if count == 1 else f"{count} bits"


def _verilog(block: str, digest: str, constants: dict[str, int]) -> str:
    lines = [f"[63:0] DIGEST = 64'h{digest};"]
    lines += [f"[31:0] {name} = {value};" for name, value in constants.items()]
    lines += [
        f"[11:0] REG_{name.upper()} = 12'h{register.address:03x};"
        for name, register in registers(block).items()
    ]
    return "".join(f"  localparam {line}\n" for line in lines)


def _c(digest: str, constants: dict[str, int]) -> str:
    lines = [f"#define QSTEP_DIGEST 0x{digest}ull"]
    lines += [f"#define QSTEP_{name} {value}" for name, value in constants.items()]
    return "".join(f"{line}\n" for line in lines)
