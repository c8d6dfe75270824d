"""Packs offers into input words of ``qs_lane_bench``, and unpacks clocks from its output words."""

import numpy as np
from numpy.typing import NDArray

from qstep import Transitions

__all__ = ["CLOCK", "FLAGS", "IDLE_MASK", "clocks_from_text", "entry_words", "flag", "offer_words"]

CLOCK = np.dtype(
    [
        ("edge", "<u4"),
        ("flags", "u1"),
        ("reset", "u1"),
        ("greedy", "u1"),
        ("action", "u1"),
        ("state", "<u2"),
        ("next_state", "<u2"),
        ("reward", "<i4"),
        ("value", "<i4"),
        ("maximum", "<i4"),
    ]
)
"""One clock of the lane, with the layout of ``seen_o``; ``flags`` has the bits named in `FLAGS`."""

FLAGS = ("valid", "ready", "terminated", "busy", "hold", "forwarded", "saturated", "res_valid")

IDLE_MASK = (1 << 71) - 1
"""Mask that clears the valid bit of an offer."""


def flag(clocks: NDArray[np.void], name: str) -> NDArray[np.bool_]:
    """Return one bit of ``flags`` for every clock."""
    return (clocks["flags"] >> FLAGS.index(name) & 1).astype(np.bool_)


def clocks_from_text(text: str) -> NDArray[np.void]:
    """Turn the binary text of successive values of ``seen_o`` into records of :data:`CLOCK`."""
    bits = np.frombuffer(text.encode(), np.uint8).reshape(-1, 8 * CLOCK.itemsize) & 1
    little = np.ascontiguousarray(np.packbits(bits, axis=1)[:, ::-1])
    return little.view(CLOCK).ravel()


def offer_words(transitions: Transitions) -> list[int]:
    """Return ``offer_i`` for each transition, with the valid bit set."""
    low = (
        (transitions.reward_raw.astype(np.int64) & 0xFFFFFFFF) << 32
        | transitions.next_state.astype(np.int64) << 16
        | transitions.state
    ).view(np.uint64)
    high = transitions.action | transitions.terminated.astype(np.int32) << 6 | 1 << 7
    return [h << 64 | w for h, w in zip(high.tolist(), low.tolist(), strict=True)]


def entry_words(table: NDArray[np.int32]) -> list[int]:
    """Return the values of ``host_i`` that write the entries of a table, row by row."""
    state, action = np.indices(table.shape)
    words = action.astype(np.int64) << 48 | state.astype(np.int64) << 32 | 1 << 54
    return (words | table.astype(np.int64) & 0xFFFFFFFF).ravel().tolist()
