"""The receiver keeps valid frames in order and drops all others."""

import random
import struct
import zlib
from typing import Any

import pytest
from cobs import cobs
from tb.unit.streams import collect, collect_pulses, pulse_bytes, simulate

from qstep.device.link.frames import encode_frame
from qstep.spec.protocol import max_payload
from qstep_rtl.receiver import Receiver

pytestmark = pytest.mark.unit


BUFFER_BYTES = 512


def received_through(
    pieces: list[bytes], idle: float = 0.0, stall: float = 0.0, blocked: bool = False
) -> tuple[bytes, int]:
    """Return the bytes that leave a receiver, and the number of frames that it dropped.

    With `blocked`, no output is accepted until all input has been sent.
    """
    receiver = Receiver(BUFFER_BYTES)
    out: list[int] = []
    dropped: list[Any] = []
    rng = random.Random(14)
    open_ = not blocked
    take = collect(receiver.bytes, rng, stall, out)

    async def watch(ctx: Any) -> None:
        while not open_:
            await ctx.tick()
        await take(ctx)

    async def bench(ctx: Any) -> None:
        nonlocal open_
        for piece in pieces:
            await pulse_bytes(ctx, receiver.in_valid, receiver.in_data, piece, rng, idle)
        open_ = True
        await ctx.tick().repeat(round((4 * BUFFER_BYTES + 50) / (1 - stall)))

    simulate(receiver, bench, watch, collect_pulses(receiver.dropped, (), dropped))
    return bytes(out), len(dropped)


def content(kind: int, payload: bytes) -> bytes:
    """Return the bytes of a frame that reach the command decoder."""
    return struct.pack("<BHIH", kind, 3, 5, len(payload)) + payload


def frame(kind: int, payload: bytes) -> bytes:
    return encode_frame(kind, 3, 5, payload)


@pytest.mark.parametrize(("idle", "stall"), [(0.0, 0.0), (0.7, 0.4)], ids=["full-speed", "paced"])
def test_receiver_delivers_good_frames_in_order(idle: float, stall: float) -> None:
    rng = random.Random(15)
    payloads = [rng.randbytes(size) for size in (0, 1, 20, 243, 0, 100, 243, 3, 200, 242)]
    assert max_payload(BUFFER_BYTES) == 243
    pieces = [frame(kind, payload) for kind, payload in enumerate(payloads)]
    out, dropped = received_through(pieces, idle, stall)
    assert out == b"".join(content(kind, payload) for kind, payload in enumerate(payloads))
    assert dropped == 0


def test_receiver_drops_every_single_byte_fault_and_recovers() -> None:
    rng = random.Random(16)
    good = frame(9, b"\0abc\0\0de\1")
    pieces, expected = [], b""
    for at in range(len(good) - 1):
        damaged = bytearray(good)
        damaged[at] ^= rng.randrange(1, 256)
        pieces += [bytes(damaged), b"\0" * (damaged[at] != 0), frame(at, b"next")]
        expected += content(at, b"next")
    out, dropped = received_through(pieces)
    assert out == expected
    assert dropped >= len(good) - 1


BODIES = [
    *(struct.pack("<BHIH", 1, 3, 5, 6 + change) + b"abcdef" for change in (-2, -1, 1, 256)),
    *(b"", b"a", b"abcdefghi", struct.pack("<BHIH", 1, 3, 5, 0)),
]
"""Bodies of a wrong length, to which a CRC is appended, and bodies too short to contain one."""


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.hex() or "empty")
def test_receiver_drops_a_frame_of_a_wrong_length(body: bytes) -> None:
    crc = struct.pack("<I", zlib.crc32(body)) * body.endswith(b"f")
    out, dropped = received_through([cobs.encode(body + crc) + b"\0", frame(2, b"good")])
    assert (out, dropped) == (content(2, b"good"), 1)


@pytest.mark.parametrize("idle", [0.0, 0.5], ids=["full-speed", "idle"])
@pytest.mark.parametrize("size", [244, 245, pytest.param(700, marks=pytest.mark.slow)])
def test_receiver_drops_a_frame_longer_than_half_the_buffer(size: int, idle: float) -> None:
    payload = random.Random(17).randbytes(size)
    out, dropped = received_through([frame(1, payload)] * 8 + [frame(2, b"good")], idle)
    assert (out, dropped) == (content(2, b"good"), 8)


def test_receiver_keeps_what_credit_allows_and_drops_what_overflows() -> None:
    payloads = [bytes([kind]) * 243 for kind in range(4)]
    pieces = [frame(kind, payload) for kind, payload in enumerate(payloads)]
    out, dropped = received_through(pieces, blocked=True)
    assert (out, dropped) == (content(0, payloads[0]) + content(1, payloads[1]), 2)
