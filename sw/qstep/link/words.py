"""Words of the agents' memories in requests: which words one STORE or FETCH can address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Words", "words_from"]

_LONGEST_RUN = 255


class Words(NamedTuple):
    """Words of a region: runs of `run` consecutive words, each run `stride` after the previous one.

    The last run may be shorter; there are `total` words.
    """

    first: int
    run: int
    stride: int
    total: int


def words_from(indexes: Sequence[int], at: int, most: int) -> Words:
    """Return the words, starting at number `at` of the given ones, that fit one request.

    Parameters
    ----------
    indexes : sequence of int
        Indexes of words in one region, in the order in which to move them.
    at : int
        Position of the first word.
    most : int
        Most words that fit, at least 1.

    Examples
    --------
    >>> words_from([64, 65, 128, 129, 192, 400], 0, 100)
    Words(first=64, run=2, stride=64, total=5)
    """
    first = indexes[at]
    length = min(len(indexes) - at, most)
    run = 1
    while run < min(length, _LONGEST_RUN) and indexes[at + run] == first + run:
        run += 1
    stride = indexes[at + run] - first if run < length else 0
    count = run
    if stride > 0:
        while count < length and indexes[at + count] == first + count // run * stride + count % run:
            count += 1
    return Words(first, run, max(stride, 0), count)
