"""A device with agents in plain Python, as seen from the link (``docs/link.md``, "Agents").

Its agents do not learn: they only count steps between answers to PROGRESS, which is enough for
tests of the driver. The exactness of real agents is tested on the RTL.
"""

import struct
from collections.abc import Callable
from typing import ClassVar

from tb.reference_device import ReferenceDevice, Refused, unpack

from qstep.device.link.frames import Frame
from qstep.spec.config import Config
from qstep.spec.protocol import Request, StatusCode

__all__ = ["ReferenceAgents", "ReferenceLive"]

_COUNTERS, _REGIONS = 2, 6


class ReferenceAgents(ReferenceDevice):
    """Device with agents that receives a host's bytes and returns its answers.

    Parameters
    ----------
    config : Config
        Configuration with ``config.acting``.
    pace : int
        Steps that every agent makes between answers; 0 for a stuck device.

    Attributes
    ----------
    words : dict
        Stored words, by region and index.
    left : int
        Steps left in the job.
    made : int
        Total number of steps made.
    silent : int or None
        Agent that the world does not answer; a job ends before that agent's next step.
    """

    repeatable: ClassVar[tuple[Request, ...]] = (
        *(Request.STATUS, Request.COUNTERS),
        *(Request.FETCH, Request.PROGRESS),
    )

    def __init__(self, config: Config, pace: int = 1000) -> None:
        self.words: dict[tuple[int, int], int] = {}
        self.made, self._pace = 0, pace
        self.silent: int | None = None
        super().__init__(config)

    def reset(self) -> None:
        """Reset like the hardware: the job ends, and memories keep their contents."""
        super().reset()
        self.left = 0

    def _handlers(self) -> dict[int, Callable[[bytes], bytes]]:
        others = super()._handlers()
        return {
            **{kind: others[kind] for kind in (Request.STATUS, Request.COUNTERS, Request.BAUD)},
            Request.STORE: self._store,
            Request.FETCH: self._fetch,
            Request.RUN: self._run,
            Request.STOP: self._stop,
            Request.PROGRESS: self._progress,
        }

    def _store(self, payload: bytes) -> bytes:
        if len(payload) < 16 or len(payload) != 12 + 4 * struct.unpack_from("<H", payload, 10)[0]:
            raise Refused(StatusCode.BAD_LENGTH)
        words = struct.unpack(f"<{len(payload) // 4 - 3}I", payload[12:])
        self.words |= zip(self._places(payload[:12], is_store=True), words, strict=True)
        return b""

    def _fetch(self, payload: bytes) -> bytes:
        unpack("<BIBIH", payload)
        places = self._places(payload, is_store=False)
        return b"".join(struct.pack("<I", self._word(*place)) for place in places)

    def _word(self, region: int, index: int) -> int:
        if region == _COUNTERS and index % 16 < 3:
            return self.made >> 16 * (index % 16) & 0xFFFF
        return self.words.get((region, index), 0)

    def _places(self, payload: bytes, *, is_store: bool) -> list[tuple[int, int]]:
        region, first, run, stride, count = struct.unpack("<BIBIH", payload)
        if self.left and (is_store or region != _COUNTERS):
            raise Refused(StatusCode.BUSY)
        if region >= _REGIONS or run == 0 or not 1 <= count <= (self._most - 11) // 4:
            raise Refused(StatusCode.OUT_OF_RANGE)
        return [(region, first + at // run * stride + at % run) for at in range(count)]

    def _run(self, payload: bytes) -> bytes:
        (steps,) = unpack("<Q", payload)
        if self.left:
            raise Refused(StatusCode.BUSY)
        if not 1 <= steps < 1 << 48:
            raise Refused(StatusCode.OUT_OF_RANGE)
        self.left = steps
        return b""

    def _stop(self, payload: bytes) -> bytes:
        unpack("", payload)
        self.left = 0
        return b""

    def _progress(self, payload: bytes) -> bytes:
        unpack("", payload)
        if self.silent is not None:
            self.left = 0
            return bytes([0x80 + self.silent])
        running = self.left > 0
        steps = min(self._pace, self.left)
        self.made, self.left = self.made + steps, self.left - steps
        return bytes([running])


class ReferenceLive(ReferenceAgents):
    """Reference device with agents whose world is the host.

    Attributes
    ----------
    said : list of tuple of int
        Requests without repeats: agent and state of each BEGIN; agent, next state, terminated and raw
        reward of each ACT. A state consists of one row per plane. The action in an answer is the sum of
        agent and first row in the latest request, modulo the number of actions, and 0 before the first
        request.
    """

    repeatable = (*ReferenceAgents.repeatable, Request.BEGIN, Request.ACT)

    def __init__(self, config: Config) -> None:
        self.said: list[tuple[int, ...]] = []
        super().__init__(config)

    def _handlers(self) -> dict[int, Callable[[bytes], bytes]]:
        others = super()._handlers()
        del others[Request.RUN]
        return {**others, Request.BEGIN: self._begin, Request.ACT: self._act}

    def _carry_out(self, frame: Frame) -> tuple[StatusCode, bytes]:
        self._is_repeat = frame.seq != self._expected
        return super()._carry_out(frame)

    def _begin(self, payload: bytes) -> bytes:
        said = unpack(f"<B{self.config.planes}H", payload)
        return self._action() if self._is_repeat else self._hear(said)

    def _act(self, payload: bytes) -> bytes:
        said = unpack(f"<B{self.config.planes}HBi", payload)
        if self._is_repeat:
            return self._action()
        form = self.config.format
        *_, terminated, reward = said
        if terminated > 1 or not form.minimum <= reward <= form.maximum:
            raise Refused(StatusCode.OUT_OF_RANGE)
        return self._hear(said)

    def _hear(self, said: tuple[int, ...]) -> bytes:
        acting = self.config.acting
        assert acting is not None
        agent, *rows = said[: 1 + self.config.planes]
        if agent >= acting.agents or max(rows) >= self.config.states:
            raise Refused(StatusCode.OUT_OF_RANGE)
        self.said.append(said)
        return self._action()

    def _action(self) -> bytes:
        latest = self.said[-1] if self.said else ()
        return bytes([sum(latest[:2]) % self.config.actions])
