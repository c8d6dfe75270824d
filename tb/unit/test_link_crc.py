"""The CRC-32 and the digest of records match zlib's results."""

import random
import struct
import zlib
from typing import Any

import pytest
from amaranth import Signal
from tb.unit.streams import pulse_bytes, simulate

from qstep_rtl.crc32 import Crc32, RecordDigest

pytestmark = pytest.mark.unit


def test_crc_follows_any_sequence_of_start_enable_shift_and_reset() -> None:
    crc, reset, rng = Crc32(), Signal(), random.Random(6)

    async def bench(ctx: Any) -> None:
        register = 0xFFFFFFFF
        for _ in range(1000):
            start, enable, shift, begins = (rng.random() < odds for odds in (0.1, 0.4, 0.4, 0.05))
            byte = rng.getrandbits(8)
            ctx.set(crc.start, start)
            ctx.set(crc.enable, enable)
            ctx.set(crc.shift, shift)
            ctx.set(crc.data, byte)
            ctx.set(reset, begins)
            assert ctx.get(crc.crc) == ~register & 0xFF
            await ctx.tick()
            if start or begins:
                register = 0xFFFFFFFF
            elif enable:
                register = ~zlib.crc32(bytes([byte]), ~register & 0xFFFFFFFF) & 0xFFFFFFFF
            elif shift:
                register >>= 8

    simulate(crc, bench, reset=reset)


def before(register: int) -> int:
    """Return the value of a 32-bit CRC register before 32 zeros were shifted into it."""
    for _ in range(32):
        register = (register ^ 0xEDB88320) << 1 | 1 if register >> 31 else register << 1
    return register


def test_crc_matches_in_every_bit_and_is_all_ones_after_a_reset() -> None:
    crc, reset = Crc32(), Signal()
    wrong = [0, *(1 << bit for bit in range(32))]
    wrong += [one | other for one in wrong for other in wrong if one < other]

    async def bench(ctx: Any) -> None:
        for differs in wrong:
            data = b"ab" + struct.pack("<I", zlib.crc32(b"ab") ^ before(differs))
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
            assert ctx.get(crc.crc) == 0
            await pulse_bytes(ctx, crc.enable, crc.data, data, random.Random(3), 0.0)
            assert ctx.get(crc.matches) == (differs == 0)

    simulate(crc, bench, reset=reset)


@pytest.mark.parametrize(
    ("record_bytes", "steps"), [(2, 2), (4, 3), (5, 3), (5, 1), (9, 4)], ids=str
)
def test_record_digest_is_zlibs_and_says_in_each_clock_whether_it_is_ready(
    record_bytes: int, steps: int
) -> None:
    digest, reset, rng = RecordDigest(record_bytes, steps), Signal(), random.Random(5)
    assert digest.steps <= steps

    async def bench(ctx: Any) -> None:
        done, left = b"", 0
        for _ in range(1500):
            record, valid = rng.randbytes(record_bytes), rng.random() < 0.6
            begins = rng.random() < 0.02
            ctx.set(reset, begins)
            ctx.set(digest.records.valid, valid)
            ctx.set(digest.records.payload, int.from_bytes(record, "little"))
            flags = ctx.get(digest.busy), ctx.get(digest.records.ready), ctx.get(digest.soon_ready)
            assert flags == (left != 0, left <= 1, left <= 2)
            assert left or ctx.get(digest.crc) == zlib.crc32(done)
            takes = valid and left <= 1
            await ctx.tick()
            done = b"" if begins else done + record * takes
            left = 0 if begins else digest.steps if takes else max(left - 1, 0)

    simulate(digest, bench, reset=reset)
