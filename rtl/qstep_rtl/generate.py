"""Writes the hardware of a configuration as Verilog, with a manifest of its sources."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from amaranth.back import verilog
from amaranth.lib.wiring import Component, In

from qstep._io.files import make_folder, write_atomically
from qstep.spec.config import Config
from qstep_rtl import sources
from qstep_rtl.agents import check_room
from qstep_rtl.device import ByteDevice, UartDevice
from qstep_rtl.generated_top import GeneratedTop
from qstep_rtl.invariants import as_verilog
from qstep_rtl.island import ISLAND_FILE, island_files

__all__ = ["MANIFEST_NAME", "Manifest", "generate", "generated_files"]

MANIFEST_NAME = "manifest.json"

_TOPS = {"qstep_device": ByteDevice, "qstep_top": UartDevice}


def generated_files(config: Config, top: str) -> list[str]:
    """Return the names of a top module's generated files in compile order."""
    return [*([ISLAND_FILE] if config.lanes > 1 else []), f"{top}.v"]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A record of the generated files and their inputs.

    Attributes
    ----------
    config : dict
        The configuration, from :meth:`qstep.Config.to_dict`.
    digest : str
        SHA-256 of the configuration.
    tops : dict
        Generated file and ports of each top module; the ports map a name to its direction and width.
    sources : list of str
        Files to read before a top module's file, in compile order.
    files : dict
        SHA-256 of every generated and hand-written file, by name.
    versions : dict
        Versions of the tools that wrote the Verilog.
    """

    config: dict[str, Any]
    digest: str
    tops: dict[str, dict[str, Any]]
    sources: list[str]
    files: dict[str, str]
    versions: dict[str, str]

    def to_json(self) -> str:
        """Return the manifest as JSON text with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True, indent=2) + "\n"


def _ports(top: Component) -> dict[str, dict[str, Any]]:
    return {
        path[0]: {"direction": "input" if member.flow == In else "output", "bits": len(value)}
        for path, member, value in top.signature.flatten(top)
    }


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def generate(config: Config, folder: Path) -> Manifest:
    """Write ``qstep_device.v``, ``qstep_top.v``, ``qs_island.v`` for several lanes, and a manifest.

    ``qstep_device`` has byte streams (clk, rst, rx_valid, rx_ready, rx_data[8], tx_valid, tx_ready,
    tx_data[8], divisor[16], line_break, build[64]). ``qstep_top`` adds a UART to it (clk, rst, rx, tx,
    build[64]). `build` is the identity in the answer to HELLO, first byte lowest. Both need the
    hand-written modules of :mod:`qstep_rtl.sources` and, with several lanes, ``qs_island``. No module
    name occurs in two files.

    Parameters
    ----------
    config : Config
        What to build.
    folder : Path
        The folder to write to; created if necessary.

    Returns
    -------
    Manifest
        The content of ``manifest.json``.

    Raises
    ------
    ConfigError
        The agents do not fit in hardware, or the world's file does not exist.
    FileFormatError
        The folder cannot be written.

    Notes
    -----
    The same configuration, sources and tool versions produce the same bytes.
    """
    check_room(config)
    tops, texts = {}, {}
    for name, kind in _TOPS.items():
        top = GeneratedTop(kind(config))
        texts[f"{name}.v"] = as_verilog(top, name)
        tops[name] = {"file": f"{name}.v", "ports": _ports(top)}
    islands = island_files(config)
    generated = {name: text.encode() for name, text in {**texts, **islands}.items()}

    written_by_hand = {path.name: path.read_bytes() for path in sources.rtl_files(config)}
    others = (*sources.includes(), *sources.circuit(config))
    included = {path.name: path.read_bytes() for path in others}
    manifest = Manifest(
        config=config.to_dict(),
        digest=config.digest,
        tops=tops,
        sources=[*written_by_hand, *islands],
        files={
            name: _sha256(content)
            for name, content in (generated | written_by_hand | included).items()
        },
        versions={
            "amaranth": metadata.version("amaranth"),
            "yosys": ".".join(map(str, verilog.find_yosys(lambda version: True).version())),
        },
    )
    make_folder(folder)
    for name, content in {**generated, MANIFEST_NAME: manifest.to_json().encode()}.items():
        write_atomically(folder / name, content)
    return manifest
