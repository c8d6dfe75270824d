"""``qstep generate``: write the hardware of a configuration as Verilog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from qstep._io import cache, extras
from qstep._io.files import write_atomically
from qstep.cli._options import FILE, config_from, config_options, option, refuse
from qstep.cli._output import room_for
from qstep.golden.planes_bench import bench_data
from qstep.spec.planes import CPP_HEADER, PRESETS, config_header

__all__ = ["command"]

_Flat: TypeAlias = Callable[[str, Sequence[Path]], str]
"""Function that merges a top module and its sources into the text of one file."""


@click.command("generate", short_help="Write the Verilog of a configuration.")
@config_options
@option(
    "--bus",
    "Replace the link: AXI4-Lite for control, AXI4-Stream for transitions or a live world.",
    type=click.Choice(["axi"]),
)
@option(
    "--stream-bytes",
    "With --bus: bytes per beat of the streams.",
    type=click.Choice(["4", "8", "16"]),
    default="4",
)
@option(
    "--flat",
    "Also write each top as one file of plain Verilog-2005, for tools without SystemVerilog.",
    is_flag=True,
)
@option(
    "--preset",
    "The learner of a published prefetcher or cache instead of a table (docs/learner.md).",
    type=click.Choice(list(PRESETS)),
)
@option("--cpp", "With --preset: write its model as a C++17 header.", is_flag=True)
@option("--out", "Folder to write to.", "folder", type=FILE, required=True)
def command(
    folder: Path,
    bus: str | None,
    stream_bytes: str,
    flat: bool,
    preset: str | None,
    cpp: bool,
    **geometry: Any,
) -> None:
    """Write the complete Verilog of a configuration, and a manifest of its sources.

    The folder contains two top modules to choose from, qstep_device.v with byte streams and qstep_top.v
    with a UART, and the hand-written SystemVerilog that both instantiate. With --bus axi it contains
    qstep_axi.sv instead, with a C header and an HTML page of its registers, an instantiation template, a
    bench in plain Verilog, and C code for a first transaction. --flat adds one self-contained file per
    top, such as qstep_device_flat.v.

    --preset writes qstep_learner.sv, the SystemVerilog that it instantiates, and a bench in plain
    Verilog that compares its outputs with those of the model. With --cpp it writes the learner's C++
    header, qstep/planes.hpp, and the preset's constants instead.
    """
    if preset is not None:
        refuse(["bus", "stream_bytes", *geometry], "cannot be combined with --preset")
        if cpp:
            refuse(["flat"], "cannot be combined with --cpp")
            _write_cpp(preset, folder)
        else:
            _write_learner(preset, folder, flat)
        return
    refuse(["cpp"], "requires --preset")
    if bus is None:
        refuse(["stream_bytes"], "requires --bus")
    config = config_from(**geometry)

    from qstep_rtl import sources
    from qstep_rtl.generate import MANIFEST_NAME, generate

    cache.lend()
    flat_verilog = _flat_verilog() if flat else None
    if bus is None:
        manifest = generate(config, folder)
        for path in (*sources.rtl_files(config), *sources.includes()):
            write_atomically(folder / path.name, path.read_bytes())
    else:
        bus_generate = extras.load("qstep_rtl.bus.generate", "bus")
        manifest = bus_generate.generate_axi(config, folder, int(stream_bytes))
    said: dict[str, str] = {}
    for name, top in manifest.tops.items():
        files = [folder / source for source in (*manifest.sources, top["file"])]
        said |= _write_flat(folder, name, files, flat_verilog)
    said |= {top["file"]: f"module {name}" for name, top in manifest.tops.items()}
    said |= {path.name: "included by the sources" for path in sources.includes()}
    if bus is not None:
        names = extras.load("qstep_rtl.bus.registers", "bus")
        block = bus_generate.block_of(config)
        said[names.header_name(block)] = "register header for C"
        said[names.page_name(block)] = "register reference (HTML)"
        start = extras.load("qstep_rtl.bus.start", "bus")
        said[f"{bus_generate.TOP}.f"] = "file list for -f"
        said |= start.FILES
    said[MANIFEST_NAME] = f"digest {config.digest[:16]}"
    for name, what in said.items():
        click.echo(f"{folder / name}  {what}")
    listed = MANIFEST_NAME if bus is None else f"{bus_generate.TOP}.f"
    click.echo(f"{len(manifest.sources)} SystemVerilog sources, listed in {folder / listed}")


def _flat_verilog() -> _Flat:
    """Return the function that makes a flat file; raise ToolMissingError if its package is missing."""
    found: _Flat = extras.load("qstep_fpga.flat", "fpga").flat_verilog
    return found


def _write_flat(
    folder: Path, top: str, files: Sequence[Path], flat_verilog: _Flat | None
) -> dict[str, str]:
    """Write the flat file of a top, or remove an earlier one; return its name and description."""
    path = folder / f"{top}_flat.v"
    if flat_verilog is None:
        path.unlink(missing_ok=True)  # an earlier file may belong to another configuration
        return {}
    write_atomically(path, flat_verilog(top, files).encode())
    return {path.name: f"{top} in a single file"}


def _write_learner(preset: str, folder: Path, flat: bool) -> None:
    """Write the hardware of a preset."""
    from qstep_rtl.learner import BENCH, TOP, generate_learner

    cache.lend()
    flat_verilog = _flat_verilog() if flat else None
    files = generate_learner(PRESETS[preset], folder)
    for name, content in bench_data(PRESETS[preset]).items():
        write_atomically(folder / name, content)
    for name, what in _write_flat(folder, TOP, files, flat_verilog).items():
        click.echo(f"{folder / name}  {what}")
    click.echo(f"{files[-1]}  module {TOP}, the learner {preset}")
    click.echo(f"{folder / TOP}.f  file list for -f")
    click.echo(f"{folder / BENCH}  a testbench to run with them")


def _write_cpp(preset: str, folder: Path) -> None:
    """Write the learner's C++ header, and the preset's header, which includes it."""
    header, own = folder / "qstep" / CPP_HEADER.name, folder / f"{preset}.hpp"
    with room_for(header, own):
        write_atomically(header, CPP_HEADER.read_bytes())
        write_atomically(own, config_header(preset, PRESETS[preset]).encode())
    click.echo(f"{own}  struct qstep::{preset.capitalize()}, to be included")
    click.echo(f"{header}  the learner and its queue, included by it")
