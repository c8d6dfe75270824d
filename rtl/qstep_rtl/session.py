"""Decides from session, epoch and sequence number whether a request may be carried out.

Function    The rules of ``docs/link.md``, "Session, epoch, sequence".
Latency     `verdict` two clocks after `judge`, `epoch` two clocks after `greet`.
Throughput  One request at a time.
Reset       No session is open. The epoch survives and rises by one.
Hazards     `judge` only after the `finish` of the request before, `finish` when there is a verdict.
            `is_hello` and `repeatable` are steady from then on, `greet_nonce` from a clock before
            `greet` on.
Invariants  `expected` rises exactly once for each request that is answered and was not carried out
            before.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, ResetSignal, Signal
from amaranth.lib.wiring import Component, In, Out

from qstep.protocol import StatusCode

__all__ = ["Session"]


class Session(Component):
    """Session state.

    Attributes
    ----------
    judge : In(1)
        Compare `seq` and `claimed_epoch` now.
    is_hello, repeatable : In(1)
        The request needs no session; it changes nothing and may be carried out once more.
    verdict : Out(StatusCode)
        OK, DUPLICATE, GAP or STALE_EPOCH.
    greet, greet_nonce : In(1), In(32)
        A HELLO is carried out.
    finish : In(1)
        The judged request is being answered.
    epoch, expected, nonce : Out
        Registers.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "judge": In(1),
                "seq": In(16),
                "claimed_epoch": In(16),
                "is_hello": In(1),
                "repeatable": In(1),
                "verdict": Out(StatusCode),
                "greet": In(1),
                "greet_nonce": In(32),
                "finish": In(1),
                "epoch": Out(16),
                "expected": Out(16),
                "nonce": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        epoch = Signal(16, reset_less=True)
        counted_reset, open_ = Signal(), Signal()
        ahead = Signal(16)  # seq - expected, modulo 2^16
        stale = Signal()
        fresh, latest, behind = Signal(), Signal(), Signal()
        judged, greeted, is_new = Signal(), Signal(), Signal()
        differs = Signal(4)  # the nonces do, in this byte

        m.d.comb += [
            self.epoch.eq(epoch),
            self.verdict.eq(
                Mux(
                    stale,
                    StatusCode.STALE_EPOCH,
                    Mux(
                        fresh | (latest & self.repeatable),
                        StatusCode.OK,
                        Mux(behind, StatusCode.DUPLICATE, StatusCode.GAP),
                    ),
                )
            ),
        ]
        with m.If(self.is_hello):
            m.d.comb += self.verdict.eq(StatusCode.OK)

        with m.If(self.judge):
            m.d.sync += [
                ahead.eq(self.seq - self.expected),
                stale.eq(~open_ | (self.claimed_epoch != epoch)),
            ]
        m.d.sync += judged.eq(self.judge)
        with m.If(judged):
            m.d.sync += [
                fresh.eq(ahead == 0),
                latest.eq(ahead == 0xFFFF),
                behind.eq(ahead > 0x8000),
            ]
        with m.If(self.finish & fresh & ~stale & ~self.is_hello):
            m.d.sync += self.expected.eq(self.expected + 1)
        # Once for each reset, however long it lasts.
        with m.If(~counted_reset & ~ResetSignal()):
            m.d.sync += [counted_reset.eq(1), epoch.eq(epoch + 1)]
        # Byte by byte first, as both have been there for some clocks.
        for position in range(len(differs)):
            ours, theirs = (
                nonce.word_select(position, 8) for nonce in (self.nonce, self.greet_nonce)
            )
            m.d.sync += differs[position].eq(ours != theirs)
        m.d.sync += greeted.eq(self.greet)
        with m.If(self.greet):
            m.d.sync += is_new.eq(~open_ | differs.any())
        with m.If(greeted & is_new):
            m.d.sync += [
                open_.eq(1),
                self.nonce.eq(self.greet_nonce),
                epoch.eq(epoch + 1),
                self.expected.eq(0),
            ]
        return m
