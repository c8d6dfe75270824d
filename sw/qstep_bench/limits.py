"""The capacity of a serial line in closed form, from bytes, line time, device clocks and credits.

A full-length APPLY frame has a payload of P = ``max_payload`` bytes. With r bytes per record on average,
it contains n = P / r transitions and takes F = P + OVERHEAD + c + 1 bytes on the line: payload, header
and CRC, c bytes of COBS (at most one per 254), and the delimiter. Its answer has A = COMMON + OVERHEAD +
2 bytes.

A byte takes b seconds (ten bit times). The device, with clock f, accepts one byte per clock and one
transition per l clocks of its lane. The slowest of four limits determines the time per frame:

- the line to the device is busy for F b seconds,
- the device is busy for w = max(F, n l) / f,
- the line to the host is busy for A b,
- and credit covers W = ``buffer_bytes`` // (P + OVERHEAD) frames. A frame's credit is in use for
  F b + w + A b + d, from the frame's first byte to the last byte of its answer; d is the adapter's delay
  of answers.

So a frame takes T = max(F b, w, A b, (F b + w + A b + d) / W). The line carries n / T transitions/s and
is busy for F b / T of the time. ``tb/sw/test_bench_hardware.py`` compares this with the driver on a
simulated line, and the simulated line with the RTL.
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
"""Line rates to compare."""

ANSWER_BYTES = COMMON.size + OVERHEAD + 2
"""A in the formula; an answer is too short to need more than one byte of COBS."""

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
        Share of time, 0..1, that the line to the device is busy.
    to_device, to_host : float
        Bytes per transition, including frames and answers.
    """

    baud: int
    rate: float
    busy: float
    to_device: float
    to_host: float


def record_bytes(config: Config, transitions: Transitions) -> float:
    """Return r, the mean number of bytes per record if the device can decode all rewards."""
    layout = RecordLayout.coded(config)
    continues = (transitions.state[1:] == transitions.next_state[:-1]).mean()
    full, continuing = layout.size(full=True), layout.size(full=False)
    return float(full - continues * (full - continuing))


def line(config: Config, record: float, lane_clocks: float, answer_delay: float = 0.0) -> Line:
    """Return the capacity of the line of ``config.link`` with full-length frames.

    Parameters
    ----------
    config : Config
    record : float
        r in the formula; see :func:`record_bytes`.
    lane_clocks : float
        l in the formula, 1 or more.
    answer_delay : float
        d in the formula, in seconds.
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
    """Return the baud rate at which a saturated line carries `rate` transitions/s of a given size."""
    return rate * to_device * BITS_PER_BYTE
