"""Alias tables: a set of weights cut into slots of equal size, of which each holds two at most.

Walker's method (ACM TOMS 3, 1977) in integers, for many sets at once. The sweep that fills the slots
goes through the weights below a slot's size (light) and the others (heavy) in their order. Where it
stands follows from sums alone (Huebschle-Schneider and Sanders, ACM TOMS 48, 2022): what the light ones
so far lacked, and what the heavy ones so far had to spare.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.acting.draws import DRAW_BITS

__all__ = ["TOTAL", "Slots", "alias"]

TOTAL = 1 << DRAW_BITS
"""What the weights of a set sum to."""


class Slots(NamedTuple):
    """K slots of each of n sets.

    Attributes
    ----------
    split : ndarray of int64, shape (n, K)
        0..65536 / K: how much of the slot belongs to the first.
    first, second : ndarray of int64, shape (n, K)
        0..K-1: which weights of the set share the slot.
    """

    split: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]


def alias(weight: NDArray[Any]) -> Slots:
    """Cut sets of K weights, shape (n, K), into K slots of 65536 / K each.

    K is a power of two up to 65536 and each set sums to 65536; unused weights are 0.
    """
    sets, slots = weight.shape
    size = TOTAL // slots
    order = np.argsort(weight >= size, axis=1, kind="stable")
    weight = np.take_along_axis(weight, order, axis=1).astype(np.int64)
    heavy = weight >= size
    light = ~heavy

    # What is summed within a set stays below its share of the keys, so that one search serves all.
    key = np.arange(sets, dtype=np.int64)[:, None] * (2 * TOTAL)
    lack = np.where(light, size - weight, 0)
    lacked = key + np.cumsum(lack, axis=1)
    spared = key + np.cumsum(np.where(heavy, weight - size, 0), axis=1)

    split = weight.copy()
    second = order.copy()
    # A light one takes the rest of its slot from the first heavy one that still has something to spare.
    donor = np.searchsorted(spared[heavy], (lacked - lack)[light], side="right")
    second[light] = order[heavy][donor]
    # A heavy one keeps a slot, less what it has given too much, which the next heavy one makes good.
    taker = np.searchsorted(lacked[light], spared[heavy], side="left")
    given = np.append(lacked[light], 0)[taker]
    nothing = spared[heavy] == np.broadcast_to(key, weight.shape)[heavy]
    split[heavy] = size + np.where(nothing, 0, spared[heavy] - given)
    short = np.zeros_like(heavy)
    short[heavy] = split[heavy] < size
    second[short] = np.roll(order[heavy], -1)[short[heavy]]
    return Slots(split, order, second)
