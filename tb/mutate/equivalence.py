"""Does a mutant that no test kills differ at all? Two copies of a netlist, compared by Bitwuzla.

Both copies get the same inputs; in one of them a mutant is switched on. First, the registers that can
ever differ are collected: none to begin with, then each one that can differ after a clock in which all
others are equal, until no more come. That the others are equal is an invariant. If no output can differ,
after some clocks in which none did, and none does in these first clocks from an equal power-up, the
mutant is equivalent for any number of clocks. Otherwise a search from power-up looks for a clock
in which an output differs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bitwuzla import Bitwuzla, Kind, Option, Options, Result, Term, TermManager
from tb.formal.btor import Circuit, Clock

__all__ = ["verdict"]

_MUTANT = re.compile(r"^(\d+) input (\d+) mutant\b.*$", re.MULTILINE)


class _Unknown(Exception):
    pass


class _Pair:
    """The netlist twice, with the mutant off and on."""

    def __init__(self, text: str, number: int, limit_s: float) -> None:
        self._manager, options = TermManager(), Options()
        options.set(Option.TIME_LIMIT_PER, round(1000 * limit_s))
        options.set(Option.PRODUCE_MODELS, True)
        self._options = options
        assert _MUTANT.search(text), "the netlist has no input for mutants"
        self._right, self._wrong = (
            Circuit(self._manager, _MUTANT.sub(rf"\1 constd \2 {value}", text))
            for value in (0, number)
        )
        self.solver = Bitwuzla(self._manager, options)

    def name(self, line: int) -> str:
        return self._right.names[line]

    def start(self, differing: set[int] | None) -> tuple[Clock, Clock]:
        """Return the first clock of a run: power-up (None), or any in which only these differ."""
        self.solver = Bitwuzla(self._manager, self._options)
        right = self._right.first() if differing is None else self._right.anything()
        registers = dict(right.registers)
        if differing:
            other = self._wrong.anything().registers
            registers |= {number: other[number] for number in differing}
        return self._evaluated(right, Clock(registers))

    def after(self, clocks: tuple[Clock, Clock]) -> tuple[Clock, Clock]:
        return self._evaluated(*self._after(clocks))

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
        }

    def possible(self, terms: dict[int, Term]) -> set[int]:
        """Return some of the statements that can be true together; none if none can be."""
        if not terms:
            return set()
        self.solver.push(1)
        values = list(terms.values())
        self.solver.assert_formula(
            values[0] if len(values) == 1 else self._manager.mk_term(Kind.OR, values)
        )
        result = self.solver.check_sat()
        found = set()
        if result == Result.SAT:
            found = {n for n, term in terms.items() if self.solver.get_value(term).value()}
        self.solver.pop(1)
        if result == Result.UNKNOWN:
            raise _Unknown
        return found

    def exclude(self, terms: Sequence[Term]) -> None:
        for term in terms:
            self.solver.assert_formula(self._manager.mk_term(Kind.NOT, [term]))


def verdict(text: str, number: int, clocks: int, limit_s: float = 20.0) -> str:
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
        Seconds per question to the solver.
    """
    pair = _Pair(text, number, limit_s)
    try:
        differing = _ever_differing(pair)
        depth = 1
        while depth <= clocks:
            if found := _search(pair, depth):
                return f"differs: {found}"
            if _inductive(pair, differing, depth):
                how = "no register differs" if not differing else f"induction over {depth} clocks"
                return f"equivalent: {how}"
            depth *= 2
    except _Unknown:
        return f"open: no answer within {limit_s:.0f} s"
    return f"open: no difference within {depth // 2} clocks, and no proof"


def _ever_differing(pair: _Pair) -> set[int]:
    differing: set[int] = set()
    while True:
        clocks = pair.start(differing)
        states = pair.differing_registers(clocks)
        more = pair.possible({n: term for n, term in states.items() if n not in differing})
        if not more:
            return differing
        differing |= more


def _inductive(pair: _Pair, differing: set[int], depth: int) -> bool:
    clocks = pair.start(differing)
    for _ in range(depth - 1):
        pair.exclude(list(pair.differing_outputs(clocks).values()))
        clocks = pair.after(clocks)
    return not pair.possible(pair.differing_outputs(clocks))


def _search(pair: _Pair, depth: int) -> str:
    clocks = pair.start(None)
    for clock in range(1, depth + 1):
        if outputs := pair.possible(pair.differing_outputs(clocks)):
            return f"{', '.join(sorted(map(pair.name, outputs)))} in clock {clock}"
        clocks = pair.after(clocks)
    return ""
