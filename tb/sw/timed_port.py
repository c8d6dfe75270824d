"""A port to the reference device without any real waiting, whose answers a test can replace."""

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
        How often it still does, for each type of request.
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
    """A line whose time passes only while the host waits in vain; the fixture `timed_port` makes one.

    Attributes
    ----------
    device : Hesitates
    now : float
        Simulated seconds.
    turns : str
        What the host did so far: "w" for each write, "r" for each read.
    instead : list of callable
        Each takes the answers to one write, the next one first, and returns what the host gets instead.
    """

    device: Hesitates

    def __init__(self) -> None:
        super().__init__(Hesitates())
        self.now = 100.0
        self.turns = ""
        self.instead: list[Callable[[bytes], bytes]] = []

    def monotonic(self) -> float:
        """Return the time, as the function of the module `time` does."""
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
        """Let bytes arrive in front of the next answers."""
        self._arrived += b"".join(frames)

    def requests(self) -> list[Frame | None]:
        """Return the frames that the host wrote so far."""
        parts = b"".join(self.written).split(DELIMITER)
        return [decode_frame(part) for part in parts if part]


def interrupt(*arguments: object) -> bytes:
    """Take the place of a call during which the user presses Ctrl-C."""
    raise KeyboardInterrupt
