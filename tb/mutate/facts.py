"""Facts that are true until an output has differed: bits equal in both copies, and nonzero registers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from bitwuzla import Kind, Term
from tb.formal.btor import Clock
from tb.mutate.pair import Pair

__all__ = ["Fact", "begun", "counts", "equalities", "hold", "kept"]

_CONTROL_BITS = 3
"""Maximum width of a register whose value can be the condition of a fact."""

_MOST_FACTS = 10_000
"""Maximum number of facts; beyond it, conditions use only a contract's registers, or none at all."""

_WHOLE = -1
"""Bit number that means all words of a memory."""


@dataclass(frozen=True)
class Fact:
    """The fact that a register bit or memory is equal in both copies, always or for one control value.

    Without a bit, the fact is that the register is nonzero in one of the copies. With a control
    register, the fact applies only while that register has the value `value`; a fact without a bit uses
    the control register of its own copy.
    """

    register: int
    bit: int | None
    control: int | None = None
    value: int = 0
    mutated: bool = False

    def is_false(self, right: Mapping[int, int], wrong: Mapping[int, int]) -> bool:
        """Return whether the register values contradict the fact."""
        one = wrong if self.mutated else right
        if self.control is not None and one[self.control] != self.value:
            return False
        if self.bit is None:
            return one[self.register] == 0
        return bool((right[self.register] ^ wrong[self.register]) >> self.bit & 1)


def equalities(pair: Pair, registers: set[int]) -> list[Fact]:
    """Return candidate facts: parts of registers that can differ are equal in both copies."""
    words = pair.words()
    bits = [
        (number, bit) for number in sorted(registers & words.keys()) for bit in range(words[number])
    ]
    return [Fact(n, _WHOLE) for n in sorted(registers - words.keys())] + _when(pair, bits)


def counts(pair: Pair) -> list[Fact]:
    """Return candidate facts: registers are nonzero."""
    facts = _when(pair, [(number, None) for number in pair.words()])
    return facts + [replace(one, mutated=True) for one in facts]


def begun(pair: Pair, facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts true in the first clock after the reset, or in the second without a reset."""
    *before, first = pair.begins()
    pair.agree(first)
    return _rest(pair, facts, first if before else pair.after(first))


def hold(pair: Pair, clocks: tuple[Clock, Clock], facts: Collection[Fact]) -> None:
    """Assume facts in a clock."""
    right, wrong = clocks
    pair.exclude([_broken(pair, one, right.registers, wrong.registers) for one in facts])


def kept(pair: Pair, clocks: tuple[Clock, Clock], facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that stay true after a clock in which all of them are true."""
    return _rest(pair, facts, pair.ends(clocks), clocks)


def _rest(
    pair: Pair,
    facts: Sequence[Fact],
    ends: tuple[Clock, Clock],
    clocks: tuple[Clock, Clock] | None = None,
) -> list[Fact]:
    """Drop facts that can be false at the ends if the rest is true in the clocks; return the rest."""
    make = pair.manager.mk_term
    broken = {}
    for fact in facts:
        holds = pair.manager.mk_const(pair.manager.mk_bool_sort())
        if clocks:
            before = _broken(pair, fact, *(side.registers for side in clocks))
            pair.exclude([make(Kind.AND, [holds, before])])
        after = _broken(pair, fact, *(side.registers for side in ends))
        broken[fact] = holds, make(Kind.AND, [holds, after])
    if broken:
        pair.solver.assert_formula(pair.either([false for _, false in broken.values()]))
    left = set(broken)
    memories = {one for one in facts if one.bit == _WHOLE}
    words = set(facts) - memories
    read = {one.register for one in words}
    read |= {one.control for one in words if one.control is not None}
    # Facts that are not assumed are excluded: the solver has to find a violated one among the others.
    while left and pair.is_possible(*(broken[fact][0] for fact in left)):
        right, wrong = ({n: pair.value(side.registers[n]) for n in read} for side in ends)
        false = {one for one in left & words if one.is_false(right, wrong)}
        false |= {one for one in left & memories if pair.solver.get_value(broken[one][1]).value()}
        pair.exclude([broken[fact][0] for fact in false])
        left -= false
    return [fact for fact in facts if fact in left]


def _when(pair: Pair, subjects: Sequence[tuple[int, int | None]]) -> list[Fact]:
    """Return facts about registers and bits: unconditional ones, and one for each control value."""
    controls = [(n, bits) for n, bits in pair.words().items() if bits <= _CONTROL_BITS]
    values = [(n, value) for n, bits in controls for value in range(1 << bits)]
    if len(subjects) * len(values) > _MOST_FACTS:
        values = [one for one in values if pair.name(one[0]).isidentifier()]
    if len(subjects) * len(values) > _MOST_FACTS:
        values = []
    return [Fact(*one, *when) for one in subjects for when in [(None, 0), *values]]


def _broken(pair: Pair, one: Fact, right: dict[int, Term], wrong: dict[int, Term]) -> Term:
    make, side = pair.manager.mk_term, wrong if one.mutated else right
    if one.bit is None:
        word = side[one.register]
        false = make(Kind.EQUAL, [word, pair.manager.mk_bv_zero(word.sort())])
    else:
        bits = [side[one.register] for side in (right, wrong)]
        if one.bit != _WHOLE:
            bits = [make(Kind.BV_EXTRACT, [word], [one.bit, one.bit]) for word in bits]
        false = make(Kind.DISTINCT, bits)
    if one.control is None:
        return false
    control = side[one.control]
    value = pair.manager.mk_bv_value(control.sort(), one.value)
    return make(Kind.AND, [make(Kind.EQUAL, [control, value]), false])
