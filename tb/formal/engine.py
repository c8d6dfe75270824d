"""Proofs about a circuit: induction over clocks, bounded search from power-up, and reachable covers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bitwuzla import Bitwuzla, Kind, Option, Options, Result, Term, TermManager
from tb.formal.btor import Circuit, Clock
from tb.formal.trace import write_trace

__all__ = ["Found", "OutOfTimeError", "Solver", "induction", "reached", "search"]


class OutOfTimeError(Exception):
    """The solver gave no answer within its time limit."""


@dataclass(frozen=True)
class Found:
    """A violated property or a reached cover, with its clock."""

    name: str
    clock: int


@dataclass(frozen=True)
class Solver:
    """Solver settings.

    Parameters
    ----------
    free_products : bool
        Whether all multipliers of the same width are replaced with one uninterpreted function.
    limit_s : float
        Time limit of each query in seconds.
    say : callable
        Function that is called with the proof's progress.
    apart : bool
        Whether each query runs in a separate solver, which can use the queried property to simplify the
        known facts.
    trace : Path, optional
        VCD file to which the clocks of a violation are written.
    """

    free_products: bool = False
    limit_s: float = 300.0
    say: Callable[[str], None] = lambda text: None
    apart: bool = False
    trace: Path | None = None


class _Clocks:
    """A circuit unrolled clock by clock, and the facts about these clocks that the solver assumes."""

    def __init__(self, text: str, solver: Solver) -> None:
        self._manager, self._options = TermManager(), Options()
        self._options.set(Option.TIME_LIMIT_PER, round(1000 * solver.limit_s))
        self._options.set(Option.PRODUCE_MODELS, True)
        products: dict[int, Term] | None = {} if solver.free_products else None
        self._circuit = Circuit(self._manager, text, products=products)
        self._apart, self._trace = solver.apart, solver.trace
        self._solver = Bitwuzla(self._manager, self._options)
        self._known: list[Term] = []
        self._clocks: list[Clock] = []
        self.properties = [name for name, _ in self._circuit.properties]

    def advance(self, *, from_power_up: bool) -> None:
        """Add the next clock; the first clock is either power-up or arbitrary."""
        if self._clocks:
            clock = self._circuit.after(self._clocks[-1])
        elif from_power_up:
            clock = self._circuit.first()
        else:
            clock = self._circuit.anything()
        self._circuit.evaluate(clock)
        self._clocks.append(clock)
        for line in self._circuit.assumptions:
            self._know(self._circuit.is_one(clock.values[line]))

    def violated(self, which: Sequence[int]) -> int | None:
        """Return one of the properties that can be violated in this clock, or None."""
        bad = [self._bad(index) for index in which]
        solver = self._solver
        if self._apart:
            solver = Bitwuzla(self._manager, self._options)
            for term in self._known:
                solver.assert_formula(term)
        else:
            solver.push(1)
        solver.assert_formula(bad[0] if len(bad) == 1 else self._manager.mk_term(Kind.OR, bad))
        result, found = solver.check_sat(), None
        if result == Result.SAT:
            values = [solver.get_value(term).value() for term in bad]
            found = which[values.index(True)]
            if self._trace:
                write_trace(
                    self._trace,
                    self._circuit,
                    self._clocks,
                    lambda term: solver.get_value(term).value(),
                )
        if not self._apart:
            solver.pop(1)
        if result == Result.UNKNOWN:
            raise OutOfTimeError(", ".join(self.properties[index] for index in which))
        return found

    def hold(self, index: int) -> None:
        """Assume that a property is true in this clock."""
        self._know(self._manager.mk_term(Kind.NOT, [self._bad(index)]))

    def _know(self, term: Term) -> None:
        self._known.append(term)
        self._solver.assert_formula(term)

    def _bad(self, index: int) -> Term:
        return self._circuit.is_one(self._clocks[-1].values[self._circuit.properties[index][1]])


def induction(text: str, clocks: int, solver: Solver) -> Found | None:
    """Check that all properties hold in a clock if they held in the previous clocks, from any state.

    In the last clock, each proved property is assumed when proving the next ones. Lemmas, named
    ``..._L``, are proved first.

    Parameters
    ----------
    text : str
        The circuit in BTOR2.
    clocks : int
        Number of previous clocks.
    solver : Solver

    Returns
    -------
    Found or None
        None if all properties hold, otherwise a property that may be violated.

    Raises
    ------
    OutOfTimeError
    """
    unrolled = _Clocks(text, solver)
    properties = sorted(
        range(len(unrolled.properties)), key=lambda index: "_L" not in unrolled.properties[index]
    )
    for _ in range(clocks):
        unrolled.advance(from_power_up=False)
        for index in properties:
            unrolled.hold(index)
    unrolled.advance(from_power_up=False)
    for index in properties:
        solver.say(f"induction, {unrolled.properties[index]}")
        if unrolled.violated([index]) is not None:
            return Found(unrolled.properties[index], clocks)
        unrolled.hold(index)
    return None


def search(text: str, clocks: int, solver: Solver) -> Found | None:
    """Look for a violated property in the first clocks after power-up.

    Parameters and errors are those of :func:`induction`. The result is None if no violation is found.
    """
    unrolled = _Clocks(text, solver)
    properties = range(len(unrolled.properties))
    for clock in range(clocks):
        solver.say(f"clock {clock} of {clocks} from power-up")
        unrolled.advance(from_power_up=True)
        if (index := unrolled.violated(properties)) is not None:
            return Found(unrolled.properties[index], clock)
        for index in properties:
            unrolled.hold(index)
    return None


def reached(text: str, clocks: int, solver: Solver) -> list[Found]:
    """Return the covers reached in the first clocks after power-up, each with its first clock.

    Parameters and errors are those of :func:`induction`; `text` has covers instead of properties.
    """
    unrolled = _Clocks(text, solver)
    open_, found = set(range(len(unrolled.properties))), []
    for clock in range(clocks):
        solver.say(f"clock {clock} of {clocks}, {len(open_)} covers left")
        unrolled.advance(from_power_up=True)
        for index in sorted(open_):
            if unrolled.violated([index]) is not None:
                found.append(Found(unrolled.properties[index], clock))
                open_.discard(index)
        if not open_:
            break
    return found
