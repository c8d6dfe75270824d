"""The blocks assert the guarantees and requirements in their headers; each assertion can fail."""

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
from tb.unit.streams import begin, pulse_bytes, send, simulate

from qstep.device.link.frames import encode_frame
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.memory_map import Region
from qstep.spec.protocol import ARGUMENTS, HEADER, Request, StatusCode
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


def bytes_to(stream: Any, values: bytes) -> Any:
    """Return a step that sends bytes."""
    return lambda ctx: send(ctx, stream, values, random.Random(1), 0.0)


def pulses_to(block: Any, values: bytes) -> Any:
    """Return a step that sends bytes without back-pressure."""
    return lambda ctx: pulse_bytes(ctx, block.in_valid, block.in_data, values, random.Random(1), 0)


def played(steps: list[Any]) -> Any:
    """Return a bench that executes steps: pairs set inputs, numbers are clocks to wait for.

    All other steps are functions, which are called.
    """

    async def bench(ctx: Any) -> None:
        for step in steps:
            if isinstance(step, int):
                await ctx.tick().repeat(step)
            elif isinstance(step, tuple):
                ctx.set(*step)
            else:
                await step(ctx)

    return bench


def request_at(port: Any, kind: Request, payload: bytes = b"") -> Any:
    """Return a step that starts a request at a handler."""
    return lambda ctx: begin(ctx, port, kind, payload)


def moved_back(reader: RingReader) -> list[Any]:
    async def move(ctx: Any) -> None:
        ctx.set(reader.limit, ctx.get(reader.read))

    return [(reader.limit, 3), 4, move, 3]


def fetched(handler: AgentsHandler) -> list[Any]:
    """Return steps that fetch a value during a run."""
    port = handler.request

    async def answer(ctx: Any) -> None:
        ctx.set(port.answered, ctx.get(port.status) == StatusCode.OK)

    place = ARGUMENTS[Request.FETCH].pack(Region.TABLE, 0, 1, 0, 1)
    begun = request_at(port, Request.FETCH, place)
    return [(handler.agents.busy, 1), begun, lambda ctx: ctx.tick().until(~port.busy), answer, 3]


Steps = Callable[[Any], list[Any]]
HELLO = HEADER.pack(Request.HELLO, 0, 0, 4) + bytes(4)
MISUSES: list[tuple[Component, Steps, str]] = [
    (
        Counters(7),
        lambda b: [(b.start, 1), 1, (b.start, 0), 400],
        "the totals were not taken in time",
    ),
    (
        RecordDecoder(CONFIG),
        lambda b: [
            (b.records.bytes.valid, 1),
            lambda ctx: ctx.tick().until(b.records.busy),
            *((b.rewards.write, 1), 2),
        ],
        "written under a record",
    ),
    (
        TableAccess(CONFIG),
        lambda b: [(b.request.task, AccessTask.CLEAR), (b.request.move, 1), 3],
        "began in another",
    ),
    (Session(), lambda b: [(b.judge, 1), 1, (b.judge, 0), (b.finish, 1), 3], "answered twice"),
    (UartSender(), lambda b: [(b.divisor, 7), (b.bytes.valid, 1), 200], "the divisor is too small"),
    (RingReader(Memory(shape=8, depth=16, init=[]).read_port()), moved_back, "read past its limit"),
    (
        Responder(CONFIG),
        lambda b: [
            *((b.line.ready, 1), (b.values.valid, 1)),
            (b.answers.payload, {"type": Request.STATUS, "data_bytes": 5}),
            *((b.answers.valid, 1), 100),
        ],
        "another length than it says",
    ),
    (
        RequestReader(CONFIG),
        lambda b: [
            *((b.quiet, 1), (b.request.ready, 1)),
            *(bytes_to(b.bytes, HEADER.pack(Request.CLEAR, 0, 0, 2)), 6),
        ],
        "before its payload",
    ),
    (
        Commands(CONFIG),
        lambda b: [
            *((b.quiet, 1), (b.answers.ready, 1), bytes_to(b.bytes, HELLO)),
            lambda ctx: ctx.tick().until(b.bytes.ready),
            (b.answers.ready, 0),
            *(bytes_to(b.bytes, HEADER.pack(Request.LOAD, 0, 2, 5) + bytes(3)), 20),
        ],
        "of a payload are left behind",
    ),
    (
        RateHandler(CONFIG),
        lambda b: [
            (b.quiet, 1),
            request_at(b.request, Request.BAUD, bytes([7, 0])),
            *((b.request.answered, 1), 1, (b.request.answered, 0), 5),
        ],
        "the divisor is too small",
    ),
]


# The simulator leaves a coroutine that it cannot close.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("block", "misuse", "message"), MISUSES, ids=[type(block).__name__ for block, *_ in MISUSES]
)
def test_misuse_of_a_block_is_noticed(block: Component, misuse: Steps, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        simulate(block, played(misuse(block)))
    gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("name", "block", "given", "use"),
    [
        (
            "an action that does not exist is legal",
            *(RecordDecoder, CONFIG),
            lambda b: [
                *((b.records.start, 1), 1, (b.records.start, 0)),
                *(bytes_to(b.records.bytes, (3 << 1).to_bytes(5, "little")), 6),
            ],
        ),
        (
            "the sender rests low",
            *(UartSender, None),
            lambda b: [(b.divisor, 8), bytes_to(b.bytes, b"a"), 200],
        ),
        (
            "a zero comes with the end of a frame",
            *(CobsDecoder, None),
            lambda b: [pulses_to(b, b"\2a\1\0"), 3],
        ),
        (
            "there is always space",
            *(CobsEncoder, None),
            lambda b: [(b.frame.payload.data, 1), (b.frame.valid, 1), 700],
        ),
        (
            "a frame may overtake the reader",
            *(Receiver, 512),
            lambda b: [pulses_to(b, encode_frame(Request.STATUS, 0, 0, bytes(240)) * 3)],
        ),
        (
            "any kappa is set",
            *(SettingsHandler, CONFIG),
            lambda b: [request_at(b.request, Request.CONFIGURE, bytes([0, 0, 1, 0, 0])), 5],
        ),
        (
            "agents are never busy",
            *(AgentsHandler, ACTING),
            lambda b: [(b.agents.busy, 1), request_at(b.request, Request.RUN, b"\1"), 5],
        ),
        ("agents are never busy", AgentsHandler, ACTING, fetched),
    ],
)
def test_a_planted_fault_breaks_the_invariant(
    name: str, block: type[Component], given: Any, use: Steps
) -> None:
    def run(kind: Any) -> None:
        made = kind() if given is None else kind(given)
        simulate(made, played(use(made)))

    (fault,) = (fault for fault in faults("test_link_invariants") if fault.name == name)
    run(block)
    planted = plant_python(sys.modules[block.__module__], fault.old, fault.new)
    with pytest.raises(AssertionError, match=str(fault.seen)):
        run(getattr(planted, block.__name__))
    gc.collect()


def test_generated_hardware_has_no_assertions() -> None:
    text = generated(CONFIG)["qstep_top"]
    assert not any(word in text for word in ("assert", "waited", "finished"))
