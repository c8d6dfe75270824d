"""The generated Verilog of a configuration; it takes seconds, so it is made once per process."""

import tempfile
from functools import cache
from pathlib import Path

from qstep.spec.config import Config
from qstep_rtl.generate import generate

__all__ = ["core_of", "generated"]


@cache
def generated(config: Config) -> dict[str, str]:
    """Return the text of each generated Verilog file by the name of its top; do not change it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(config, folder)
        return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.v")}


def core_of(config: Config) -> str:
    """Return the hand-written module in a generated device that yosys must leave out."""
    if config.acting is None:
        return "qs_lane"
    return "qs_acting" if config.acting.is_table else "qs_agents"
