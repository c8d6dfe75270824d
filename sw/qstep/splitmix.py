"""Spreading a seed over 64 bits: splitmix64's mixing (Steele, Lea and Flood, OOPSLA 2014)."""

__all__ = ["GOLDEN", "MIX_A", "MIX_B", "mixed"]

GOLDEN = 0x9E3779B97F4A7C15
"""Increment from one word to the next: 2^64 divided by the golden ratio, odd."""

MIX_A = 0xBF58476D1CE4E5B9
MIX_B = 0x94D049BB133111EB

_MASK64 = (1 << 64) - 1


def mixed(word: int) -> int:
    """Return the mix of a word of 0..2^64-1; the mixing is a permutation of these words."""
    word = ((word ^ (word >> 30)) * MIX_A) & _MASK64
    word = ((word ^ (word >> 27)) * MIX_B) & _MASK64
    return word ^ (word >> 31)
