"""Helpers for the window tests: windows with requests in flight, and answers to them."""

from typing import NamedTuple

from qstep.device.link.frames import Frame
from qstep.device.link.window import Progress, Window
from qstep.spec.protocol import ANSWER, COMMON, Request, StatusCode

__all__ = ["BUFFER", "EPOCH", "NOTHING", "State", "answer", "filled", "opened", "state"]

BUFFER = 2048
EPOCH = 0x12345678
NOTHING = Progress(more_done=False, repeat=b"")


def opened(expected: int = 0, applied: int = 0) -> Window:
    """Return a window whose device expects request `expected` and has applied `applied` transitions."""
    window = Window(BUFFER)
    window.open(EPOCH, expected, applied)
    return window


def filled(*transitions: int, expected: int = 0, applied: int = 0) -> Window:
    """Return a window with one request in flight for each of these numbers of transitions."""
    window = opened(expected, applied)
    for count in transitions:
        window.add(Request.APPLY_RAW, b"", count, 0.0)
    return window


def answer(
    expected: int,
    applied: int = 0,
    status: StatusCode = StatusCode.OK,
    seq: int = 0,
    kind: Request = Request.APPLY_RAW,
    epoch: int = EPOCH,
) -> Frame:
    """Return an answer to request number `seq`."""
    return Frame(kind + ANSWER, seq, epoch, COMMON.pack(status, expected, applied))


class State(NamedTuple):
    """The public state of a window."""

    epoch: int | None
    next: int
    applied: int
    limit: int
    is_halted: bool
    pending: int


def state(window: Window) -> State:
    """Return the public state of a window, for comparison."""
    values = (window.epoch, window.next, window.applied, window.limit, window.is_halted)
    return State(*values, len(window.pending))
