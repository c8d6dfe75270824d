"""Does a mutant that no test kills differ at all? Two copies of a netlist, compared by Bitwuzla.

Both copies get the same inputs; in one of them a mutant is switched on. First, the registers that can
ever differ are collected: none to begin with, then each one that can differ after a clock in which all
others are equal and no output differs, until no more come. The others are equal as long as no output has
differed: that is an invariant. If an output can differ, the same is tried with runs of four clocks. If
no output can differ, after some clocks in which none did, and none does in these first clocks from an
equal power-up, the mutant is equivalent for any number of clocks. Otherwise a search from power-up looks
for a clock in which an output differs, and the invariant gets finer: of a register that can differ, each
bit may still be equal, always or while a small register has some value, and then a register may be
above 0. All this is assumed from the second clock on, and dropped where a clock can break it, until none
can.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TypeVar

from bitwuzla import Bitwuzla, Kind, Option, Options, Result, Term, TermManager
from tb.formal.btor import Circuit, Clock
from tb.mutate.one_mutant import with_mutant

__all__ = ["SECONDS", "verdict"]


SECONDS = 120
"""Most time for a comparison."""

_SOON = 16
"""Clocks in which most mutants differ that differ at all."""

_LENGTHS = (1, 4)
"""Clocks of the runs that tell which registers can differ."""

_CONTROL_BITS = 3
"""A register of so many bits may say when others are equal, or are not 0."""

_MOST_FACTS = 10_000
"""If there were more of them at once, only a contract's own registers say when, or none does."""


_WHOLE = -1
"""In place of a bit: all words of a memory."""

_Key = TypeVar("_Key")


class _Unknown(Exception):
    pass


@dataclass(frozen=True)
class _Fact:
    """A bit of a register, or a memory, is equal in both copies, always or while a register has a value.

    Without a bit: the register is not 0 in one of the copies, while that register of the same copy has
    the value. With a constant: the bit is that in one of the copies, likewise.
    """

    register: int
    bit: int | None
    control: int | None = None
    value: int = 0
    mutated: bool = False
    constant: int | None = None

    def is_false(self, right: Mapping[int, int], wrong: Mapping[int, int]) -> bool:
        """Return whether the values of registers are otherwise."""
        one = wrong if self.mutated else right
        if self.control is not None and one[self.control] != self.value:
            return False
        if self.bit is None:
            return one[self.register] == 0
        if self.constant is not None:
            return one[self.register] >> self.bit & 1 != self.constant
        return bool((right[self.register] ^ wrong[self.register]) >> self.bit & 1)


class _Pair:
    """The netlist twice, with the mutant off and on."""

    def __init__(self, text: str, number: int, limit_s: float) -> None:
        self._manager, self._end = TermManager(), monotonic() + limit_s
        self._right, self._wrong = (
            Circuit(self._manager, with_mutant(text, value)) for value in (0, number)
        )
        self.lemmas: set[int] = set()  # that hold with the mutant, as far as is known
        lines = [line for line in self._right.outputs if self.name(line) == "started"]
        self._started = lines[0] if lines else None
        self.solver = self._new_solver()

    def _new_solver(self) -> Bitwuzla:
        """Return a solver that gives no answer when the time is over."""
        left_ms = round(1000 * (self._end - monotonic()))
        if left_ms <= 0:
            raise _Unknown
        options = Options()
        options.set(Option.TIME_LIMIT_PER, left_ms)
        options.set(Option.PRODUCE_MODELS, True)
        return Bitwuzla(self._manager, options)

    def _is_possible(self, *assumed: Term) -> bool:
        result = self.solver.check_sat(*assumed)
        if result == Result.UNKNOWN or monotonic() > self._end:
            raise _Unknown
        return result == Result.SAT

    def name(self, line: int) -> str:
        return self._right.names[line]

    def start(
        self, differing: set[int] | None, facts: Collection[_Fact] = ()
    ) -> tuple[Clock, Clock]:
        """Return the first clock of a run: power-up (None), or any in which only these differ.

        The `facts` hold there.
        """
        self.solver = self._new_solver()
        right = self._right.first() if differing is None else self._right.anything()
        registers = dict(right.registers)
        if differing:
            other = self._wrong.anything().registers
            registers |= {number: other[number] for number in differing}
        self.exclude([self._broken(one, right.registers, registers) for one in facts])
        clocks = self._evaluated(right, Clock(registers))
        if differing is not None:
            self.exclude(list(self.broken_lemmas(clocks).values()))
            self.solver.assert_formula(self._has_started(clocks))
        return clocks

    def _has_started(self, clocks: tuple[Clock, Clock]) -> Term:
        """Return the statement that the reset of power-up is over, or that there is none."""
        if self._started is None:
            return self._manager.mk_true()
        return self._right.is_one(clocks[0].values[self._started])

    def begins(self) -> list[tuple[Clock, Clock]]:
        """Return power-up, the clocks of the reset then, and the first one behind it."""
        clocks = [self.start(None)]
        while self._is_possible(self._manager.mk_term(Kind.NOT, [self._has_started(clocks[-1])])):
            clocks.append(self.after(clocks[-1]))
        return clocks

    def every_lemma(self) -> set[int]:
        return set(range(len(self._right.properties)))

    def broken_lemmas(self, clocks: tuple[Clock, Clock]) -> dict[int, Term]:
        """Return the statements that a lemma is false in the copy with the mutant."""
        # Lines that a mutant makes equal to others are known by those.
        lines = [line for _, line in self._wrong.properties]
        return {n: self._wrong.is_one(clocks[1].values[lines[n]]) for n in sorted(self.lemmas)}

    def after(
        self, clocks: tuple[Clock, Clock], differing: set[int] | None = None
    ) -> tuple[Clock, Clock]:
        """Return the next clock, in which only these registers differ (None: any)."""
        right, wrong = self._after(clocks)
        if differing is not None:
            others = right.registers.keys() - differing
            wrong.registers |= {number: right.registers[number] for number in others}
        return self._evaluated(right, wrong)

    def _after(self, clocks: tuple[Clock, Clock]) -> tuple[Clock, Clock]:
        right, wrong = self._right.after(clocks[0]), self._wrong.after(clocks[1])
        for free in right.registers.keys() - self._right.written:
            wrong.registers[free] = right.registers[free]
        return right, wrong

    def _evaluated(self, right: Clock, wrong: Clock) -> tuple[Clock, Clock]:
        self._right.evaluate(right)
        wrong.inputs = right.inputs
        self._wrong.evaluate(wrong)
        for line in self._right.assumptions:
            self.solver.assert_formula(self._right.is_one(right.values[line]))
        # Lemmas, which are proved (tb.mutate.lemmas).
        self.exclude([self._right.is_one(right.values[n]) for _, n in self._right.properties])
        return right, wrong

    def differing_outputs(self, clocks: tuple[Clock, Clock]) -> dict[int, Term]:
        return self._differing(
            {line: clocks[0].values[line] for line in self._right.outputs}, clocks[1].values
        )

    def differing_registers(self, clocks: tuple[Clock, Clock]) -> dict[int, Term]:
        right, wrong = self._after(clocks)
        return self._differing(right.registers, wrong.registers)

    def _differing(self, one: dict[int, Term], other: dict[int, Term]) -> dict[int, Term]:
        return {
            number: self._manager.mk_term(Kind.DISTINCT, [term, other[number]])
            for number, term in one.items()
            if term != other[number]
        }

    def equalities(self, registers: set[int]) -> list[_Fact]:
        """Return what may be equal of registers that can differ."""
        words = self._words()
        bits = [
            (number, bit)
            for number in sorted(registers & words.keys())
            for bit in range(words[number])
        ]
        return [_Fact(n, _WHOLE) for n in sorted(registers - words.keys())] + self._when(bits)

    def constants(self, differing: set[int]) -> list[_Fact]:
        """Return what the register that equals a contract's ordinal may be with the mutant.

        That is a value for each of the ordinal's. There need not be one.
        """
        clocks, words = self.start(differing), self._words()
        right = clocks[0].registers
        ordinals = [n for n in words if self.name(n) == "ordinal"]
        equal = [
            (ordinal, number)
            for ordinal in ordinals
            for number in sorted(differing - {ordinal})
            if words.get(number) == words[ordinal]
            and not self._is_possible(
                self._manager.mk_term(Kind.DISTINCT, [right[number], right[ordinal]])
            )
        ]
        return [
            _Fact(number, bit, ordinal, value, mutated=True, constant=constant)
            for ordinal, number in equal
            for bit in range(words[number])
            for value in range(1 << words[ordinal])
            for constant in range(2)
        ]

    def counts(self) -> list[_Fact]:
        """Return when registers may not be 0."""
        facts = self._when([(number, None) for number in self._words()])
        return facts + [replace(one, mutated=True) for one in facts]

    def begun(self, facts: Sequence[_Fact]) -> list[_Fact]:
        """Return the facts that are true in the first clock after the reset, or in the second."""
        *before, first = self.begins()
        self.agree(first)
        right, wrong = first if before else self.after(first)
        while false := self.possible(
            {one: self._broken(one, right.registers, wrong.registers) for one in facts}
        ):
            facts = [one for one in facts if one not in false]
        return list(facts)

    def _words(self) -> dict[int, int]:
        """Return the widths of all registers."""
        registers = self._right.anything().registers
        return {n: word.sort().bv_size() for n, word in registers.items() if word.sort().is_bv()}

    def _when(self, subjects: Sequence[tuple[int, int | None]]) -> list[_Fact]:
        """Return facts about registers and their bits: always, or while another one has a value."""
        controls = [(n, bits) for n, bits in self._words().items() if bits <= _CONTROL_BITS]
        values = [(n, value) for n, bits in controls for value in range(1 << bits)]
        if len(subjects) * len(values) > _MOST_FACTS:
            values = [one for one in values if self.name(one[0]).isidentifier()]
        if len(subjects) * len(values) > _MOST_FACTS:
            values = []
        return [_Fact(*one, *when) for one in subjects for when in [(None, 0), *values]]

    def kept(self, clocks: tuple[Clock, Clock], facts: Sequence[_Fact]) -> list[_Fact]:
        """Return the facts that a clock keeps in which all of them hold."""
        make, ends = self._manager.mk_term, self._after(clocks)
        broken = {}
        for fact in facts:
            holds = self._manager.mk_const(self._manager.mk_bool_sort())
            before, after = (
                self._broken(fact, right.registers, wrong.registers)
                for right, wrong in (clocks, ends)
            )
            self.solver.assert_formula(make(Kind.NOT, [make(Kind.AND, [holds, before])]))
            broken[fact] = holds, make(Kind.AND, [holds, after])
        if broken:
            self.solver.assert_formula(self._either([false for _, false in broken.values()]))
        left = set(broken)
        memories = {one for one in facts if one.bit == _WHOLE}
        words = set(facts) - memories
        read = {one.register for one in words} | {one.control for one in words} - {None}
        while left:
            # What is not assumed may hold or not: the solver has to find one of these that is broken.
            assumed = [
                holds if fact in left else make(Kind.NOT, [holds])
                for fact, (holds, _) in broken.items()
            ]
            if not self._is_possible(*assumed):
                break
            right, wrong = ({n: self._value(side.registers[n]) for n in read} for side in ends)
            left -= {one for one in left & words if one.is_false(right, wrong)}
            left -= {
                one for one in left & memories if self.solver.get_value(broken[one][1]).value()
            }
        return [fact for fact in facts if fact in left]

    def _either(self, terms: list[Term]) -> Term:
        return terms[0] if len(terms) == 1 else self._manager.mk_term(Kind.OR, terms)

    def _value(self, word: Term) -> int:
        return int(self.solver.get_value(word).value(10))

    def _broken(self, one: _Fact, right: dict[int, Term], wrong: dict[int, Term]) -> Term:
        make, side = self._manager.mk_term, wrong if one.mutated else right
        if one.bit is None:
            word = side[one.register]
            false = make(Kind.EQUAL, [word, self._manager.mk_bv_zero(word.sort())])
        else:
            bits = [side[one.register] for side in (right, wrong)]
            if one.bit != _WHOLE:
                bits = [make(Kind.BV_EXTRACT, [word], [one.bit, one.bit]) for word in bits]
            if one.constant is not None:
                of_one = bits[one.mutated]
                bits = [of_one, self._manager.mk_bv_value(of_one.sort(), one.constant)]
            false = make(Kind.DISTINCT, bits)
        if one.control is None:
            return false
        control = side[one.control]
        value = self._manager.mk_bv_value(control.sort(), one.value)
        return make(Kind.AND, [make(Kind.EQUAL, [control, value]), false])

    def possible(self, terms: dict[_Key, Term]) -> set[_Key]:
        """Return some of the statements that can be true together; none if none can be."""
        if not terms:
            return set()
        self.solver.push(1)
        self.solver.assert_formula(self._either(list(terms.values())))
        found = set()
        if self._is_possible():
            found = {n for n, term in terms.items() if self.solver.get_value(term).value()}
        self.solver.pop(1)
        return found

    def agree(self, clocks: tuple[Clock, Clock]) -> None:
        """Assume that no output differs in a clock."""
        self.exclude(list(self.differing_outputs(clocks).values()))

    def exclude(self, terms: Sequence[Term]) -> None:
        for term in terms:
            self.solver.assert_formula(self._manager.mk_term(Kind.NOT, [term]))


def verdict(text: str, number: int, clocks: int, limit_s: float = SECONDS) -> str:
    """Return ``equivalent: ...``, ``differs: ...`` or ``open: ...`` with the reason.

    Parameters
    ----------
    text : str
        The netlist in BTOR2, with the input ``mutant``.
    number : int
        The mutant.
    clocks : int
        Most clocks of the induction and of the search.
    limit_s : float
        Seconds for all questions to the solver.
    """
    try:
        pair = _Pair(text, number, limit_s)
        if found := _search(pair, 1):
            return f"differs: {found}"
        for length in _LENGTHS:
            differing = _ever_differing(pair, length)
            if _inductive(pair, differing, [], 1):
                how = f"induction over {length} clocks" if differing else "no register differs"
                return f"equivalent: {how}"
        differing = _ever_differing(pair, 1)
        equalities = pair.equalities(differing)
        tries = [equalities]
        if constants := pair.constants(differing):
            tries.insert(0, [one for one in equalities if one.control is None] + constants)
        for facts in tries:
            facts = _always(pair, differing, facts)
            if _inductive(pair, differing, facts, 2) and not _search(pair, 2):
                return "equivalent: induction over 2 clocks"
        if found := _search(pair, min(_SOON, clocks)):  # more facts take far longer
            return f"differs: {found}"
        facts = _always(pair, differing, pair.counts() + equalities)
        depth = 2
        while depth <= clocks:
            if found := _search(pair, depth):
                return f"differs: {found}"
            if _inductive(pair, differing, facts, depth):
                return f"equivalent: induction over {depth} clocks"
            depth *= 2
    except _Unknown:
        return f"open: no answer within {limit_s:.0f} s"
    return f"open: no difference within {depth // 2} clocks, and no proof"


def _ever_differing(pair: _Pair, length: int) -> set[int]:
    """Return the registers that can differ, as far as runs of so many clocks tell.

    Lemmas that the mutant can break are dropped on the way.
    """
    differing: set[int] = set()

    def more(clocks: tuple[Clock, Clock]) -> set[int]:
        states = pair.differing_registers(clocks)
        return pair.possible({n: term for n, term in states.items() if n not in differing})

    def drop_broken(clocks: tuple[Clock, Clock]) -> bool:
        before = len(pair.lemmas)
        while broken := pair.possible(pair.broken_lemmas(clocks)):
            pair.lemmas -= broken
        return len(pair.lemmas) < before

    pair.lemmas = pair.every_lemma()
    *before, clocks = pair.begins()
    while before and (found := more(before[-1])):
        differing |= found
    pair.agree(clocks)
    for _ in range(length - 1):
        drop_broken(clocks)
        while found := more(clocks):
            differing |= found
        clocks = pair.after(clocks)
        pair.agree(clocks)
    drop_broken(clocks)
    while True:
        clocks = pair.start(differing)
        pair.agree(clocks)
        for _ in range(length - 1):
            clocks = pair.after(clocks, differing)
            pair.agree(clocks)
        found = more(clocks)
        if not found and not drop_broken(pair.after(clocks)):
            return differing
        differing |= found


def _always(pair: _Pair, differing: set[int], facts: Sequence[_Fact]) -> list[_Fact]:
    """Return which facts are true, given which registers can differ, from the second clock on.

    All that may be true is assumed of a clock, and what can be false in the next one is dropped, until
    nothing is. One solver is asked again and again, so it keeps what it has learnt.
    """
    facts = pair.begun(facts)
    clocks = pair.start(differing)
    pair.agree(clocks)
    return pair.kept(clocks, facts)


def _inductive(pair: _Pair, differing: set[int], facts: Collection[_Fact], depth: int) -> bool:
    clocks = pair.start(differing, facts)
    for _ in range(depth - 1):
        pair.agree(clocks)
        clocks = pair.after(clocks)
    return not pair.possible(pair.differing_outputs(clocks))


def _search(pair: _Pair, depth: int) -> str:
    *before, clocks = pair.begins()
    for clock in range(len(before) + 1, len(before) + depth + 1):
        if outputs := pair.possible(pair.differing_outputs(clocks)):
            return f"{', '.join(sorted(map(pair.name, outputs)))} in clock {clock}"
        clocks = pair.after(clocks)
    return ""
