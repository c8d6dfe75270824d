"""What is said about updates whose result did not fit the number format."""

from __future__ import annotations

from qstep.fixed import QFormat

__all__ = ["saturated_in_words"]


def saturated_in_words(saturations: int, updates: int, number_format: QFormat) -> str:
    """Return a sentence about a run with saturations: how many, their share, and what to do."""
    low = number_format.minimum * number_format.resolution
    high = number_format.maximum * number_format.resolution
    return (
        f"saturated: {saturations:,} of {updates:,} updates ({saturations / updates:.2%}) did not fit "
        f"{number_format}, {low:g} to {high:g}, and were clipped; use a format with more integer bits"
    )
