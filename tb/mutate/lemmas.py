"""Lemmas of a contract: proved of the hardware without a mutant before they are used."""

from __future__ import annotations

from bitwuzla import Bitwuzla, Kind, Options, Result, Term, TermManager
from tb.formal.btor import Circuit, Clock
from tb.mutate.one_mutant import with_mutant

__all__ = ["prove"]


def prove(text: str, most_clocks: int = 4) -> None:
    """Prove the properties of a circuit by induction over up to so many clocks.

    Parameters
    ----------
    text : str
        The netlist in BTOR2, with the input ``mutant``.
    most_clocks : int

    Raises
    ------
    AssertionError
        A property is false, or is not proved.
    """
    plain = with_mutant(text, 0)
    failing: list[str] = []
    for clocks in range(1, most_clocks + 1):
        false = _broken(plain, clocks, from_power_up=True)
        assert not false, f"lemmas are false in clock {clocks}: {', '.join(false)}"
        failing = _broken(plain, clocks + 1, from_power_up=False)
        if not failing:
            return
    raise AssertionError(f"lemmas are not proved: {', '.join(failing)}")


def _broken(text: str, clocks: int, *, from_power_up: bool) -> list[str]:
    """Return properties that can break in the last of so many clocks if all hold before."""
    manager = TermManager()
    circuit = Circuit(manager, text)
    solver = Bitwuzla(manager, _options())
    clock = circuit.first() if from_power_up else circuit.anything()
    for number in range(clocks):
        if number:
            clock = circuit.after(clock)
        circuit.evaluate(clock)
        for line in circuit.assumptions:
            solver.assert_formula(circuit.is_one(clock.values[line]))
        broken = _properties(circuit, clock)
        if number < clocks - 1:
            for term in broken.values():
                solver.assert_formula(manager.mk_term(Kind.NOT, [term]))
    if not broken:
        return []
    terms = list(broken.values())
    solver.assert_formula(terms[0] if len(terms) == 1 else manager.mk_term(Kind.OR, terms))
    if solver.check_sat() == Result.UNSAT:
        return []
    return [name for name, term in broken.items() if solver.get_value(term).value()]


def _options() -> Options:
    from bitwuzla import Option

    options = Options()
    options.set(Option.PRODUCE_MODELS, True)
    return options


def _properties(circuit: Circuit, clock: Clock) -> dict[str, Term]:
    return {
        f"{name} ({line})": circuit.is_one(clock.values[line]) for name, line in circuit.properties
    }
