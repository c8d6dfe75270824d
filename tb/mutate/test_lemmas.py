"""Lemmas are proved before they are used, and one that is false or unproved stops the comparison."""

from __future__ import annotations

import pytest
from tb.mutate.equivalence import verdict
from tb.mutate.lemmas import prove

pytestmark = pytest.mark.formal

COUNTER = """
1 sort bitvec 1
2 sort bitvec 3
3 sort bitvec 16
4 input 3 mutant
5 zero 2
6 constd 2 5
7 one 2
8 state 2 count
9 init 2 8 5
10 eq 1 8 6
11 add 2 8 7
12 ite 2 10 5 11
13 next 2 8 12
14 constd 3 1
15 eq 1 4 14
16 constd 2 {never}
17 eq 1 8 16
18 and 1 15 17
19 output 18 seen
"""
"""Counts from 0 to 5; the mutant shows where the count is a certain one."""

LEMMA = "20 bad 17 never\n"


def test_a_lemma_that_is_proved_settles_a_mutant() -> None:
    never_7 = COUNTER.format(never=7)
    prove(never_7 + LEMMA)
    assert verdict(never_7 + LEMMA, 1, clocks=2) == "equivalent: no register differs"
    assert verdict(never_7, 1, clocks=2).startswith("open: ")


def test_a_lemma_that_is_false_or_unproved_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"lemmas are false in clock 3: never"):
        prove(COUNTER.format(never=2) + LEMMA)
    with pytest.raises(AssertionError, match=r"lemmas are not proved: never"):
        prove(COUNTER.format(never=7) + LEMMA, most_clocks=1)


def test_a_circuit_without_lemmas_has_nothing_to_prove() -> None:
    prove(COUNTER.format(never=7))
