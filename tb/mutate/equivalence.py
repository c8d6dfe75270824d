"""Checks whether a surviving mutant differs at all, by comparing two copies of a netlist with Bitwuzla.

Both copies get the same inputs, and in one of them a mutant is switched on. First, the registers that
can ever differ are collected. The set starts empty. It is extended by every register that can differ
after a clock in which no output and no register outside the set differs, until it stops growing. It is
then an invariant that, as long as no output has differed, all other registers are equal. If an output
can still differ, the same is tried with runs of four clocks. The mutant is equivalent for any number of
clocks if no output can differ after some clocks without a difference, and no output differs in the same
number of clocks after power-up, when both copies are equal. Otherwise, a search from power-up looks for
a clock in which an output differs, and the invariant is refined. The refined facts are that a bit of a
register that can differ is nevertheless equal, or that a register is nonzero, either always or while a
small register has a certain value. All these facts are assumed from the second clock on, and every fact
that a clock can violate is dropped, until no clock can violate any.

With multipliers, the comparison runs twice: first with products replaced by an uninterpreted function,
which can only prove equivalence, and then with real products.
"""

from collections.abc import Collection, Sequence

from tb.formal.btor import Clock
from tb.mutate.facts import Fact, begun, counts, equalities, hold, kept
from tb.mutate.pair import Pair, UnknownError

__all__ = ["SECONDS", "verdict"]

SECONDS = 60
"""Time limit of a comparison in seconds."""

_SOON = 16
"""Number of clocks within which most differing mutants show a difference."""

_LENGTHS = (1, 4)
"""Lengths in clocks of the runs that determine which registers can differ."""


def verdict(text: str, number: int, clocks: int, limit_s: float = SECONDS) -> str:
    """Return the verdict with its reason: ``equivalent: ...``, ``differs: ...`` or ``open: ...``.

    Parameters
    ----------
    text : str
        The netlist in BTOR2, with the input ``mutant``.
    number : int
        Number of the mutant.
    clocks : int
        Maximum number of clocks of the induction and of the search.
    limit_s : float
        Time limit of all solver queries in seconds, applied separately without and with products.
    """
    if " mul " in text:
        answer = _verdict(Pair(text, number, limit_s, free_products=True), clocks)
        if answer.startswith("equivalent"):
            return f"{answer}, whatever products are"
    answer = _verdict(Pair(text, number, limit_s), clocks)
    return answer or f"open: no answer within {limit_s:.0f} s"


def _verdict(pair: Pair, clocks: int) -> str:
    """Return the verdict on a pair, or an empty string if the solver gave no answer."""
    try:
        if found := _search(pair, 1):
            return f"differs: {found}"
        for length in _LENGTHS:
            differing = _ever_differing(pair, length)
            if _inductive(pair, differing, [], 1):
                how = f"induction over {length} clocks" if differing else "no register differs"
                return f"equivalent: {how}"
        with pair.part_of_time():  # finding the facts takes far longer
            if found := _search(pair, min(_SOON, clocks)):
                return f"differs: {found}"
        differing = _ever_differing(pair, 1)
        equal = equalities(pair, differing)
        facts = _always(pair, differing, equal)
        if _inductive(pair, differing, facts, 2) and not _search(pair, 2):
            return "equivalent: induction over 2 clocks"
        facts = _always(pair, differing, counts(pair) + equal)
        depth = 2
        while depth <= clocks:
            if found := _search(pair, depth):
                return f"differs: {found}"
            if _inductive(pair, differing, facts, depth):
                return f"equivalent: induction over {depth} clocks"
            depth *= 2
    except UnknownError:
        return ""
    return f"open: no difference within {depth // 2} clocks, and no proof"


def _ever_differing(pair: Pair, length: int) -> set[int]:
    """Return the registers that can differ, judged by runs of `length` clocks."""
    differing: set[int] = set()

    def more(clocks: tuple[Clock, Clock]) -> set[int]:
        states = pair.differing_registers(clocks)
        return pair.possible({n: term for n, term in states.items() if n not in differing})

    *before, clocks = pair.begins()
    while before and (found := more(before[-1])):
        differing |= found
    pair.agree(clocks)
    for _ in range(length - 1):
        while found := more(clocks):
            differing |= found
        clocks = pair.after(clocks)
        pair.agree(clocks)
    while True:
        clocks = pair.start(differing)
        pair.agree(clocks)
        for _ in range(length - 1):
            clocks = pair.after(clocks, differing)
            pair.agree(clocks)
        found = more(clocks)
        if not found:
            return differing
        differing |= found


def _always(pair: Pair, differing: set[int], facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that are true from the second clock on, given the registers that can differ.

    All candidate facts are assumed in a clock, and facts that can be false in the next clock are
    dropped, until none is dropped. The same solver answers all queries, so it reuses what it has
    learned.
    """
    facts = begun(pair, facts)
    clocks = pair.start(differing)
    pair.agree(clocks)
    return kept(pair, clocks, facts)


def _inductive(pair: Pair, differing: set[int], facts: Collection[Fact], depth: int) -> bool:
    clocks = pair.start(differing)
    hold(pair, clocks, facts)
    for _ in range(depth - 1):
        pair.agree(clocks)
        clocks = pair.after(clocks)
    return not pair.possible(pair.differing_outputs(clocks))


def _search(pair: Pair, depth: int) -> str:
    *before, clocks = pair.begins()
    for clock in range(len(before) + 1, len(before) + depth + 1):
        if outputs := pair.possible(pair.differing_outputs(clocks)):
            return f"{', '.join(sorted(map(pair.name, outputs)))} in clock {clock}"
        clocks = pair.after(clocks)
    return ""
