"""The generated blocks of the link that have proofs, as Verilog."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from amaranth.back import verilog
from amaranth.lib.wiring import Component
from tb.bench import TB

from qstep.acting.config import Acting
from qstep.config import Config
from qstep_rtl.cobs import CobsDecoder, CobsEncoder
from qstep_rtl.commands import Commands
from qstep_rtl.crc32 import Crc32
from qstep_rtl.handle_agents import AgentsHandler
from qstep_rtl.invariants import GENERATED
from qstep_rtl.session import Session

__all__ = ["BLOCKS", "block"]

_FARM = Config(states=25, actions=4, acting=Acting(agents=4), lanes=2)

BLOCKS: dict[str, Callable[[], Component]] = {
    "cobs_decoder.v": CobsDecoder,
    "cobs_encoder.v": CobsEncoder,
    "agents_handler.v": partial(AgentsHandler, _FARM),
    "commands.v": partial(Commands, _FARM),
    "crc32.v": Crc32,
    "session.v": Session,
}
"""The generator of each file; its module has the name of the file."""


@cache
def block(name: str) -> Path:
    """Write the Verilog of a block, as generated for a device, and return its path."""
    path = TB.parent / "build" / "formal" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = verilog.convert(
        BLOCKS[name](),
        name=path.stem,
        platform=GENERATED,
        emit_src=False,
        strip_internal_attrs=True,
    )
    path.write_text(text, encoding="utf-8")
    return path
