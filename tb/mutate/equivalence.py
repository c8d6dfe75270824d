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

Where there are multipliers, all this is done twice: first with an unknown function in the place of
products, which only tells what is equivalent, then with products.
"""

from collections.abc import Collection, Sequence

from tb.formal.btor import Clock
from tb.mutate.facts import Fact, begun, counts, equalities, hold, kept
from tb.mutate.pair import Pair, UnknownError

__all__ = ["SECONDS", "verdict"]

SECONDS = 60
"""Most time for a comparison."""

_SOON = 16
"""Clocks in which most mutants differ that differ at all."""

_LENGTHS = (1, 4)
"""Clocks of the runs that tell which registers can differ."""


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
        Seconds for all questions to the solver, with products and without them.
    """
    if " mul " in text:
        answer = _verdict(Pair(text, number, limit_s, free_products=True), clocks)
        if answer.startswith("equivalent"):
            return f"{answer}, whatever products are"
    answer = _verdict(Pair(text, number, limit_s), clocks)
    return answer or f"open: no answer within {limit_s:.0f} s"


def _verdict(pair: Pair, clocks: int) -> str:
    """Return the verdict about a pair, or nothing if the solver gave no answer."""
    try:
        if found := _search(pair, 1):
            return f"differs: {found}"
        for length in _LENGTHS:
            differing = _ever_differing(pair, length)
            if _inductive(pair, differing, [], 1):
                how = f"induction over {length} clocks" if differing else "no register differs"
                return f"equivalent: {how}"
        with pair.part_of_time():  # facts take far longer
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
    """Return the registers that can differ, as far as runs of so many clocks tell."""
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
    """Return which facts are true, given which registers can differ, from the second clock on.

    All that may be true is assumed of a clock, and what can be false in the next one is dropped, until
    nothing is. One solver is asked again and again, so it keeps what it has learned.
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
