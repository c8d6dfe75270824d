"""A simulated serial line to the reference device, for measuring how busy the line is.

Each byte takes ten bit times, one after the other. The device processes one byte per clock, then sends
its answer. Time passes only while the host waits for answers, and by ``host_delay`` before each write.
"""

from collections import deque
from dataclasses import dataclass

from tb.reference_device import ReferenceDevice

from qstep.device.lane import LinkDevice
from qstep.device.link.frames import DELIMITER
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config
from qstep.spec.protocol import BITS_PER_BYTE

__all__ = ["Carried", "SimulatedLine", "carry"]


class SimulatedLine:
    """A port to the reference device over two serial lines at ``config.link.baud``.

    Parameters
    ----------
    config : Config
    answer_delay : float
        Seconds by which an adapter delays each answer.
    host_delay : float
        Seconds that the host needs before each write.

    Attributes
    ----------
    now : float
        Simulated seconds.
    to_device, to_host : int
        Bytes carried in either direction.
    """

    def __init__(self, config: Config, answer_delay: float = 0.0, host_delay: float = 0.0) -> None:
        self.now = 0.0
        self.to_device = self.to_host = 0
        self._answer_delay, self._host_delay = answer_delay, host_delay
        self._byte_seconds = BITS_PER_BYTE / config.link.baud
        self._clock_seconds = 1 / config.link.clock_hz
        self._device = ReferenceDevice(config)
        self._device.receive(b"")  # discard what it sends after its reset
        # Times at which the last byte reaches the device, has been processed, and is answered.
        self._arrived = self._worked = self._answered = 0.0
        self._answers: deque[tuple[float, bytes]] = deque()

    def write(self, data: bytes) -> None:
        """Send bytes over the line, after those already queued."""
        self.now += self._host_delay
        self.to_device += len(data)
        self._arrived = max(self._arrived, self.now)
        *frames, rest = data.split(DELIMITER)  # a noisy line may lose the last delimiter
        for part in (*(frame + DELIMITER for frame in frames), rest):
            size = len(part)
            self._arrived += size * self._byte_seconds
            if answer := self._device.receive(part):
                self._worked = max(self._worked, self._arrived) + size * self._clock_seconds
                self._answered = max(self._answered, self._worked)
                self._answered += len(answer) * self._byte_seconds
                self._answers.append((self._answered + self._answer_delay, answer))

    def read(self, timeout: float) -> bytes:
        """Return the next answer when its last byte has arrived, or ``b""`` after `timeout` seconds."""
        if not self._answers or self._answers[0][0] > self.now + timeout:
            self.now += timeout
            return b""
        arrival, answer = self._answers.popleft()
        self.now = max(self.now, arrival)
        self.to_host += len(answer)
        return answer

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


@dataclass(frozen=True)
class Carried:
    """The traffic of one call of the driver's ``apply``.

    Attributes
    ----------
    transitions : int
    seconds : float
        Simulated time from the call to its return.
    to_device, to_host : int
        Bytes in either direction, frames and answers included.
    busy : float
        Share of the time in which the line to the device carried bytes, 0..1.
    """

    transitions: int
    seconds: float
    to_device: int
    to_host: int
    busy: float


def carry(config: Config, transitions: Transitions, line: SimulatedLine, warm: bool) -> Carried:
    """Send transitions over a line and return the traffic.

    With `warm`, they are sent twice and only the second pass is reported. By then the rewards are in the
    device, and after some 12,000 transitions the payloads have grown to their full length.
    """
    device = LinkDevice(line, config)
    device.apply(transitions if warm else transitions[:0])
    to_device, to_host, began = line.to_device, line.to_host, line.now
    device.apply(transitions)
    seconds = line.now - began
    to_device, to_host = line.to_device - to_device, line.to_host - to_host
    busy = to_device * BITS_PER_BYTE / config.link.baud / seconds
    return Carried(len(transitions), seconds, to_device, to_host, busy)
