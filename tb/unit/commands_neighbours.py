"""Emulates the blocks around ``Commands``, and checks in every clock what they receive."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from tb.unit.commands_servants import MOVES_IN, Pace, Pins, Records, Tables
from tb.unit.conversations import APPLY, Exchange

from qstep.spec.config import Config
from qstep.spec.protocol import HEADER, Request, StatusCode
from qstep_rtl.commands import Commands

__all__ = ["Neighbours"]

_LINE = 30  # maximum number of clocks for which an answer is in flight
_REST = 2 * _LINE  # clocks after which all activity has ended
_SESSION_AGE = 3  # clocks after an answer until the session registers match it
_PATIENCE = 3 * _LINE
_ONCE: dict[str, tuple[Request, ...]] = {
    "records": APPLY,
    "noise": (Request.NOISE,),
    "count": (Request.COUNTERS,),
}
"""Effects that occur exactly once for each executed request of these types."""


class Neighbours:
    """All blocks around ``Commands`` in a device with a lane that has just been reset.

    Parameters
    ----------
    ctx : simulator context
    commands : Commands
    config : Config
    pace : Pace

    Attributes
    ----------
    clocks : list of (Exchange, int)
        For each answer, the number of clocks since its frame's first byte.
    """

    def __init__(self, ctx: Any, commands: Commands, config: Config, pace: Pace) -> None:
        self._ctx, self._commands, self._pace = ctx, commands, pace
        self._default = config.link.divisor
        self._pins = pins = Pins(ctx)
        self._records = Records(commands.records, pins, pace)
        self._tables = Tables(commands.access, pins, pace)
        self._watched = _watched(commands)
        # The exchange that was answered last, the exchange in progress (None before its first byte), and
        # the exchange whose bytes are sent next.
        self._before = Exchange.after_reset(config)
        self._exchange: Exchange | None = None
        self._next = self._before
        self._taken = 0  # bytes of the exchange accepted so far
        self._may = True  # the payload may begin: the device has been quiet, if necessary
        self._done: set[str] = set()  # effects in `_ONCE` that have occurred
        self._age = 0  # clocks since its first byte, or since the previous answer
        self._waits = 0  # clocks in which an offered byte was not accepted
        self._offer: tuple[int, ...] | None = None  # an answer that has not been accepted
        self._line = 0  # clocks until the last answer has been sent
        self._divisor = self._default
        # Values of the previous clock.
        self._has_answered = self._breaks = self._passes = False
        self._quiet = self._asked = self._was_quiet = False
        self.clocks: list[tuple[Exchange, int]] = []

    async def converse(self, exchanges: Sequence[Exchange]) -> None:
        """Send frames and check their effects; return when all activity has ended."""
        pins, commands = self._pins, self._commands
        for exchange in exchanges:
            if exchange.breaks:
                await self._rest()
                pins.set(commands.line_break, 1)
                await self._clock()
                pins.set(commands.line_break, 0)
                self._before = replace(self._before, divisor=self._default)
            self._next = exchange
            for byte in exchange.body:
                while self._pace.idles():
                    await self._clock()
                pins.set(commands.bytes.payload, byte)
                pins.set(commands.bytes.valid, 1)
                while not await self._clock():
                    self._waits += 1
                    assert self._waits < _PATIENCE, "a byte is not taken"
                self._waits = 0
                pins.set(commands.bytes.valid, 0)
        await self._rest()
        assert self._exchange is None, "the last frame has no answer"

    async def _rest(self) -> None:
        for _ in range(_REST):
            await self._clock()

    async def _clock(self) -> bool:
        """Check one clock, set the inputs of the next, and return whether a byte was accepted."""
        commands, pins = self._commands, self._pins
        _, _, *values = await self._ctx.tick().sample(*self._watched.values())
        seen = SimpleNamespace(**dict(zip(self._watched, values, strict=True)))
        taken = bool(seen.valid and seen.ready)
        self._age += 1
        self._check_registers(seen)
        read = self._before.kind == Request.READ and self._before.succeeds and self._has_answered
        self._tables.check(seen, self._exchange, self._before if read else None)
        self._check_byte(seen, taken)
        self._check_effects(seen)
        self._check_question(seen)
        is_quiet = not (self._line or self._tables.busy or self._records.busy)
        self._may |= self._quiet and self._asked
        self._line -= self._line > 0
        self._has_answered = self._check_answer(seen)
        self._breaks = bool(seen.line_break)
        exchange = self._exchange if "records" in self._done else None
        self._passes = exchange is not None and self._taken < len(exchange.body)
        self._records.serve(seen, exchange, self._passes)
        self._tables.serve(seen)
        # `quiet` is valid only while it is requested. At other times it may be stale, so it is random.
        self._was_quiet = self._quiet and self._asked
        self._asked = bool(seen.asks_quiet)
        self._quiet = is_quiet if self._asked else self._pace.rng.random() < 0.5
        pins.set(commands.quiet, self._quiet)
        pins.set(commands.answers.ready, self._pace.is_ready())
        return taken

    def _check_registers(self, seen: Any) -> None:
        before, exchange = self._before, self._exchange
        refuses = self._has_answered and before.status not in (StatusCode.OK, StatusCode.DUPLICATE)
        assert seen.refused == refuses, "each refusal is counted once"
        assert seen.busy != self._passes, "busy with all but the payload of an APPLY"
        if self._breaks:
            assert seen.divisor == self._default, "a break restores the rate"
        elif seen.divisor != self._divisor:
            assert (before.kind, seen.divisor) == (Request.BAUD, before.divisor)
            assert exchange is None, "the rate changes between two requests"
            assert self._was_quiet, "the rate changes when the answer has left"
        self._divisor = seen.divisor
        if self._taken < HEADER.size if exchange else self._age >= _SESSION_AGE:
            if before.body:
                assert (seen.epoch, seen.expected) == (before.epoch, before.expected)
            if before.kind == Request.HELLO and before.succeeds:
                assert seen.nonce == int.from_bytes(before.payload, "little")

    def _check_byte(self, seen: Any, taken: bool) -> None:
        if taken and self._exchange is None:
            self._exchange, self._taken, self._age = self._next, 0, 0
            assert seen.divisor == self._before.divisor, "the line has its new rate"
        exchange, place = self._exchange, self._taken - HEADER.size
        of_records = of_values = False
        if taken and exchange:
            self._taken += 1
            if place == -1:
                self._may = exchange.kind in APPLY
            if place >= 0:
                assert self._may, "the payload begins before the device is quiet"
                of_records = exchange.is_executed and exchange.kind in APPLY
                if exchange.succeeds and exchange.kind in MOVES_IN:
                    of_values = place >= len(exchange.payload) - len(exchange.values)
        assert (seen.record_valid and seen.record_ready) == of_records
        assert seen.value_valid == of_values
        if of_records:
            assert "records" in self._done
            assert seen.record == seen.byte
        if of_values:
            self._tables.check_value(seen.value, seen.byte)

    def _check_effects(self, seen: Any) -> None:
        exchange, settings = self._exchange, (seen.alpha, seen.kappa, seen.rounding)
        happens = {"records": seen.start, "noise": seen.noise_load, "count": seen.count}
        for what in (name for name, now in happens.items() if now):
            assert exchange
            assert what in self._needs(exchange) - self._done
            self._done.add(what)
        assert self._may or not (any(happens.values()) or seen.check or seen.answers)
        if seen.noise_load and exchange:
            assert (seen.noise_x, seen.noise_w) == struct.unpack("<II", exchange.payload)
        if exchange and "records" in self._done:
            assert seen.coded == (exchange.kind == Request.APPLY_CODED)
        if settings != self._before.settings:
            assert exchange
            assert settings == exchange.settings
            assert exchange.kind == Request.CONFIGURE

    def _check_question(self, seen: Any) -> None:
        """Check that quiet is requested only after a header or for a new baud rate."""
        exchange, before = self._exchange, self._before
        if exchange:
            assert not seen.asks_quiet or self._taken == HEADER.size
        else:
            assert not seen.asks_quiet or (before.kind == Request.BAUD and before.succeeds)

    def _needs(self, exchange: Exchange) -> set[str]:
        """Return the effects in `_ONCE` that must occur before the answer."""
        if not exchange.is_executed or (exchange.kind == Request.NOISE and not exchange.succeeds):
            return set()
        return {what for what, kinds in _ONCE.items() if exchange.kind in kinds}

    def _check_answer(self, seen: Any) -> bool:
        """Check an answer, and return whether it is accepted."""
        offer = (seen.type, seen.seq, seen.status, seen.data_bytes) if seen.answers else None
        assert self._offer in (None, offer), "an answer was withdrawn"
        if not offer:
            return False
        exchange = self._exchange
        assert exchange is not None, "an answer to nothing"
        assert self._taken == len(exchange.body), "an answer to a part of a frame"
        if not self._offer:
            self.clocks.append((exchange, self._age))
        self._offer = offer
        if not seen.answer_ready:
            return False
        assert offer == (exchange.kind, exchange.seq, exchange.status, exchange.data_bytes)
        assert (seen.alpha, seen.kappa, seen.rounding) == exchange.settings
        assert self._done == self._needs(exchange)
        assert self._tables.done == self._tables.needs(exchange)
        # The values of a READ may still be in flight while an APPLY is executed.
        assert not (self._records.busy if exchange.kind in APPLY else self._tables.busy)
        self._before, self._exchange, self._offer, self._age = exchange, None, None, 0
        self._done, self._tables.done = set(), set()
        self._line = self._pace.clocks(_LINE)
        return True


def _watched(commands: Commands) -> dict[str, Any]:
    """Return the signals that are sampled in each clock, by their names in this module."""
    access, records, settings = commands.access, commands.records, commands.settings
    answer = commands.answers.payload
    return {
        "valid": commands.bytes.valid,
        "ready": commands.bytes.ready,
        "byte": commands.bytes.payload,
        "answers": commands.answers.valid,
        "answer_ready": commands.answers.ready,
        **{name: getattr(answer, name) for name in ("type", "seq", "status", "data_bytes")},
        **{name: getattr(commands.session, name) for name in ("epoch", "expected", "nonce")},
        "start": records.start,
        "coded": records.coded,
        "record_valid": records.bytes.valid,
        "record_ready": records.bytes.ready,
        "record": records.bytes.payload,
        **{name: getattr(access, name) for name in ("task", "check", "move", "payload_bytes")},
        "code": access.first_code,
        "state": access.first_state,
        "action": access.first_action,
        "reads": access.count,
        "value_valid": access.values.valid,
        "value": access.values.payload,
        **{name: getattr(settings, name) for name in ("alpha", "kappa", "rounding")},
        **{name: getattr(settings, name) for name in ("noise_load", "noise_x", "noise_w")},
        **{name: getattr(commands, name) for name in ("count", "divisor", "line_break")},
        **{name: getattr(commands, name) for name in ("asks_quiet", "refused", "busy")},
    }
