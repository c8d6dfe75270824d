"""Unrolls two copies of a netlist with equal inputs, one of them with an active mutant."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from bitwuzla import Bitwuzla, Kind, Option, Options, Result, Term, TermManager
from tb.formal.btor import Circuit, Clock
from tb.mutate.one_mutant import with_mutant

__all__ = ["Pair", "UnknownError"]

_Key = TypeVar("_Key")


class UnknownError(Exception):
    """The solver gave no answer within the time limit."""


class Pair:
    """Two copies of the netlist, without and with the mutant.

    With `free_products`, multipliers of equal width become the same uninterpreted function in both
    copies. Values that are equal then are also equal with real products.
    """

    def __init__(
        self, text: str, number: int, limit_s: float, *, free_products: bool = False
    ) -> None:
        self.manager, self._end = TermManager(), monotonic() + limit_s
        products: dict[int, Term] | None = {} if free_products else None
        self._right, self._wrong = (
            Circuit(self.manager, with_mutant(text, value), products=products)
            for value in (0, number)
        )
        lines = [line for line in self._right.outputs if self.name(line) == "started"]
        self._started = lines[0] if lines else None
        self.solver = self._new_solver()

    def _new_solver(self) -> Bitwuzla:
        """Return a solver limited to the remaining time."""
        left_ms = round(1000 * (self._end - monotonic()))
        if left_ms <= 0:
            raise UnknownError
        options = Options()
        options.set(Option.TIME_LIMIT_PER, left_ms)
        options.set(Option.PRODUCE_MODELS, True)
        return Bitwuzla(self.manager, options)

    @contextmanager
    def part_of_time(self) -> Iterator[None]:
        """Limit the enclosed queries to a quarter of the remaining time, and ignore a timeout."""
        end, now = self._end, monotonic()
        self._end = now + (end - now) / 4
        try:
            yield
        except UnknownError:
            pass
        finally:
            self._end = end

    def is_possible(self, *assumed: Term) -> bool:
        """Return whether all `assumed` terms can be true at the same time, given all assertions."""
        result = self.solver.check_sat(*assumed)
        if result == Result.UNKNOWN or monotonic() > self._end:
            raise UnknownError
        return bool(result == Result.SAT)

    def name(self, line: int) -> str:
        return self._right.names[line]

    def start(self, differing: set[int] | None) -> tuple[Clock, Clock]:
        """Return a run's first clock: power-up (None), or any in which only these registers differ."""
        self.solver = self._new_solver()
        right = self._right.first() if differing is None else self._right.anything()
        registers = dict(right.registers)
        if differing:
            other = self._wrong.anything().registers
            registers |= {number: other[number] for number in differing}
        clocks = self._evaluated(right, Clock(registers))
        if differing is not None:
            self.solver.assert_formula(self._has_started(clocks))
        return clocks

    def _has_started(self, clocks: tuple[Clock, Clock]) -> Term:
        """Return the term that is true if the reset at power-up has ended or does not exist."""
        if self._started is None:
            return self.manager.mk_true()
        return self._right.is_one(clocks[0].values[self._started])

    def begins(self) -> list[tuple[Clock, Clock]]:
        """Return the clocks from power-up to the first clock after the reset."""
        clocks = [self.start(None)]
        while self.is_possible(self.manager.mk_term(Kind.NOT, [self._has_started(clocks[-1])])):
            clocks.append(self.after(clocks[-1]))
        return clocks

    def after(
        self, clocks: tuple[Clock, Clock], differing: set[int] | None = None
    ) -> tuple[Clock, Clock]:
        """Return the next clock, in which only these registers differ (any if None)."""
        right, wrong = self.ends(clocks)
        if differing is not None:
            others = right.registers.keys() - differing
            wrong.registers |= {number: right.registers[number] for number in others}
        return self._evaluated(right, wrong)

    def ends(self, clocks: tuple[Clock, Clock]) -> tuple[Clock, Clock]:
        """Return the registers after a clock."""
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
        right, wrong = self.ends(clocks)
        return self._differing(right.registers, wrong.registers)

    def _differing(self, one: dict[int, Term], other: dict[int, Term]) -> dict[int, Term]:
        return {
            number: self.manager.mk_term(Kind.DISTINCT, [term, other[number]])
            for number, term in one.items()
            if term != other[number]
        }

    def words(self) -> dict[int, int]:
        """Return the widths of all registers."""
        registers = self._right.anything().registers
        return {n: word.sort().bv_size() for n, word in registers.items() if word.sort().is_bv()}

    def value(self, word: Term) -> int:
        """Return the value of a word in the solver's model."""
        return int(self.solver.get_value(word).value(10))

    def either(self, terms: list[Term]) -> Term:
        return terms[0] if len(terms) == 1 else self.manager.mk_term(Kind.OR, terms)

    def possible(self, terms: dict[_Key, Term]) -> set[_Key]:
        """Return some terms that can be true at the same time; empty if none can be true."""
        if not terms:
            return set()
        self.solver.push(1)
        self.solver.assert_formula(self.either(list(terms.values())))
        found = set()
        if self.is_possible():
            found = {n for n, term in terms.items() if self.solver.get_value(term).value()}
        self.solver.pop(1)
        return found

    def agree(self, clocks: tuple[Clock, Clock]) -> None:
        """Assume that no output differs in a clock."""
        self.exclude(list(self.differing_outputs(clocks).values()))

    def exclude(self, terms: Sequence[Term]) -> None:
        for term in terms:
            self.solver.assert_formula(self.manager.mk_term(Kind.NOT, [term]))
