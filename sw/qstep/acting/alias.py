"""Alias tables: a set of weights cut into slots of equal size, each of which holds at most two weights.

Walker's method (ACM TOMS 3, 1977) in integers, for many sets at once. The sweep that fills the slots
goes through the weights below a slot's size (light) and the others (heavy) in their order. Its position
follows from sums alone (Huebschle-Schneider and Sanders, ACM TOMS 48, 2022): how much the light weights
so far lacked, and how much the heavy ones had to spare.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.acting.draws import DRAW_BITS

__all__ = ["TOTAL", "Slots", "alias"]

TOTAL = 1 << DRAW_BITS
"""The sum of the weights of a set."""


class Slots(NamedTuple):
    """K slots of each of n sets.

    Attributes
    ----------
    split : ndarray of int64, shape (n, K)
        0..65536 / K: the part of the slot that belongs to the first.
    first, second : ndarray of int64, shape (n, K)
        0..K-1: the weights of the set that share the slot.
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

    # Sums within a set stay below its share of the keys, so that one search serves all sets.
    key = np.arange(sets, dtype=np.int64)[:, None] * (2 * TOTAL)
    lack = np.where(light, size - weight, 0)
    lacked = key + np.cumsum(lack, axis=1)
    spared = key + np.cumsum(np.where(heavy, weight - size, 0), axis=1)

    split = weight.copy()
    second = order.copy()
    # A light weight fills its slot from the first heavy one that still has something to spare.
    donor = np.searchsorted(spared[heavy], (lacked - lack)[light], side="right")
    second[light] = order[heavy][donor]
    # A heavy weight keeps a slot, minus its overdraft, which the next heavy one fills.
    taker = np.searchsorted(lacked[light], spared[heavy], side="left")
    given = np.append(lacked[light], 0)[taker]
    nothing = spared[heavy] == np.broadcast_to(key, weight.shape)[heavy]
    split[heavy] = size + np.where(nothing, 0, spared[heavy] - given)
    short = np.zeros_like(heavy)
    short[heavy] = split[heavy] < size
    second[short] = np.roll(order[heavy], -1)[short[heavy]]
    return Slots(split, order, second)
