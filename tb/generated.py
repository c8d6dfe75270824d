"""Verilog generated for a configuration, cached in each process because generation takes seconds."""

import tempfile
from functools import cache
from pathlib import Path

from qstep.spec.config import Config
from qstep_rtl.generate import generate, generated_files

__all__ = ["core_of", "generated", "whole"]


@cache
def generated(config: Config) -> dict[str, str]:
    """Return the text of each generated Verilog file by module name; callers must not change it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(config, folder)
        return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.v")}


def whole(config: Config, top: str = "qstep_device") -> str:
    """Return the generated Verilog of a top module, including a farm's islands."""
    names = generated_files(config, top)
    return "".join(generated(config)[Path(name).stem] for name in names)


def core_of(config: Config) -> str:
    """Return the name of the hand-written module in a generated device that yosys must leave out."""
    if config.acting is None:
        return "qs_lane"
    return "qs_acting" if config.acting.is_table else "qs_agents"
