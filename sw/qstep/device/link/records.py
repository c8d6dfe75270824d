"""Records: transitions encoded in an APPLY payload, two to nine bytes each (``docs/link.md``)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from qstep._io.compiled import compiled
from qstep.mdp.transitions import Transitions, checked_transitions
from qstep.spec.config import Config
from qstep.spec.protocol import CODES, RecordLayout

__all__ = ["RewardTable", "encode_records", "extend_digest", "value_bytes", "values_of"]


def value_bytes(values: NDArray[np.int32], width: int) -> bytes:
    """Return the low `width` bytes of each value, little endian."""
    return values.astype("<i4").view(np.uint8).reshape(-1, 4)[:, :width].tobytes()


def values_of(data: bytes | bytearray, width: int) -> NDArray[np.int32]:
    """Return the values that :func:`value_bytes` encoded."""
    wide = np.zeros((len(data) // width, 4), np.uint8)
    wide[:, 4 - width :] = np.frombuffer(data, np.uint8).reshape(-1, width)
    # The value is in the upper bytes, so shifting it down extends its sign.
    return (wide.reshape(-1).view("<i4") >> 8 * (4 - width)).astype(np.int32)


class RewardTable:
    """Codes of the rewards seen so far, in order of first appearance.

    `values` contains the raw reward of each code.
    """

    def __init__(self) -> None:
        self.values = np.zeros(0, np.int32)

    def __len__(self) -> int:
        return len(self.values)

    def clear(self) -> None:
        """Remove all codes."""
        self.values = self.values[:0]

    def assign(self, rewards: NDArray[np.int32]) -> tuple[NDArray[np.uint8], int] | None:
        """Return the code of each reward, and the first code that has not been sent to the device.

        Existing codes are kept, and new ones are appended; if the new ones do not fit, all codes are
        reassigned. If there are more than 256 distinct rewards, all codes are removed, and the result is
        None.
        """
        distinct, first = np.unique(rewards, return_index=True)
        distinct = distinct[np.argsort(first)]
        known = len(self)
        values = np.concatenate([self.values, distinct[~np.isin(distinct, self.values)]])
        if len(values) > CODES:
            known, values = 0, distinct
        if len(values) > CODES:
            self.clear()
            return None
        self.values = values
        order = np.argsort(values).astype(np.uint8)
        return order[np.searchsorted(values, rewards, sorter=order)], known


_DIGEST_CHUNK = 1 << 16
_PLACED = ("continues", "action", "next_state", "terminated", "reward", "state")


@compiled
def _encode(out, byte_ends, record_ends, columns, reward, offsets, reward_mask, sizes, limit):  # type: ignore[no-untyped-def]
    """Write all records and the end of each payload; return the number of payloads."""
    state, action, next_state, terminated = columns
    continues_at, action_at, next_state_at, terminated_at, reward_at, state_at = offsets
    continuing_bytes, full_bytes = sizes
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
            (np.uint64(action[i]) << action_at)
            | (np.uint64(next_state[i]) << next_state_at)
            | (np.uint64(terminated[i]) << terminated_at)
            | ((np.uint64(reward[i]) & reward_mask) << reward_at)
        )
        high = np.uint64(0)
        if full:
            # A full raw record may have 72 bits: the ninth byte stores the bits that `low` cannot.
            low |= np.uint64(state[i]) << state_at
            high = np.uint64(state[i]) >> (np.uint64(64) - state_at)
        else:
            low |= np.uint64(1) << continues_at
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
    offsets = layout.offsets
    continuing_bytes, full_bytes = layout.size(full=False), layout.size(full=True)
    most_frames = -(-count // (limit // full_bytes))
    out = np.empty(count * full_bytes, np.uint8)
    byte_ends = np.empty(most_frames, np.int64)
    record_ends = np.empty(most_frames, np.int64)
    frames = _encode(
        out,
        byte_ends,
        record_ends,
        (transitions.state, transitions.action, transitions.next_state, transitions.terminated),
        reward,
        tuple(np.uint64(offsets[name]) for name in _PLACED),
        np.uint64((1 << layout.reward_bits) - 1),
        (continuing_bytes, full_bytes),
        limit,
    )
    return out, byte_ends[:frames], record_ends[:frames]


def encode_records(
    layout: RecordLayout, transitions: Transitions, reward: NDArray[np.integer], limit: int
) -> Iterator[tuple[memoryview, int]]:
    """Encode transitions in one compiled pass; yield each APPLY payload and its number of transitions.

    Each payload has at most `limit` bytes, starts with a full record and contains only whole records. A
    record omits its state if this is the next state of the previous record in the same payload. `reward`
    contains codes or raw rewards, as `layout` requires.
    """
    out, byte_ends, record_ends = _encode_all(layout, transitions, reward, limit)
    view = out.data
    start = first = 0
    for end, after in zip(byte_ends.tolist(), record_ends.tolist(), strict=True):
        yield view[start:end], after - first
        start, first = end, after


def extend_digest(config: Config, transitions: Transitions, digest: int = 0) -> int:
    """Extend the digest of applied transitions, a CRC-32 over their full raw records."""
    checked_transitions(config, transitions)
    layout = RecordLayout.raw(config)
    for start in range(0, len(transitions), _DIGEST_CHUNK):
        part = transitions[start : start + _DIGEST_CHUNK]
        # With only one record per payload, every record is full.
        out, _, _ = _encode_all(layout, part, part.reward_raw, layout.size(full=True))
        digest = zlib.crc32(out.data, digest)
    return digest
