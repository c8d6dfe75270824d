"""A port to the reference device in simulated time; tests can replace its answers."""

from collections import Counter
from collections.abc import Callable

from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort
from tb.sw.session_bench import CONFIG

from qstep.device.link.frames import DELIMITER, Frame, decode_frame
from qstep.spec.protocol import StatusCode

__all__ = ["Hesitates", "TimedPort", "interrupt"]


class Hesitates(ReferenceDevice):
    """A device that answers GAP although nothing is missing.

    Attributes
    ----------
    gaps : Counter of int
        Number of such answers still to be sent, by type of request.
    """

    def __init__(self) -> None:
        super().__init__(CONFIG)
        self.gaps: Counter[int] = Counter()

    def _carry_out(self, frame: Frame) -> tuple[StatusCode, bytes]:
        if frame.seq == self._expected and self.gaps[frame.type]:
            self.gaps[frame.type] -= 1
            return StatusCode.GAP, b""
        return super()._carry_out(frame)


class TimedPort(DirectPort):
    """A line whose time advances only when a read times out; the fixture `timed_port` creates one.

    Attributes
    ----------
    device : Hesitates
    now : float
        Simulated seconds.
    turns : str
        The host's calls so far: "w" for each write, "r" for each read.
    instead : list of callable
        Replacements for the answers to the next writes, in order. Each one takes the real answers and
        returns the bytes that the host receives.
    """

    device: Hesitates

    def __init__(self) -> None:
        super().__init__(Hesitates())
        self.now = 100.0
        self.turns = ""
        self.instead: list[Callable[[bytes], bytes]] = []

    def monotonic(self) -> float:
        """Return the simulated time, in place of the function in the module `time`."""
        return self.now

    def write(self, data: bytes) -> None:
        self.turns += "w"
        super().write(data)

    def read(self, timeout: float) -> bytes:
        self.turns += "r"
        if not self._arrived:
            self.now += timeout
            return b""
        return super().read(timeout)

    def back(self, data: bytes) -> bytes:
        return self.instead.pop(0)(data) if self.instead else data

    def lose(self, answers: int) -> None:
        """Lose the answers to the next writes."""
        self.instead += [lambda _: b""] * answers

    def arrive(self, *frames: bytes) -> None:
        """Let bytes arrive before the next answers."""
        self._arrived += b"".join(frames)

    def requests(self) -> list[Frame | None]:
        """Return the frames that the host has written so far."""
        parts = b"".join(self.written).split(DELIMITER)
        return [decode_frame(part) for part in parts if part]


def interrupt(*arguments: object) -> bytes:
    """Stand in for a call during which the user presses Ctrl-C."""
    raise KeyboardInterrupt
