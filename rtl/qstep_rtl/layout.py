"""Where the fields of a record lie (``docs/link.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from qstep.config import Config

__all__ = ["CODE_BITS", "RecordLayout"]

CODE_BITS = 8
"""Width of a reward code."""


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Bit offsets and sizes of the records of one configuration.

    Attributes
    ----------
    state_bits, action_bits, value_bits : int
        Widths of the fields.
    """

    state_bits: int
    action_bits: int
    value_bits: int

    @classmethod
    def of(cls, config: Config) -> RecordLayout:
        """Return the layout of `config`'s records."""
        return cls(config.state_bits, config.action_bits, config.format.width)

    @property
    def action(self) -> int:
        """Offset of the action; bit 0 says whether the record continues the one before."""
        return 1

    @property
    def next_state(self) -> int:
        """Offset of the next state."""
        return self.action + self.action_bits

    @property
    def terminated(self) -> int:
        """Offset of the flag."""
        return self.next_state + self.state_bits

    @property
    def reward(self) -> int:
        """Offset of the reward or its code."""
        return self.terminated + 1

    def state(self, *, coded: bool) -> int:
        """Offset of the state in a full record, which is also the length in bits of a continuing one."""
        return self.reward + (CODE_BITS if coded else self.value_bits)

    def size(self, *, coded: bool, full: bool) -> int:
        """Whole bytes of a record, 2..9."""
        bits = self.state(coded=coded) + (self.state_bits if full else 0)
        return (bits + 7) // 8
