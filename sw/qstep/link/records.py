"""Records: transitions as the bytes of a STEP payload, two to nine each (``docs/link.md``)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.compiled import compiled
from qstep.config import Config
from qstep.transitions import Transitions, checked_transitions

__all__ = ["CODES", "Record", "RecordLayout", "decode_record", "encode_records", "extend_digest"]

CODES = 256
"""Entries of the device's reward table."""

_CODE_BITS = 8
_DIGEST_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Widths of the fields of a record, low bit first: continues, action, next state, terminated,
    reward, and in a full record the state.

    Attributes
    ----------
    action_bits, state_bits : int
        1..6 and 1..16.
    reward_bits : int
        8 for a code, W for a raw reward.
    """

    action_bits: int
    state_bits: int
    reward_bits: int

    @classmethod
    def coded(cls, config: Config) -> RecordLayout:
        """Return the layout of APPLY_CODED."""
        return cls(config.action_bits, config.state_bits, _CODE_BITS)

    @classmethod
    def raw(cls, config: Config) -> RecordLayout:
        """Return the layout of APPLY_RAW, and of the records that the digest covers."""
        return cls(config.action_bits, config.state_bits, config.format.width)

    @property
    def offsets(self) -> tuple[int, int, int, int]:
        """Bits at which next state, terminated, reward and state begin; the action begins at bit 1."""
        next_state = 1 + self.action_bits
        terminated = next_state + self.state_bits
        return next_state, terminated, terminated + 1, terminated + 1 + self.reward_bits

    @property
    def continuing_bytes(self) -> int:
        """Bytes of a record whose state is the next state of the one before: all but the state."""
        return (self.offsets[-1] + 7) // 8

    @property
    def full_bytes(self) -> int:
        """Bytes of a record that carries its state."""
        return (self.offsets[-1] + self.state_bits + 7) // 8


class Record(NamedTuple):
    """A decoded record; `state` is None in a continuing one, `reward` is not sign-extended."""

    state: int | None
    action: int
    reward: int
    next_state: int
    terminated: bool


@compiled
def _encode(out, byte_ends, record_ends, columns, reward, offsets, reward_mask, sizes, limit):  # type: ignore[no-untyped-def]
    """Write all records to `out` and where each payload ends; return the number of payloads."""
    state, action, next_state, terminated = columns
    next_state_at, terminated_at, reward_at, state_at = offsets
    continuing_bytes, full_bytes = sizes
    one = np.uint64(1)
    frame = 0
    start = 0
    end = 0
    for i in range(len(state)):
        full = end == start or state[i] != next_state[i - 1]
        size = full_bytes if full else continuing_bytes
        if end + size - start > limit:
            byte_ends[frame] = end
            record_ends[frame] = i
            frame += 1
            start = end
            full = True
            size = full_bytes
        low = (
            (np.uint64(action[i]) << one)
            | (np.uint64(next_state[i]) << next_state_at)
            | (np.uint64(terminated[i]) << terminated_at)
            | ((np.uint64(reward[i]) & reward_mask) << reward_at)
        )
        high = np.uint64(0)
        if full:
            # A full raw record may have 72 bits: what a shift to the left loses is the ninth byte.
            low |= np.uint64(state[i]) << state_at
            high = np.uint64(state[i]) >> (np.uint64(64) - state_at)
        else:
            low |= one
        for k in range(min(size, 8)):
            out[end + k] = low & np.uint64(0xFF)
            low >>= np.uint64(8)
        if size == 9:
            out[end + 8] = high
        end += size
    if end != start:
        byte_ends[frame] = end
        record_ends[frame] = len(state)
        frame += 1
    return frame


def _encode_all(
    layout: RecordLayout, transitions: Transitions, reward: NDArray[np.integer], limit: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    count = len(transitions)
    most_frames = -(-count // (limit // layout.full_bytes))
    out = np.empty(count * layout.full_bytes, np.uint8)
    byte_ends = np.empty(most_frames, np.int64)
    record_ends = np.empty(most_frames, np.int64)
    frames = _encode(
        out,
        byte_ends,
        record_ends,
        (transitions.state, transitions.action, transitions.next_state, transitions.terminated),
        reward,
        tuple(np.uint64(offset) for offset in layout.offsets),
        np.uint64((1 << layout.reward_bits) - 1),
        (layout.continuing_bytes, layout.full_bytes),
        limit,
    )
    return out, byte_ends[:frames], record_ends[:frames]


def encode_records(
    layout: RecordLayout, transitions: Transitions, reward: NDArray[np.integer], limit: int
) -> Iterator[tuple[memoryview, int]]:
    """Encode transitions in one compiled pass and yield them as STEP payloads.

    Each payload begins with a full record and ends at the end of a record; a record whose state is
    the next state of the one before in the same payload is a continuing one.

    Parameters
    ----------
    layout : RecordLayout
        :meth:`RecordLayout.coded` or :meth:`RecordLayout.raw`.
    transitions : Transitions
        Any number of them.
    reward : ndarray of integers, shape (n,)
        Codes, or raw rewards.
    limit : int
        Most bytes of a payload, ``layout.full_bytes`` or more.

    Yields
    ------
    payload : memoryview
    count : int
        How many transitions it holds.
    """
    out, byte_ends, record_ends = _encode_all(layout, transitions, reward, limit)
    view = out.data
    start = first = 0
    for end, after in zip(byte_ends.tolist(), record_ends.tolist(), strict=True):
        yield view[start:end], after - first
        start, first = end, after


def extend_digest(config: Config, transitions: Transitions, digest: int = 0) -> int:
    """Continue the digest of applied transitions: CRC-32 over their full raw records."""
    checked_transitions(config, transitions)
    layout = RecordLayout.raw(config)
    for start in range(0, len(transitions), _DIGEST_CHUNK):
        part = transitions[start : start + _DIGEST_CHUNK]
        # With room for one record only, every record is a full one.
        out, _, _ = _encode_all(layout, part, part.reward_raw, layout.full_bytes)
        digest = zlib.crc32(out.data, digest)
    return digest


def decode_record(layout: RecordLayout, payload: bytes, start: int) -> tuple[Record, int] | None:
    """Read the record that begins at byte `start`, in plain Python; nothing is checked for range.

    Returns
    -------
    (Record, int) or None
        The record and where the next one begins; None where `payload` ends inside the record.
    """
    continuing = payload[start] & 1 == 1
    end = start + (layout.continuing_bytes if continuing else layout.full_bytes)
    if end > len(payload):
        return None
    bits = int.from_bytes(payload[start:end], "little") >> 1
    fields = []
    for width in (layout.action_bits, layout.state_bits, 1, layout.reward_bits, layout.state_bits):
        fields.append(bits & ((1 << width) - 1))
        bits >>= width
    action, next_state, terminated, reward, state = fields
    return Record(None if continuing else state, action, reward, next_state, terminated == 1), end
