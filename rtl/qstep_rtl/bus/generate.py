"""Writes a configuration's lane or agents for AXI: a top module, its registers, and a manifest."""

from __future__ import annotations

import hashlib
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from qstep._io.files import make_folder, write_atomically
from qstep.errors import ConfigError
from qstep.spec.checks import integer
from qstep.spec.config import Config
from qstep_rtl import sources
from qstep_rtl.agents import check_room
from qstep_rtl.bus.agents_core import CORE, agents_core, stream_numbers, stream_planes
from qstep_rtl.bus.registers import ADDRESS_BITS, AGENTS, LANE, write_block, write_documents
from qstep_rtl.bus.start import start_files
from qstep_rtl.generate import MANIFEST_NAME, Manifest

__all__ = ["STREAM_BYTES", "TOP", "block_of", "check_bus", "generate_axi", "wrapper_paths"]

TOP = "qstep_axi"

STREAM_BYTES = (4, 8, 16)
"""Legal numbers of bytes per stream beat."""

_FILESETS = {LANE: "bus_lane", AGENTS: "bus_agents"}

_Ports = dict[str, dict[str, Any]]


def block_of(config: Config) -> str:
    """Return the name of a configuration's register block on a bus."""
    return LANE if config.acting is None else AGENTS


def wrapper_paths(block: str) -> list[Path]:
    """Return the hand-written sources of the wrapper, leaves first, without the registers."""
    return sources.fileset("bus", _FILESETS[block])


def check_bus(config: Config) -> None:
    """Raise ConfigError if a device cannot be built, or cannot be built with a bus."""
    acting = config.acting
    if acting is None:
        return
    if config.lanes > 1:
        raise ConfigError(f"lanes is {config.lanes}; it must be 1 with --bus")
    if acting.is_live:
        raise ConfigError("acting.world is 'live'; with --bus, use 'pins' for an external world")
    if acting.clock_hz is not None:
        raise ConfigError(
            f"acting.clock_hz is {acting.clock_hz}; with --bus, agents run on the bus clock: "
            "remove it"
        )
    check_room(config)


def _channel(prefix: str, **bits: int) -> _Ports:
    """Return the ports of a channel into the device; its only output is ready."""
    return {
        f"{prefix}{name}": {"direction": "output" if name == "ready" else "input", "bits": size}
        for name, size in {"valid": 1, "ready": 1, **bits}.items()
    }


def _turned(ports: _Ports) -> _Ports:
    ways = {"input": "output", "output": "input"}
    return {name: {**port, "direction": ways[port["direction"]]} for name, port in ports.items()}


def _ports(stream_bytes: int) -> _Ports:
    beat = {"data": 8 * stream_bytes, "last": 1}
    address = {"addr": ADDRESS_BITS, "prot": 3}
    return {
        "aclk": {"direction": "input", "bits": 1},
        "aresetn": {"direction": "input", "bits": 1},
        **_channel("s_axil_aw", **address),
        **_channel("s_axil_w", data=32, strb=4),
        **_turned(_channel("s_axil_b", resp=2)),
        **_channel("s_axil_ar", **address),
        **_turned(_channel("s_axil_r", data=32, resp=2)),
        **_channel("s_axis_t", **beat),
        **_turned(_channel("m_axis_t", **beat)),
    }


def _top(config: Config, stream_bytes: int, ports: _Ports) -> str:
    declared = ",\n".join(
        f"    {port['direction']} logic [{port['bits'] - 1}:0] {name}"
        if port["bits"] > 1
        else f"    {port['direction']} logic {name}"
        for name, port in ports.items()
    )
    acting = config.acting
    kind = {"CoeffFraction": config.coefficient_bits, "LoopDepth": config.loop_depth}
    if acting is not None:
        kind = {
            "Agents": acting.agents,
            "Planes": stream_planes(config),
            "Numbers": stream_numbers(config),
            "AtPins": int(acting.is_at_pins),
        }
    parameters = {
        "States": config.states,
        "Actions": config.actions,
        "Width": config.format.width,
        "Fraction": config.format.fraction,
        **kind,
        "StreamBytes": stream_bytes,
        "Digest": f"64'h{config.digest[:16]}",
    }
    given = ",\n".join(f"      .{name}({value})" for name, value in parameters.items())
    wrapper = wrapper_paths(block_of(config))[-1].stem
    return (
        f"// Written by qstep generate --bus axi: {config.table_type}, digest {config.digest[:16]}.\n"
        f"module {TOP} (\n{declared}\n);\n"
        f"  {wrapper} #(\n{given}\n  ) u_device (\n      .*\n  );\nendmodule\n"
    )


def generate_axi(config: Config, folder: Path, stream_bytes: int = 4) -> Manifest:
    """Write ``qstep_axi.sv`` with all its sources, register documentation, and a manifest.

    ``qstep_axi.f`` lists the files in compile order, for command lines. :mod:`qstep_rtl.bus.start` adds
    a testbench and a first transaction in C.

    Parameters
    ----------
    config : Config
        What to build: a lane, or agents in one lane.
    folder : Path
        The folder to write to; created if necessary.
    stream_bytes : int
        Bytes per stream beat: 4, 8 or 16.

    Returns
    -------
    Manifest
        The content of ``manifest.json``; its sources, including generated ones, are in compile order.

    Raises
    ------
    ConfigError
        `stream_bytes` is not legal, or the agents have several lanes, a separate clock or a live world,
        or do not fit.
    FileFormatError
        The folder cannot be written.
    """
    check_bus(config)
    if integer("stream_bytes", stream_bytes, STREAM_BYTES[0], STREAM_BYTES[-1]) not in STREAM_BYTES:
        raise ConfigError(f"stream_bytes is {stream_bytes}; it must be 4, 8 or 16")
    block, ports = block_of(config), _ports(stream_bytes)
    by_hand, wrapper = sources.rtl_files(config), wrapper_paths(block)
    design = {p.name: p.read_bytes() for p in (*by_hand, *wrapper, *sources.includes())}
    design[f"{TOP}.sv"] = _top(config, stream_bytes, ports).encode()
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        generated = write_block(block, made)
        if block == AGENTS:
            generated.append(made / f"{CORE}.v")
            generated[-1].write_text(agents_core(config), encoding="utf-8")
        design |= {path.name: path.read_bytes() for path in generated}
        write_documents(block, made)
        others = (path for path in made.rglob("*") if path.is_file())
        documents = {path.relative_to(made).as_posix(): path.read_bytes() for path in others}
    order = [path.name for path in (*by_hand, *generated, *wrapper)]
    documents |= start_files(config, block, TOP, ports, stream_bytes)
    documents[f"{TOP}.f"] = "".join(f"{name}\n" for name in (*order, f"{TOP}.sv")).encode()
    manifest = Manifest(
        config=config.to_dict(),
        digest=config.digest,
        tops={TOP: {"file": f"{TOP}.sv", "ports": ports}},
        sources=order,
        files={name: hashlib.sha256(content).hexdigest() for name, content in design.items()},
        versions={
            name: metadata.version(name)
            for name in ("amaranth", "peakrdl-regblock", "systemrdl-compiler")
        },
    )
    written = {**documents, **design, MANIFEST_NAME: manifest.to_json().encode()}
    for name, content in written.items():
        make_folder((folder / name).parent)
        write_atomically(folder / name, content)
    return manifest
