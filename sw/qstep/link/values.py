"""Values of a table or of rewards as bytes of the link, ``Config.value_bytes`` each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["value_bytes", "values_of"]


def value_bytes(values: NDArray[np.int32], width: int) -> bytes:
    """Return the low `width` bytes of each value, little endian."""
    return values.astype("<i4").view(np.uint8).reshape(-1, 4)[:, :width].tobytes()


def values_of(data: bytes | bytearray, width: int) -> NDArray[np.int32]:
    """Undo :func:`value_bytes`."""
    wide = np.zeros((len(data) // width, 4), np.uint8)
    wide[:, 4 - width :] = np.frombuffer(data, np.uint8).reshape(-1, width)
    # The value is in the upper bytes, so shifting it down extends its sign.
    return (wide.reshape(-1).view("<i4") >> 8 * (4 - width)).astype(np.int32)
