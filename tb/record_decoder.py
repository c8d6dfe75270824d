"""Decoder for the records in ``docs/link.md``, in plain Python, independent of driver and hardware."""

from typing import NamedTuple

from qstep.spec.config import Config

__all__ = ["Record", "decode_record"]


class Record(NamedTuple):
    """A decoded record; `state` is None in a continuing record, and `reward` is not sign-extended."""

    state: int | None
    action: int
    reward: int
    next_state: int
    terminated: bool


def decode_record(
    config: Config, payload: bytes, start: int, *, coded: bool
) -> tuple[Record, int] | None:
    """Read the record that begins at byte `start`, without range checks.

    Returns
    -------
    (Record, int) or None
        The record and the start of the next one; None if `payload` ends inside the record.
    """
    bits = int.from_bytes(payload[start:], "little")
    taken = 0

    def take(width: int) -> int:
        nonlocal bits, taken
        value = bits & (1 << width) - 1
        bits >>= width
        taken += width
        return value

    continues = take(1) == 1
    action = take(config.action_bits)
    next_state = take(config.state_bits)
    terminated = take(1) == 1
    reward = take(8 if coded else config.format.width)
    state = None if continues else take(config.state_bits)
    end = start + -(-taken // 8)
    if end > len(payload):
        return None
    return Record(state, action, reward, next_state, terminated), end
