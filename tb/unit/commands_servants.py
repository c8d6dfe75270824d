"""Models of the record decoder and the table access, as ``Commands`` uses them."""

import random
from typing import Any

from tb.unit.conversations import Exchange

from qstep.spec.protocol import Request, StatusCode
from qstep_rtl.table_access import AccessTask

__all__ = ["MOVES_IN", "Pace", "Pins", "Records", "Tables"]

MOVES_IN = (Request.REWARDS, Request.LOAD)
"""Requests whose payload contains values for the tables."""

_WORK = 4  # maximum number of clocks for an operation, apart from its payload bytes
_READ = 30  # maximum number of clocks for the values of a READ


class Pins:
    """Inputs of a block. Setting one costs simulation time, so only changes are passed on."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._values: dict[int, int] = {}

    def set(self, signal: Any, value: int) -> None:
        if self._values.get(id(signal)) != value:
            self._values[id(signal)] = int(value)
            self._ctx.set(signal, int(value))


class Pace:
    """Random delays of the blocks around ``Commands``.

    Parameters
    ----------
    rng : random.Random
    idle, stall : float
        Probabilities per clock that no byte arrives, and that a receiver is not ready. With a stall of
        0, every operation takes its minimum number of clocks.
    """

    def __init__(self, rng: random.Random, idle: float, stall: float) -> None:
        self.rng, self._idle, self._stall = rng, idle, stall

    def idles(self) -> bool:
        return self.rng.random() < self._idle

    def is_ready(self) -> bool:
        return self.rng.random() >= self._stall

    def clocks(self, most: int) -> int:
        return self.rng.randint(0, most) if self._stall else 0


class Records:
    """Accepts the records of an APPLY, and returns the reference device's verdict on them.

    Attributes
    ----------
    busy : int
        Clocks until the last complete record has been processed.
    """

    def __init__(self, port: Any, pins: Pins, pace: Pace) -> None:
        self._port, self._pins, self._pace = port, pins, pace
        self.busy = 0

    def serve(self, seen: Any, exchange: Exchange | None, is_left: bool) -> None:
        """Set the inputs of the next clock; `exchange` is the APPLY for which decoding has started."""
        pins, rng = self._pins, self._pace.rng
        self.busy -= self.busy > 0
        if seen.record_valid and seen.record_ready:
            self.busy = self._pace.clocks(_WORK)
        if seen.start:
            self._judge(0, 0)
        elif exchange and exchange.payload:
            illegal, partial = rng.getrandbits(1), rng.getrandbits(1)
            if not (is_left or self.busy):
                illegal = exchange.status == StatusCode.OUT_OF_RANGE
                partial = exchange.status == StatusCode.BAD_LENGTH or (illegal and partial)
            self._judge(illegal, partial)
        pins.set(self._port.busy, self.busy > 0)
        pins.set(self._port.bytes.ready, self._pace.is_ready())

    def _judge(self, illegal: int, partial: int) -> None:
        self._pins.set(self._port.illegal, illegal)
        self._pins.set(self._port.partial, partial)


class Tables:
    """Emulates checks and moves with the reference device's results, and verifies their timing.

    Attributes
    ----------
    done : set of str
        Operations requested in this exchange: ``check``, ``move``.
    """

    def __init__(self, port: Any, pins: Pins, pace: Pace) -> None:
        self._port, self._pins, self._pace = port, pins, pace
        self._exchange: Exchange | None = None
        self._clocks = self._values = 0  # remaining
        self._checks = False
        self._age = 0  # clocks since the last check or move
        self.done: set[str] = set()

    @property
    def busy(self) -> bool:
        """Whether a check or move is in progress."""
        return self._clocks + self._values > 0

    def needs(self, exchange: Exchange) -> set[str]:
        """Return the operations that must be complete before the answer."""
        if not exchange.is_of_tables:
            return set()
        needs = set() if exchange.kind == Request.CLEAR else {"check"}
        return needs | ({"move"} if exchange.succeeds and exchange.kind != Request.READ else set())

    def check(self, seen: Any, exchange: Exchange | None, read: Exchange | None) -> None:
        """Check a clock of an exchange; `read` is a READ whose answer began in the previous clock."""
        self._age += 1
        assert not (seen.check and seen.move)
        if read:
            assert seen.move, "the values of a READ are moved once its answer has begun"
        elif seen.check or seen.move:
            what = "check" if seen.check else "move"
            assert exchange
            assert what in self.needs(exchange) - self.done
            assert seen.check or self.done == self.needs(exchange) - {"move"}
            assert not seen.check or seen.payload_bytes == len(exchange.values)
            self.done.add(what)
        if seen.check or seen.move:
            assert not self.busy, "a check or move begins in another"
            self._exchange = read or exchange
        if seen.check or seen.move or self.busy:
            assert self._exchange
            kind = self._exchange.kind
            assert seen.task == AccessTask[Request(kind).name]
            entry = (seen.state, seen.action)
            place: dict[int, tuple[int, ...]] = {
                Request.REWARDS: (seen.code,),
                Request.CLEAR: (),
                Request.LOAD: entry,
                Request.READ: (*entry, seen.reads),
            }
            assert place[kind] == self._exchange.place

    def check_value(self, value: int, byte: int) -> None:
        """Check a value that arrives with a byte of the frame."""
        assert self._values
        assert self._age >= 2, "values come a clock too early"
        assert value == byte

    def serve(self, seen: Any) -> None:
        """Set the inputs of the next clock."""
        exchange, rng = self._exchange, self._pace.rng
        if seen.check or seen.move:
            assert exchange
            reads = exchange.kind == Request.READ
            self._clocks = 1 + self._pace.clocks(_READ if reads else _WORK)
            self._values = len(exchange.values) if seen.move and exchange.kind in MOVES_IN else 0
            self._checks, self._age = bool(seen.check), 0
        elif self._values:
            self._values -= int(seen.value_valid)
        elif self._clocks:
            self._clocks -= 1
        if self._checks and self.busy:
            self._judge(rng.choice(list(StatusCode)), rng.getrandbits(10))
        elif exchange:
            self._judge(exchange.status, exchange.data_bytes or len(exchange.values))
        self._pins.set(self._port.busy, self.busy)

    def _judge(self, verdict: int, data_bytes: int) -> None:
        self._pins.set(self._port.verdict, verdict)
        self._pins.set(self._port.data_bytes, data_bytes)
