"""Policies that act on a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["epsilon_greedy", "greedy"]


def greedy(q: NDArray[Any], state: int) -> int:
    """Return the lowest action with the maximum of a row of the table."""
    return int(q[state].argmax())


def epsilon_greedy(
    q: NDArray[Any], state: int, epsilon: float, generator: np.random.Generator
) -> int:
    """Return a uniformly random action with probability `epsilon`, otherwise the greedy one.

    Draws one number, and a second one if it explores.
    """
    if generator.random() < epsilon:
        return int(generator.integers(q.shape[1]))
    return greedy(q, state)
