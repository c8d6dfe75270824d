"""Items exchanged between the parts of the device's pyuvm environment."""

from dataclasses import dataclass

from pyuvm import uvm_sequence_item

__all__ = ["Answered", "Bytes", "Given", "Reset", "Taken"]


class Bytes(uvm_sequence_item):
    """Bytes for the device, usually one valid or invalid frame.

    Parameters
    ----------
    name : str
        Description of the bytes.
    data : bytes
    idle : float
        Probability of each idle clock before a byte, 0..1.
    stall : float
        Probability that a byte of an answer is not accepted in a given clock, 0..1; applies until the
        next item.
    answers : int
        Number of frames in `data` that the device answers.
    alone : bool
        Wait for all answers both before and after the bytes, so that no count depends on timing.
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
    """A frame that the device has received, with its delimiter; `idle` if it contained an idle clock."""

    data: bytes
    idle: bool


@dataclass(frozen=True, slots=True)
class Given:
    """A frame that the device has sent, with its delimiter; `stalled` if a byte had to wait."""

    data: bytes
    stalled: bool


@dataclass(frozen=True, slots=True)
class Reset:
    """A reset, after which the device sends a delimiter; `inside` if a frame was being received."""

    inside: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer confirmed by the scoreboard, for coverage.

    Attributes
    ----------
    seen, right : bytes
        The answers of the device and the reference, respectively; counts that depend on the lane's
        timing may differ.
    outstanding : int
        Number of requests that were waiting for an answer.
    dropped : int
        Number of frames that the device has dropped since the previous answer.
    """

    seen: bytes
    right: bytes
    outstanding: int
    dropped: int
