"""Which states an agent can reach, and which parts of a world are surely mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = ["doubts", "endless", "success_reward", "visited"]


def visited(world: World, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the result of :meth:`~qstep.mdp.world.World.visited`."""
    leads = allowed[world.state, world.action] & ~world.terminated
    return _reached(world.states, world.state[leads], world.next_state[leads], world.start_state)


def endless(world: World) -> NDArray[np.intp]:
    """Return the states that an agent can reach and from which no episode can terminate."""
    acts = visited(world, np.ones((world.states, world.actions), np.bool_))
    goes_on = ~world.terminated
    ending = np.unique(world.state[world.terminated])
    ends = _reached(world.states, world.next_state[goes_on], world.state[goes_on], ending)
    return np.flatnonzero(acts & ~ends)


def _reached(
    states: int, source: NDArray[np.int32], target: NDArray[np.int32], begin: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return the states that steps from `source` to `target` reach from those of `begin`."""
    order = np.argsort(source, kind="stable")
    first = np.searchsorted(source[order], np.arange(states + 1)).tolist()
    following = target[order].tolist()
    seen = [False] * states
    waiting = begin.tolist()
    for state in waiting:
        seen[state] = True
    while waiting:
        state = waiting.pop()
        for after in following[first[state] : first[state + 1]]:
            if not seen[after]:
                seen[after] = True
                waiting.append(after)
    return np.array(seen)


def success_reward(world: World) -> float | None:
    """Return the value of :attr:`~qstep.mdp.world.World.success_reward`."""
    acts = visited(world, np.ones((world.states, world.actions), np.bool_))
    final = world.reward[world.terminated & acts[world.state]]
    return float(final.max()) if final.size else None


def doubts(world: World) -> list[str]:
    """Return descriptions of sure mistakes in a world that was written by hand.

    - A state that no agent can reach, although the world says how to leave it: an outcome or a
      start state is missing.
    - A state that an agent cannot leave, where all actions pay the same and no episode ends: usually
      `terminated` is missing.
    """
    acts = visited(world, np.ones((world.states, world.actions), np.bool_))
    gets_to = acts.copy()
    gets_to[world.next_state[acts[world.state]]] = True
    left = np.zeros(world.states, np.bool_)
    left[world.state[world.next_state != world.state]] = True
    ends = np.zeros(world.states, np.bool_)
    ends[world.state[world.terminated]] = True
    least, most = np.full((2, world.states), np.inf)
    np.minimum.at(least, world.state, world.reward)
    np.minimum.at(most, world.state, -world.reward)

    found = []
    unreached = np.flatnonzero(~gets_to & left)
    if len(unreached):
        found.append(
            f"state {unreached[0]} cannot be reached from a start state, though it can be left "
            f"(states like it: {len(unreached)}); is an outcome or a start state missing?"
        )
    stuck = np.flatnonzero(acts & ~left & ~ends & (least == -most))
    if len(stuck):
        found.append(
            f"state {stuck[0]} cannot be left, pays the same for every action and ends no episode "
            f"(states like it: {len(stuck)}); should what leads there be terminated?"
        )
    return found
