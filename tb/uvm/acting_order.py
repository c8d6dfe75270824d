"""Predicts in which clock each agent acts when all share a table, and which writes delay it."""

from collections import deque
from dataclasses import dataclass

from qstep.spec.config import Config

__all__ = ["Order", "Reach", "Slot", "distances"]

_LEFT = 2
"""Rounds (one turn of each agent) that still complete after a stop: the current round and the next."""

_STOP_CLOCKS = 3
"""Clocks from a stop until the number of remaining rounds is fixed."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How many preceding slots a slot may have to wait for, as in ``qs_agents_bench``.

    Attributes
    ----------
    slots : int
        Slots in one rotation.
    row, entry : int
        Number of preceding slots whose writes may be in flight when a slot reads a row and Q[state,
        action], respectively.
    """

    slots: int
    row: int
    entry: int


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot with work to do, and whether it may act; for coverage.

    Attributes
    ----------
    agent : int
    turn : bool
        Whether it is the agent's turn.
    row, entry : tuple of int
        Distances, in slots, to the preceding slots that write the row and the entry, respectively, that
        this slot reads; up to one slot beyond the reach.
    held_by : (bool, bool)
        Whether it waits for a write to the row and for a write to its entry, respectively.
    second : bool
        Whether the agent in turn has made a truncated step that still needs its second slot.
    """

    agent: int
    turn: bool
    row: tuple[int, ...]
    entry: tuple[int, ...]
    held_by: tuple[bool, bool]
    second: bool

    @property
    def acts(self) -> bool:
        """Whether the slot acts: it is the agent's turn, and nothing holds it."""
        return self.turn and not any(self.held_by)


def distances(reach: Reach, agents: int) -> dict[str, list[int]]:
    """Return all distances at which an earlier slot can hold a later one, and the first one beyond."""

    def met(most: int) -> list[int]:
        """Return the distances that occur between slots in the same round or in successive rounds."""
        return [d for d in range(1, most + 1) if d < agents or d > reach.slots - agents]

    return {"row": met(reach.row + 1), "entry": met(reach.entry + 1)}


class Order:
    """Tracks whose turn it is, and the pending writes.

    Attributes
    ----------
    turn : int
        The agent whose turn it is.
    holds : int
        Number of slots that were held in their turn since the last reset.
    ends : deque of int
        The clock edges at which the latest rounds of turns ended.
    """

    def __init__(self, config: Config, reach: Reach) -> None:
        assert config.acting is not None
        self._agents, self._reach = config.acting.agents, reach
        self._writes: deque[tuple[int, tuple[int, int]]] = deque(maxlen=reach.slots)
        self.turn = self.holds = 0
        self.ends: deque[int] = deque(maxlen=_LEFT + 1)
        self._pending: tuple[int, int] | None = None

    def slot(self, edge: int, agent: int, x: int, entry: tuple[int, int]) -> Slot:
        """Return how a slot that reads row `x` and an entry must behave, and count it if it is held."""
        mine = agent == self.turn
        ahead = [(edge - written, where) for written, where in self._writes]
        row = [d for d, (state, _) in ahead if state == x and d <= self._reach.row + 1]
        own = [d for d, where in ahead if where == entry and d <= self._reach.entry + 1]
        held_by = (
            any(d <= self._reach.row for d in row),
            any(d <= self._reach.entry for d in own),
        )
        self.holds += mine and any(held_by)
        return Slot(agent, mine, tuple(row), tuple(own), held_by, self.pending)

    def step(self, edge: int, entry: tuple[int, int], truncated: bool) -> None:
        """Record a step of the agent in turn; a truncated step writes only in its second slot."""
        if truncated:
            self._pending = entry
        else:
            self._over(edge, entry)

    def finish(self, edge: int) -> None:
        """Record that the second slot of a truncated step has acted."""
        assert self._pending is not None
        self._over(edge, self._pending)
        self._pending = None

    def stopped(self, edge: int) -> bool:
        """Return whether no more rounds than permitted ended after a stop at `edge`."""
        return len(self.ends) <= _LEFT or self.ends[0] <= edge + _STOP_CLOCKS

    @property
    def pending(self) -> bool:
        """Whether the current agent's step was truncated and still needs its second slot."""
        return self._pending is not None

    def restart(self) -> None:
        """Record that contexts have been written, so that agent 0 is next."""
        assert self._pending is None
        self.turn = 0

    def _over(self, edge: int, entry: tuple[int, int]) -> None:
        self._writes.append((edge, entry))
        self.turn = (self.turn + 1) % self._agents
        if not self.turn:
            self.ends.append(edge)
