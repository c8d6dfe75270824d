"""Writes the lane of a configuration on AXI: a top, its registers, and a manifest."""

from __future__ import annotations

import hashlib
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from qstep.checks import integer
from qstep.config import Config
from qstep.errors import ConfigError
from qstep.files import make_folder, write_atomically
from qstep_rtl import sources
from qstep_rtl.bus.registers import ADDRESS_BITS, HEADER, PAGE, write_block, write_documents
from qstep_rtl.generate import MANIFEST_NAME, Manifest

__all__ = ["HEADER", "PAGE", "STREAM_BYTES", "TOP", "generate_axi", "wrapper_paths"]

TOP = "qstep_axi"

STREAM_BYTES = (4, 8, 16)
"""What a beat of the streams can have."""

_WRAPPER = (
    *("qs_bus_fifo", "qs_bus_collect", "qs_bus_spread", "qs_bus_guard", "qs_bus_stream"),
    *("qs_bus_host", "qs_axi_lane"),
)

_Ports = dict[str, dict[str, Any]]


def wrapper_paths() -> list[Path]:
    """Return the hand-written sources around the lane, leaves first; they need the register block."""
    return [sources.INCLUDE_FOLDER / f"{name}.sv" for name in _WRAPPER]


def _channel(prefix: str, **bits: int) -> _Ports:
    """Return the ports of a channel into the device: the only output is ready."""
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
    parameters = {
        "States": config.states,
        "Actions": config.actions,
        "Width": config.format.width,
        "Fraction": config.format.fraction,
        "LoopDepth": config.loop_depth,
        "StreamBytes": stream_bytes,
        "Digest": f"64'h{config.digest[:16]}",
    }
    given = ",\n".join(f"      .{name}({value})" for name, value in parameters.items())
    return (
        f"// Written by qstep generate --bus axi: {config.table_type}, digest {config.digest[:16]}.\n"
        f"module {TOP} (\n{declared}\n);\n"
        f"  qs_axi_lane #(\n{given}\n  ) u_lane (\n      .*\n  );\nendmodule\n"
    )


def generate_axi(config: Config, folder: Path, stream_bytes: int = 4) -> Manifest:
    """Write ``qstep_axi.sv`` and all that it is made of, documents of its registers, and a manifest.

    Parameters
    ----------
    config : Config
        What to build: a lane, that is, without agents.
    folder : Path
        Where to write; made if it is absent.
    stream_bytes : int
        Bytes of a beat of the streams: 4, 8 or 16.

    Returns
    -------
    Manifest
        What ``manifest.json`` says; its sources are in compile order, generated ones too.

    Raises
    ------
    ConfigError
        The configuration has agents, or `stream_bytes` is another number.
    FileFormatError
        The folder cannot be written.
    """
    if config.acting is not None:
        raise ConfigError(
            f"acting has {config.acting.agents} agents; on a bus there is a lane without agents"
        )
    if integer("stream_bytes", stream_bytes, STREAM_BYTES[0], STREAM_BYTES[-1]) not in STREAM_BYTES:
        raise ConfigError(f"stream_bytes is {stream_bytes}; it must be 4, 8 or 16")
    (package, *lane), wrapper = sources.rtl_files(config), wrapper_paths()
    ports = _ports(stream_bytes)
    design = {path.name: path.read_bytes() for path in (package, *lane, *wrapper)}
    design |= {path.name: path.read_bytes() for path in sources.includes()}
    design[f"{TOP}.sv"] = _top(config, stream_bytes, ports).encode()
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        block = write_block(made)
        design |= {path.name: path.read_bytes() for path in block}
        write_documents(made)
        documents = {
            path.relative_to(made).as_posix(): path.read_bytes()
            for path in made.rglob("*")
            if path.is_file()
        }
    manifest = Manifest(
        config=config.to_dict(),
        digest=config.digest,
        tops={TOP: {"file": f"{TOP}.sv", "ports": ports}},
        sources=[path.name for path in (package, *block, *lane, *wrapper)],
        files={name: hashlib.sha256(content).hexdigest() for name, content in design.items()},
        versions={
            name: metadata.version(name) for name in ("peakrdl-regblock", "systemrdl-compiler")
        },
    )
    written = {**documents, **design, MANIFEST_NAME: manifest.to_json().encode()}
    for name, content in written.items():
        make_folder((folder / name).parent)
        write_atomically(folder / name, content)
    return manifest
