"""Shared by the tests of the window: windows with requests in flight, and answers for them."""

from typing import NamedTuple

from qstep.device.link.frames import Frame
from qstep.device.link.window import Progress, Window
from qstep.spec.protocol import ANSWER, COMMON, Request, StatusCode

__all__ = ["BUFFER", "EPOCH", "NOTHING", "State", "answer", "filled", "opened", "state"]

BUFFER = 2048
EPOCH = 0x12345678
NOTHING = Progress(more_done=False, repeat=b"")


def opened(expected: int = 0, applied: int = 0) -> Window:
    """Return a window in whose session the device expects this number, and has applied so many."""
    window = Window(BUFFER)
    window.open(EPOCH, expected, applied)
    return window


def filled(*transitions: int, expected: int = 0, applied: int = 0) -> Window:
    """Return a window with a request in flight for each number of transitions."""
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
    """Return an answer to the request of number `seq`."""
    return Frame(kind + ANSWER, seq, epoch, COMMON.pack(status, expected, applied))


class State(NamedTuple):
    """What a user sees of a window."""

    epoch: int | None
    next: int
    applied: int
    limit: int
    is_halted: bool
    pending: int


def state(window: Window) -> State:
    """Return the attributes of a window, to compare them at once."""
    values = (window.epoch, window.next, window.applied, window.limit, window.is_halted)
    return State(*values, len(window.pending))
