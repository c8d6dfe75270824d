"""The order of agents of a shared table, foretold: who acts in which clock, and who is held by what."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from qstep.config import Config

__all__ = ["Order", "Reach", "Slot", "distances"]

_LEFT = 2
"""Turns that a stop leaves: that under way and the next."""

_STOP_CLOCKS = 3
"""Until it is known how many turns are left."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far back a slot has to look, as in ``qs_agents_bench``.

    Attributes
    ----------
    slots : int
        Of a rotation.
    row, entry : int
        A row, and Q[state, action], is read before so many younger slots' writes are over.
    """

    slots: int
    row: int
    entry: int


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot that would act if it were let to, for coverage.

    Attributes
    ----------
    agent : int
    turn : bool
        It is its agent's turn.
    row, entry : tuple of int
        How many slots before it those are that write what it reads, as far as they may hold it and one
        slot further.
    held_by : (bool, bool)
        What it waits for: a write to the row, a write to its entry.
    second : bool
        The second slot of a truncated step is waited for.
    """

    agent: int
    turn: bool
    row: tuple[int, ...]
    entry: tuple[int, ...]
    held_by: tuple[bool, bool]
    second: bool

    @property
    def acts(self) -> bool:
        """It is not held."""
        return self.turn and not any(self.held_by)


def distances(reach: Reach, agents: int) -> dict[str, list[int]]:
    """Return how many slots before a slot those can be that it waits for, and the first it need not."""

    def met(most: int) -> list[int]:
        """Neighbours in a turn, and the first agents of one behind the last of the turn before."""
        return [d for d in range(1, most + 1) if d < agents or d > reach.slots - agents]

    return {"row": met(reach.row + 1), "entry": met(reach.entry + 1)}


class Order:
    """Whose turn it is, and what is still to be written.

    Attributes
    ----------
    turn : int
        The agent that is next.
    holds : int
        Slots held in their turn, since reset.
    ends : deque of int
        The edges of the latest ends of turns.
    """

    def __init__(self, config: Config, reach: Reach) -> None:
        assert config.acting is not None
        self._agents, self._reach = config.acting.agents, reach
        self._writes: deque[tuple[int, tuple[int, int]]] = deque(maxlen=reach.slots)
        self.turn = self.holds = 0
        self.ends: deque[int] = deque(maxlen=_LEFT + 1)
        self._pending: tuple[int, int] | None = None

    def slot(self, edge: int, agent: int, x: int, entry: tuple[int, int]) -> Slot:
        """Return what must become of a slot that reads row `x` and an entry, and count it if held."""
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
        """The agent whose turn it is has made its step; if truncated, what it writes has to wait."""
        if truncated:
            self._pending = entry
        else:
            self._over(edge, entry)

    def finish(self, edge: int) -> None:
        """The second slot of a truncated step has acted."""
        assert self._pending is not None
        self._over(edge, self._pending)
        self._pending = None

    def stopped(self, edge: int) -> bool:
        """Whether no more turns were ended after a stop than it leaves."""
        return len(self.ends) <= _LEFT or self.ends[0] <= edge + _STOP_CLOCKS

    @property
    def pending(self) -> bool:
        """The step of the agent whose turn it is was truncated."""
        return self._pending is not None

    def restart(self) -> None:
        """Contexts have been written: agent 0 is next."""
        assert self._pending is None
        self.turn = 0

    def _over(self, edge: int, entry: tuple[int, int]) -> None:
        self._writes.append((edge, entry))
        self.turn = (self.turn + 1) % self._agents
        if not self.turn:
            self.ends.append(edge)
