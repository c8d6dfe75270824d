"""The capacity of a serial line, by a closed formula: bytes, line time, device clocks, credits.

An APPLY frame of full length has a payload of P = ``max_payload`` bytes. With r bytes per record on
average it holds n = P / r transitions, and takes F = P + OVERHEAD + c + 1 bytes on the line: header and
CRC, c bytes of COBS, which adds at most one per 254, and the delimiter. Its answer has A = COMMON +
OVERHEAD + 2 bytes.

With b seconds per byte (ten bit times), and a device with clock f that takes one byte per clock and one
transition per l clocks of its lane, four things happen at once, and the slowest determines the time of a
frame:

- the line to the device is busy for F b seconds,
- the device for w = max(F, n l) / f,
- the line to the host for A b,
- and there is credit for W = ``buffer_bytes`` // (P + OVERHEAD) frames, each of which holds its
credit for
  F b + w + A b + d, from its first byte to the last byte of its answer; d is the delay of answers in an
  adapter.

So a frame takes T = max(F b, w, A b, (F b + w + A b + d) / W), the line carries n / T transitions/s
and is busy for F b / T of the time. ``tb/sw/test_bench_hardware.py`` compares this with the driver on a
simulated line, and that with the RTL.
"""

from __future__ import annotations

from dataclasses import dataclass

from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config
from qstep.spec.protocol import BITS_PER_BYTE, COMMON, OVERHEAD, RecordLayout, max_payload

__all__ = [
    "ANSWER_BYTES",
    "BAUDS",
    "Line",
    "equal_baud",
    "line",
    "record_bytes",
]

BAUDS = (115_200, 1_000_000, 3_000_000, 6_000_000)
"""Line rates of the comparison."""

ANSWER_BYTES = COMMON.size + OVERHEAD + 2
"""A of the formula: too short for more than one byte of COBS."""

_COBS_BLOCK = 254


@dataclass(frozen=True)
class Line:
    """The capacity of a serial line with 8 data bits, no parity and 1 stop bit.

    Attributes
    ----------
    baud : int
    rate : float
        Transitions/s.
    busy : float
        Share of the time, 0..1, in which the line to the device carries bytes.
    to_device, to_host : float
        Bytes per transition, including frames and answers.
    """

    baud: int
    rate: float
    busy: float
    to_device: float
    to_host: float


def record_bytes(config: Config, transitions: Transitions) -> float:
    """Return r: the mean bytes of the records of transitions whose rewards the device knows."""
    layout = RecordLayout.coded(config)
    continues = (transitions.state[1:] == transitions.next_state[:-1]).mean()
    full, continuing = layout.size(full=True), layout.size(full=False)
    return float(full - continues * (full - continuing))


def line(config: Config, record: float, lane_clocks: float, answer_delay: float = 0.0) -> Line:
    """Return the capacity of the line of ``config.link`` with frames of full length.

    Parameters
    ----------
    config : Config
    record : float
        r, see :func:`record_bytes`.
    lane_clocks : float
        l, 1 or more.
    answer_delay : float
        d, seconds.
    """
    link = config.link
    payload = max_payload(link.buffer_bytes)
    body = payload + OVERHEAD
    frame, held = body + body // _COBS_BLOCK + 2, payload / record
    byte = BITS_PER_BYTE / link.baud
    there, back = frame * byte, ANSWER_BYTES * byte
    work = max(frame, held * lane_clocks) / link.clock_hz
    round_trip = there + work + back + answer_delay
    each = max(there, work, back, round_trip / (link.buffer_bytes // body))
    return Line(link.baud, held / each, there / each, frame / held, ANSWER_BYTES / held)


def equal_baud(rate: float, to_device: float) -> float:
    """Return the baud at which a busy line carries `rate` transitions/s of a given size."""
    return rate * to_device * BITS_PER_BYTE
