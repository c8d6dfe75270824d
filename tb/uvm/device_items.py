"""Items exchanged between the parts of the device's pyuvm environment."""

from dataclasses import dataclass

from pyuvm import uvm_sequence_item

__all__ = ["Answered", "Bytes", "Given", "Reset", "Taken"]


class Bytes(uvm_sequence_item):
    """Bytes for the device, usually one frame, right or wrong.

    Parameters
    ----------
    name : str
        What they are.
    data : bytes
    idle : float
        Probability of a clock without a byte before each byte, 0..1.
    stall : float
        Probability that an answer's byte is not taken in a clock, 0..1; holds until the next item.
    answers : int
        Frames among them that the device answers.
    alone : bool
        Wait for all answers before and after: then no count depends on timing.
    reset : bool
        Reset the device after the last byte.
    """

    def __init__(
        self,
        name: str,
        data: bytes,
        *,
        answers: int = 0,
        idle: float = 0.0,
        stall: float = 0.0,
        alone: bool = False,
        reset: bool = False,
    ) -> None:
        super().__init__(name)
        self.data, self.answers = data, answers
        self.idle = idle
        self.stall = stall
        self.alone = alone
        self.reset = reset


@dataclass(frozen=True, slots=True)
class Taken:
    """A frame that the device has taken, with its delimiter; `idle` if a clock inside it had no byte."""

    data: bytes
    idle: bool


@dataclass(frozen=True, slots=True)
class Given:
    """A frame that the device has sent, with its delimiter; `stalled` if a byte had to wait."""

    data: bytes
    stalled: bool


@dataclass(frozen=True, slots=True)
class Reset:
    """A reset, after which the device sends a delimiter; `inside` a frame that it was taking."""

    inside: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that the scoreboard found correct, for coverage.

    Attributes
    ----------
    seen, right : bytes
        The answer, and that of the reference: counts that depend on the clocks of the lane may differ.
    outstanding : int
        Requests that were waiting for an answer.
    dropped : int
        Frames that the device has dropped since the answer before.
    """

    seen: bytes
    right: bytes
    outstanding: int
    dropped: int
