"""Bytewise CRC-32 (IEEE 802.3, reflected), and the running digest of applied transitions.

Function    :func:`crc32_byte` updates the CRC by one byte. The update is linear over GF(2), so it is
            the exclusive or of two lookups in 16-word tables, one per nibble: one LUT per bit, and
            one load in a Verilated model. Golden model: ``zlib.crc32``.
Latency     :class:`Crc32`: the register includes a byte one clock after `enable`.
            :class:`RecordDigest`: `busy` falls and `crc` is stable ``steps`` clocks after a record is
            accepted.
Throughput  :class:`Crc32`: one byte per clock. :class:`RecordDigest`: one record every `steps` clocks,
            back to back.
Reset       The registers start at all ones, the digest at 0.
Hazards     `start` of :class:`Crc32` has priority over `enable`.
Invariants  After a frame and its CRC the register equals :data:`RESIDUE`.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

__all__ = ["RESIDUE", "Crc32", "RecordDigest", "crc32_byte"]

_POLYNOMIAL = 0xEDB88320
_ALL_ONES = 0xFFFFFFFF

RESIDUE = 0xDEBB20E3
"""Register value after data followed by their CRC, low byte first."""


def _advanced(crc: int) -> int:
    """Shift eight bits out of a register."""
    for _ in range(8):
        crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
    return crc


def crc32_byte(m: Module, register: Value, byte: Value) -> Signal:
    """Return the register's next value after `byte`, as combinational logic added to `m`."""
    following = Signal(32)
    expression = register[8:]
    for nibble in (0, 4):
        table = [_advanced(value << nibble) for value in range(16)]
        memory = Memory(shape=32, depth=16, init=table)
        port = memory.read_port(domain="comb")
        m.submodules += memory
        m.d.comb += port.addr.eq(register[nibble : nibble + 4] ^ byte[nibble : nibble + 4])
        expression = expression ^ port.data
    m.d.comb += following.eq(expression)
    return following


class Crc32(Component):
    """CRC register of a frame.

    Attributes
    ----------
    start : In(1)
        Start a new CRC.
    enable : In(1)
        Update the CRC with `data`.
    shift : In(1)
        Shift the register down by a byte; four shifts output the whole CRC at `crc`.
    crc : Out(8)
        Low byte of the CRC, inverted as on the line.
    matches : Out(1)
        The bytes so far end with their CRC.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "enable": In(1),
                "data": In(8),
                "shift": In(1),
                "crc": Out(8),
                "matches": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        register = Signal(32, init=_ALL_ONES)
        following = crc32_byte(m, register, self.data)
        with m.If(self.start):
            m.d.sync += register.eq(_ALL_ONES)
        with m.Elif(self.enable):
            m.d.sync += register.eq(following)
        with m.Elif(self.shift):
            m.d.sync += register.eq(register[8:])
        m.d.comb += [self.crc.eq(~register[:8]), self.matches.eq(register == RESIDUE)]
        return m


class RecordDigest(Component):
    """Running CRC-32 over full raw records, several bytes per clock.

    Parameters
    ----------
    record_bytes : int
        Bytes per record, 2..9.
    steps : int
        Clocks per record, at least 1; fewer clocks need more logic.

    Attributes
    ----------
    records : In(stream)
        Records, with the first byte lowest.
    crc : Out(32)
        Digest of the records so far, stable while `busy` is 0.
    busy : Out(1)
        A record is being processed.
    soon_ready : Out(1)
        `records` will be ready in the next clock if no record is accepted in this clock.
    """

    def __init__(self, record_bytes: int, steps: int) -> None:
        self.record_bytes = record_bytes
        self.step_bytes = -(-record_bytes // steps)
        self.steps = -(-record_bytes // self.step_bytes)
        super().__init__(
            {
                "records": In(stream.Signature(8 * record_bytes)),
                "crc": Out(32),
                "busy": Out(1),
                "soon_ready": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        register = Signal(32, init=_ALL_ONES)
        record = Signal(8 * self.record_bytes)
        left = Signal(range(self.steps + 1))
        last_bytes = self.record_bytes - (self.steps - 1) * self.step_bytes

        taps: list[Value] = [register]
        for index in range(self.step_bytes):
            taps.append(crc32_byte(m, taps[-1], record.word_select(index, 8)))

        m.d.comb += [
            self.crc.eq(~register),
            self.busy.eq(left != 0),
            self.records.ready.eq(left <= 1),
            self.soon_ready.eq(left <= 2),
        ]
        with m.If(left != 0):
            m.d.sync += [
                register.eq(Mux(left == 1, taps[last_bytes], taps[self.step_bytes])),
                record.eq(record >> 8 * self.step_bytes),
                left.eq(left - 1),
            ]
        with m.If(self.records.valid & self.records.ready):
            m.d.sync += [record.eq(self.records.payload), left.eq(self.steps)]
        return m
