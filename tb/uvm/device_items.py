"""Items exchanged between the parts of the device's pyuvm environment."""

from __future__ import annotations

from typing import NamedTuple

from pyuvm import uvm_sequence_item

__all__ = ["Bytes", "Clock"]

_RX_VALID, _RX_READY, _TX_VALID, _TX_READY, _RESET = (1 << bit for bit in range(8, 13))


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
        idle: float = 0.0,
        stall: float = 0.0,
        alone: bool = False,
        reset: bool = False,
    ) -> None:
        super().__init__(name)
        self.data = data
        self.idle = idle
        self.stall = stall
        self.alone = alone
        self.reset = reset


class Clock(NamedTuple):
    """The activity of both streams at one rising edge."""

    edge: int
    rx_valid: bool
    rx_ready: bool
    rx_data: int
    tx_valid: bool
    tx_ready: bool
    tx_data: int
    reset: bool

    @classmethod
    def from_word(cls, word: int) -> Clock:
        """Split ``seen_o`` into its fields."""
        return cls(
            edge=word >> 24,
            rx_valid=bool(word & _RX_VALID),
            rx_ready=bool(word & _RX_READY),
            rx_data=word & 0xFF,
            tx_valid=bool(word & _TX_VALID),
            tx_ready=bool(word & _TX_READY),
            tx_data=word >> 16 & 0xFF,
            reset=bool(word & _RESET),
        )
