"""An agent's generator matches published test vectors, and its draws have the defined parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qstep.errors import ConfigError
from qstep.spec import random as draws
from qstep.spec.random import ROUNDS, advanced, draw, first_word, retreated

_MASK = (1 << 32) - 1


def test_words_are_marsaglias() -> None:
    assert advanced(88172645463325252) == 8748534153485358512  # J. Stat. Software 8, 2003: xor64


def test_first_words_are_those_of_splitmix() -> None:
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [first_word(1234567, agent) for agent in range(3)] == published


def test_seed_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="seed is -1; it must be an integer from 0 to 2\\^64-1"):
        first_word(-1, 0)


def test_function_of_the_rounds_is_simons() -> None:
    """Simon64/128 with its key schedule reproduces its authors' test vector."""
    sequence = "11011011101011000110010111100000010010001010011100110100001111"  # z3
    keys = [0x03020100, 0x0B0A0908, 0x13121110, 0x1B1A1918]

    def right(word: int, by: int) -> int:
        return ((word >> by) | (word << (32 - by))) & _MASK

    for k in range(40):
        mixed = right(keys[k + 3], 3) ^ keys[k + 1]
        mixed ^= right(mixed, 1)
        keys.append(~keys[k] & _MASK ^ mixed ^ int(sequence[k]) ^ 3)
    high, low = 0x656B696C, 0x20646E75
    for key in keys:
        high, low = low ^ draws._mixing(high) ^ key, high
    assert (high, low) == (0x44C8FC20, 0xB9DFA07A)


@given(st.integers(1, 2**64 - 1))
def test_draw_is_a_permutation_of_the_word(word: int) -> None:
    drawn = draw(word)
    high = drawn.outcome << 16 | drawn.start
    low = drawn.explore << 16 | drawn.action
    extra = low ^ draws._mixing(high)
    assert drawn.noise(15) << 1 | drawn.table == extra >> 16
    assert drawn.noise(24) == (extra >> 17) << 9 | (extra & 0xFFFF) >> 7
    for _ in range(ROUNDS):
        high, low = low, high ^ draws._mixing(low)
    assert high << 32 | low == word


def test_a_word_is_gone_back_to_from_the_one_that_follows() -> None:
    for word in (1, 2**64 - 1, *(first_word(seed, 3) for seed in range(200))):
        assert retreated(advanced(word)) == word
