"""The link's generated blocks that have proofs, as Verilog."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from amaranth.back import verilog
from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    Const,
    EnableInserter,
    Module,
    ResetSignal,
    Value,
)
from amaranth.hdl._ir import PortDirection
from amaranth.lib.wiring import Component, In, Out, connect, flipped
from tb.bench import TB

from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.fixed import QFormat
from qstep_rtl.chain_head import ChainHead
from qstep_rtl.cobs import CobsDecoder, CobsEncoder
from qstep_rtl.commands import Commands
from qstep_rtl.crc32 import Crc32
from qstep_rtl.crossing import LANES, Crossing
from qstep_rtl.handle_agents import AgentsHandler, AgentsSignature
from qstep_rtl.invariants import GENERATED
from qstep_rtl.record_decoder import RecordDecoder
from qstep_rtl.session import Session
from qstep_rtl.table_access import TableAccess

__all__ = ["BLOCKS", "block", "ports"]

_LANE = Config(states=12, actions=3, format=QFormat(5, 8))
_FARM = Config(states=25, actions=4, acting=Acting(agents=4), lanes=2)
_LONG_FARM = Config(states=25, actions=4, acting=Acting(agents=20), lanes=5)


class _TickedCrossing(Component):
    """The crossing with an enable input for each of its two clocks, to model any pair of clocks."""

    def __init__(self) -> None:
        agents = AgentsSignature(_FARM.lanes)
        ticks = {f"{domain}_ticks": In(1) for domain in ("sync", LANES)}
        super().__init__({"host": In(agents), "agents": Out(agents), "reset": Out(1), **ticks})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner = Crossing(_FARM.lanes)
        ticks = {"sync": self.sync_ticks, LANES: self.lanes_ticks}
        m.domains += ClockDomain(LANES)
        m.submodules.crossing = EnableInserter(ticks)(inner)
        connect(m, flipped(self.host), inner.host)
        connect(m, inner.agents, flipped(self.agents))
        m.d.comb += [
            ClockSignal(LANES).eq(ClockSignal()),
            ResetSignal(LANES).eq(inner.reset & self.lanes_ticks),  # resets ignore enables
            self.reset.eq(inner.reset),
        ]
        return m


BLOCKS: dict[str, Callable[[], Component]] = {
    "chain_head.v": partial(ChainHead, _LONG_FARM),
    "cobs_decoder.v": CobsDecoder,
    "cobs_encoder.v": CobsEncoder,
    "agents_handler.v": partial(AgentsHandler, _FARM),
    "commands.v": partial(Commands, _FARM),
    "commands_lane.v": partial(Commands, _LANE),
    "crc32.v": Crc32,
    "crossing.v": _TickedCrossing,
    "record_decoder.v": partial(RecordDecoder, _LANE),
    "session.v": Session,
    "table_access.v": partial(TableAccess, _LANE),
}
"""The generator of each file; the module has the same name as the file."""


def ports(component: Component) -> dict[str, tuple[Value, PortDirection]]:
    """Return a component's ports by name, except for constant ports such as a fixed `ready`."""
    return {
        "__".join(map(str, path)): (
            port,
            PortDirection.Input if member.flow is In else PortDirection.Output,
        )
        for path, member, value in component.signature.flatten(component)
        if not isinstance(port := Value.cast(value), Const)
    }


@cache
def block(name: str) -> Path:
    """Write a block's Verilog, as generated for a device, and return the file's path."""
    path = TB.parent / "build" / "formal" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    component = BLOCKS[name]()
    text = verilog.convert(
        component,
        name=path.stem,
        ports=ports(component),
        platform=GENERATED,
        emit_src=False,
        strip_internal_attrs=True,
    )
    path.write_text(text, encoding="utf-8")
    return path
