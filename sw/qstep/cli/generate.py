"""``qstep generate``: write the hardware of a configuration as Verilog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qstep.cli._options import config_from, config_options

__all__ = ["command"]


@click.command("generate", short_help="Write the Verilog of a configuration.")
@config_options
@click.option(
    "--out", "folder", type=click.Path(path_type=Path), required=True, help="Folder to write to."
)
def command(folder: Path, **geometry: Any) -> None:
    """Write the Verilog of a configuration, and a manifest of what it is made of."""
    config = config_from(**geometry)

    from qstep_rtl.generate import MANIFEST_NAME, generate

    manifest = generate(config, folder)
    for name, top in manifest.tops.items():
        click.echo(f"{folder / top['file']}  module {name}")
    click.echo(f"{folder / MANIFEST_NAME}  digest {config.digest[:16]}")
    click.echo(f"to be read before: {', '.join(manifest.sources)}")
