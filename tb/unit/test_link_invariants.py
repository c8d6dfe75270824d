"""The blocks assert what their headers promise or require; each assertion can fail."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component
from tb.generated import generated
from tb.planted import faults, plant_python
from tb.unit.streams import pulse_bytes, send, simulate

from qstep.acting.config import Acting
from qstep.config import Config
from qstep.link.frames import encode_frame
from qstep.protocol import ARGUMENTS, HEADER, Region, Request, StatusCode
from qstep_rtl.cobs import CobsDecoder, CobsEncoder
from qstep_rtl.commands import Commands
from qstep_rtl.counters import Counters
from qstep_rtl.handle_agents import AgentsHandler
from qstep_rtl.handle_rate import RateHandler
from qstep_rtl.handle_settings import SettingsHandler
from qstep_rtl.receiver import Receiver
from qstep_rtl.record_decoder import RecordDecoder
from qstep_rtl.request_reader import RequestReader
from qstep_rtl.responder import Responder
from qstep_rtl.ring import RingReader
from qstep_rtl.session import Session
from qstep_rtl.table_access import AccessTask, TableAccess
from qstep_rtl.uart import UartSender

pytestmark = pytest.mark.unit

CONFIG = Config(states=25, actions=3)
ACTING = Config(states=25, actions=3, acting=Acting(agents=4))
MEMORY = Memory(shape=8, depth=16, init=[])


async def leave_the_totals(ctx: Any, counters: Counters) -> None:
    ctx.set(counters.start, 1)
    await ctx.tick()
    ctx.set(counters.start, 0)
    await ctx.tick().repeat(400)


async def write_a_reward_under_a_record(ctx: Any, decoder: RecordDecoder) -> None:
    ctx.set(decoder.records.bytes.valid, 1)
    await ctx.tick().until(decoder.records.busy)
    ctx.set(decoder.rewards.write, 1)
    await ctx.tick().repeat(2)


async def begin_a_move_in_another(ctx: Any, access: TableAccess) -> None:
    ctx.set(access.request.task, AccessTask.CLEAR)
    ctx.set(access.request.move, 1)
    await ctx.tick().repeat(3)


async def answer_twice(ctx: Any, session: Session) -> None:
    ctx.set(session.judge, 1)
    await ctx.tick()
    ctx.set(session.judge, 0)
    ctx.set(session.finish, 1)
    await ctx.tick().repeat(3)


async def send_with_too_small_a_divisor(ctx: Any, sender: UartSender) -> None:
    ctx.set(sender.divisor, 7)
    ctx.set(sender.bytes.valid, 1)
    await ctx.tick().repeat(200)


async def move_the_limit_back(ctx: Any, reader: RingReader) -> None:
    ctx.set(reader.limit, 3)
    await ctx.tick().repeat(4)
    ctx.set(reader.limit, ctx.get(reader.read))
    await ctx.tick().repeat(3)


async def give_data_to_an_answer_that_has_none(ctx: Any, responder: Responder) -> None:
    ctx.set(responder.line.ready, 1)
    ctx.set(responder.values.valid, 1)
    ctx.set(responder.answers.payload, {"type": Request.STATUS, "data_bytes": 5})
    ctx.set(responder.answers.valid, 1)
    await ctx.tick().repeat(100)


async def take_a_request_before_its_payload(ctx: Any, reader: RequestReader) -> None:
    ctx.set(reader.quiet, 1)
    ctx.set(reader.request.ready, 1)
    await send(ctx, reader.bytes, HEADER.pack(Request.CLEAR, 0, 0, 2), random.Random(1), 0.0)
    await ctx.tick().repeat(6)


async def load_without_taking_the_values(ctx: Any, commands: Commands) -> None:
    ctx.set(commands.quiet, 1)
    hello = HEADER.pack(Request.HELLO, 0, 0, 4) + bytes(4)
    ctx.set(commands.answers.ready, 1)
    await send(ctx, commands.bytes, hello, random.Random(1), 0.0)
    await ctx.tick().until(commands.bytes.ready)
    ctx.set(commands.answers.ready, 0)
    load = HEADER.pack(Request.LOAD, 0, 2, 5) + bytes(3)
    await send(ctx, commands.bytes, load, random.Random(1), 0.0)
    await ctx.tick().repeat(20)


async def answer_ok_to_too_small_a_divisor(ctx: Any, handler: RateHandler) -> None:
    port = handler.request
    ctx.set(port.fields.baud.divisor, 7)
    ctx.set(handler.quiet, 1)
    for pulse in (port.start, port.answered):
        ctx.set(pulse, 1)
        await ctx.tick()
        ctx.set(pulse, 0)
    await ctx.tick().repeat(5)


# The simulator leaves behind a coroutine that it cannot end.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("block", "misuse", "message"),
    [
        (Counters(7), leave_the_totals, "the totals were not taken in time"),
        (RecordDecoder(CONFIG), write_a_reward_under_a_record, "written under a record"),
        (TableAccess(CONFIG), begin_a_move_in_another, "began in another"),
        (Session(), answer_twice, "answered twice"),
        (UartSender(), send_with_too_small_a_divisor, "the divisor is too small"),
        (
            RingReader(Memory(shape=8, depth=16, init=[]).read_port()),
            move_the_limit_back,
            "read past its limit",
        ),
        (Responder(CONFIG), give_data_to_an_answer_that_has_none, "another length than it says"),
        (RequestReader(CONFIG), take_a_request_before_its_payload, "before its payload"),
        (Commands(CONFIG), load_without_taking_the_values, "of a payload are left behind"),
        (RateHandler(CONFIG), answer_ok_to_too_small_a_divisor, "the divisor is too small"),
    ],
    ids=[
        *("counters", "records", "tables", "session", "uart"),
        *("ring", "responder", "request-reader", "commands", "rate"),
    ],
)
def test_misuse_of_a_block_is_noticed(
    block: Component, misuse: Callable[[Any, Any], Any], message: str
) -> None:
    async def bench(ctx: Any) -> None:
        await misuse(ctx, block)

    with pytest.raises(AssertionError, match=message):
        simulate(block, bench)
    gc.collect()


async def send_an_action_too_many(ctx: Any, decoder: RecordDecoder) -> None:
    ctx.set(decoder.records.start, 1)
    await ctx.tick()
    ctx.set(decoder.records.start, 0)
    record = (3 << 1).to_bytes(5, "little")
    await send(ctx, decoder.records.bytes, record, random.Random(1), 0.0)
    await ctx.tick().repeat(6)


async def send_a_byte(ctx: Any, sender: UartSender) -> None:
    ctx.set(sender.divisor, 8)
    await send(ctx, sender.bytes, b"a", random.Random(1), 0.0)
    await ctx.tick().repeat(200)


async def receive_a_zero_at_the_end(ctx: Any, decoder: CobsDecoder) -> None:
    line = b"\2a\1\0"
    await pulse_bytes(ctx, decoder.in_valid, decoder.in_data, line, random.Random(1), 0.0)
    await ctx.tick().repeat(3)


async def send_more_than_the_line_takes(ctx: Any, encoder: CobsEncoder) -> None:
    ctx.set(encoder.frame.payload.data, 1)
    ctx.set(encoder.frame.valid, 1)
    await ctx.tick().repeat(700)


async def receive_more_than_is_taken(ctx: Any, receiver: Receiver) -> None:
    frames = encode_frame(Request.STATUS, 0, 0, bytes(240)) * 3
    await pulse_bytes(ctx, receiver.in_valid, receiver.in_data, frames, random.Random(1), 0.0)


async def run_while_a_job_runs(ctx: Any, handler: AgentsHandler) -> None:
    ctx.set(handler.agents.busy, 1)
    ctx.set(handler.request.type, Request.RUN)
    ctx.set(handler.request.fields.run.steps, 1)
    ctx.set(handler.request.start, 1)
    await ctx.tick()
    ctx.set(handler.request.start, 0)
    await ctx.tick().repeat(5)


async def fetch_a_value_while_a_job_runs(ctx: Any, handler: AgentsHandler) -> None:
    port = handler.request
    ctx.set(handler.agents.busy, 1)
    ctx.set(port.type, Request.FETCH)
    place = ARGUMENTS[Request.FETCH].pack(Region.TABLE, 0, 1, 0, 1)
    ctx.set(port.fields.as_value(), int.from_bytes(place, "little"))
    ctx.set(port.start, 1)
    await ctx.tick()
    ctx.set(port.start, 0)
    await ctx.tick().until(~port.busy)
    ctx.set(port.answered, ctx.get(port.status) == StatusCode.OK)
    await ctx.tick().repeat(3)


async def configure_with_kappa_above_alpha(ctx: Any, handler: SettingsHandler) -> None:
    ctx.set(handler.request.type, Request.CONFIGURE)
    ctx.set(handler.request.fields.configure.kappa, 1)
    ctx.set(handler.request.start, 1)
    await ctx.tick()
    ctx.set(handler.request.start, 0)
    await ctx.tick().repeat(5)


GIVEN = {
    **dict.fromkeys(("RecordDecoder", "SettingsHandler"), (CONFIG,)),
    "Receiver": (512,),
    "AgentsHandler": (ACTING,),
}
"""What the blocks below are made with."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("name", "block", "use"),
    [
        ("an action that does not exist is legal", RecordDecoder, send_an_action_too_many),
        ("the sender rests low", UartSender, send_a_byte),
        ("a zero comes with the end of a frame", CobsDecoder, receive_a_zero_at_the_end),
        ("there is always space", CobsEncoder, send_more_than_the_line_takes),
        ("a frame may overtake the reader", Receiver, receive_more_than_is_taken),
        ("any kappa is set", SettingsHandler, configure_with_kappa_above_alpha),
        ("agents are never busy", AgentsHandler, run_while_a_job_runs),
        ("agents are never busy", AgentsHandler, fetch_a_value_while_a_job_runs),
    ],
)
def test_a_planted_fault_breaks_the_invariant(
    name: str, block: type[Component], use: Callable[[Any, Any], Any]
) -> None:
    def run(kind: type[Component]) -> None:
        made = kind(*GIVEN.get(kind.__name__, ()))

        async def bench(ctx: Any) -> None:
            await use(ctx, made)

        simulate(made, bench)

    (fault,) = (fault for fault in faults("test_link_invariants") if fault.name == name)
    run(block)
    planted = plant_python(sys.modules[block.__module__], fault.old, fault.new)
    with pytest.raises(AssertionError, match=str(fault.seen)):
        run(getattr(planted, block.__name__))
    gc.collect()


def test_generated_hardware_has_no_assertions() -> None:
    text = generated(CONFIG)["qstep_top"]
    assert not any(word in text for word in ("assert", "waited", "finished"))
