"""Decides from session, epoch and sequence number whether a request may be executed.

Function    Applies the rules of ``docs/link.md``, "Session, epoch, sequence".
Latency     `verdict` is valid two clocks after `judge`, `epoch` two clocks after `greet`.
Throughput  One request at a time.
Reset       No session is open. The epoch and the count in it are kept; the count is incremented by one.
Hazards     `judge` may be asserted in the clock after the epoch's last byte at the earliest, and only
            after the previous request's `finish`. `finish` is asserted when the request's status is
            known. `is_hello` and `repeatable` are stable from one clock after `judge`, `greet_nonce`
            from one clock before `greet`.
Invariants  `expected` is incremented exactly once for each answered request that has not been executed
            before, and never after a refusal.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, ResetSignal, Signal
from amaranth.lib.wiring import Component, In, Out, Signature

from qstep.spec.protocol import HEADER, REFUSALS, StatusCode
from qstep_rtl.invariants import GENERATED, invariant

__all__ = ["Session", "SessionSignature"]

_EPOCH_BYTES = HEADER.sizes["epoch"]


class SessionSignature(Signature):
    """The session registers in every answer, as seen from the session; `nonce` comes from HELLO."""

    def __init__(self) -> None:
        super().__init__({"epoch": Out(32), "expected": Out(16), "nonce": Out(32)})


class Session(Component):
    """Session state.

    Attributes
    ----------
    compare, position, byte : In(1), In(2), In(8)
        `byte` is the byte of the request's epoch at `position`; bytes arrive in order.
    judge, seq : In(1), In(16)
        Compare the sequence number now.
    is_hello, repeatable : In(1)
        `is_hello`: the request needs no session. `repeatable`: it changes nothing and may be executed
        again.
    verdict : Out(StatusCode)
        OK, DUPLICATE, GAP, STALE_EPOCH, or the refusal that halted the session.
    greet, greet_nonce : In(1), In(32)
        A HELLO is being executed.
    finish, status : In(1), In(StatusCode)
        The judged request is being answered, with this status.
    epoch, expected : Out(32), Out(16)
        Session registers.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "compare": In(1),
                "position": In(range(_EPOCH_BYTES)),
                "byte": In(8),
                "judge": In(1),
                "seq": In(16),
                "is_hello": In(1),
                "repeatable": In(1),
                "verdict": Out(StatusCode),
                "greet": In(1),
                "greet_nonce": In(32),
                "finish": In(1),
                "status": In(StatusCode),
                "epoch": Out(32),
                "expected": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The epoch is the nonce XOR the count. The count does not change while a session is open, so
        # epoch and count also determine the nonce.
        epoch = Signal(32, reset_less=True)
        count = Signal(16, reset_less=True)
        following = Signal(16)
        counted_reset = Signal()
        open_ = Signal()
        halted = Signal(StatusCode)  # the refusal that halted the session, or OK
        ahead = Signal(16)  # seq - expected, modulo 2^16
        stale = Signal()
        fresh = Signal()
        latest = Signal()
        behind = Signal()
        judged = Signal()
        greeted = Signal()
        is_new = Signal()
        finished = Signal(init=1)  # no request has been checked since the last answer
        differs = Signal(4)  # the nonces differ in this byte

        m.d.comb += [
            following.eq(count + 1),
            self.epoch.eq(epoch),
            self.verdict.eq(
                Mux(
                    fresh | (latest & self.repeatable),
                    StatusCode.OK,
                    Mux(behind, StatusCode.DUPLICATE, StatusCode.GAP),
                )
            ),
        ]
        with m.If(self.is_hello):
            m.d.comb += self.verdict.eq(StatusCode.OK)
        with m.Elif(stale):
            m.d.comb += self.verdict.eq(StatusCode.STALE_EPOCH)
        with m.Elif(halted != StatusCode.OK):
            m.d.comb += self.verdict.eq(halted)

        with m.If(self.compare):
            m.d.sync += stale.eq(
                Mux(self.position == 0, ~open_, stale)
                | (epoch.word_select(self.position, 8) != self.byte)
            )
        with m.If(self.judge):
            m.d.sync += ahead.eq(self.seq - self.expected)
        m.d.sync += judged.eq(self.judge)
        with m.If(judged):
            m.d.sync += [
                fresh.eq(ahead == 0),
                latest.eq(ahead == 0xFFFF),
                behind.eq(ahead > 0x8000),
            ]
        with m.If(self.finish & ~self.is_hello & ~stale & (halted == StatusCode.OK)):
            with m.If(fresh):
                m.d.sync += self.expected.eq(self.expected + 1)
            for refusal in REFUSALS:
                with m.If(self.status == refusal):
                    m.d.sync += halted.eq(refusal)
        with m.If(self.finish):
            invariant(m, platform, ~finished, "one request is answered twice")
        if platform is not GENERATED:
            m.d.sync += finished.eq((finished | self.finish) & ~self.judge)
        # The count is incremented once per reset, however long the reset lasts.
        with m.If(~counted_reset & ~ResetSignal()):
            m.d.sync += [counted_reset.eq(1), count.eq(following)]
        # The nonces are compared byte by byte first, because both have been stable for some clocks.
        for position in range(len(differs)):
            ours, theirs = (
                nonce.word_select(position, 8) for nonce in (epoch ^ count, self.greet_nonce)
            )
            m.d.sync += differs[position].eq(ours != theirs)
        m.d.sync += greeted.eq(self.greet)
        with m.If(self.greet):
            m.d.sync += is_new.eq(~open_ | differs.any())
        with m.If(greeted & is_new):
            m.d.sync += [
                open_.eq(1),
                count.eq(following),
                epoch.eq(self.greet_nonce ^ following),
                self.expected.eq(0),
                halted.eq(StatusCode.OK),
            ]
        return m
