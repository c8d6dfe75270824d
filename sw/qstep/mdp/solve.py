"""Properties of a world computed without learning: reachable states, optimum and value range.

The optimum is exact and is computed by value iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = [
    "Solution",
    "ValueRange",
    "best_start_value",
    "doubts",
    "endless",
    "is_quick",
    "policy_values",
    "reachable",
    "reached",
    "solve",
    "start_value",
    "value_range",
]


def reachable(world: World) -> NDArray[np.bool_]:
    """Return the states in which some policy may have to act, bool of shape (S,)."""
    return world.visited(np.ones((world.states, world.actions), np.bool_))


def endless(world: World) -> NDArray[np.intp]:
    """Return the reachable states from which the episode cannot terminate."""
    goes_on = ~world.terminated
    ending = np.unique(world.state[world.terminated])
    ends = reached(world.states, world.next_state[goes_on], world.state[goes_on], ending)
    return np.flatnonzero(reachable(world) & ~ends)


def reached(
    states: int, source: NDArray[np.int32], target: NDArray[np.int32], begin: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return the states reachable from `begin` through steps from `source` to `target`."""
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


def doubts(world: World) -> list[str]:
    """Return descriptions of almost certain mistakes in a hand-written world.

    - A state that no agent can reach, although its outcomes lead to other states: an outcome or a start
      state is missing.
    - A state that an agent cannot leave, in which all actions have the same reward and no action can end
      the episode: usually, `terminated` is missing.
    """
    acts = reachable(world)
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
            f"(number of such states: {len(unreached)}); is an outcome or a start state missing?"
        )
    stuck = np.flatnonzero(acts & ~left & ~ends & (least == -most))
    if len(stuck):
        found.append(
            f"state {stuck[0]} can never be left, and every action has the same reward there "
            f"({len(stuck)} such state{'s' * (len(stuck) > 1)}); should transitions into it be marked "
            "`terminated`?"
        )
    return found


_TOLERANCE = 1e-10
"""Values that differ by less than this share of the largest value are considered equal."""

_SWEEPS = 64
"""Value-iteration sweeps before the first convergence check; doubled for each later check."""

_MOST_BY_CHANCE = 4096
"""Maximum number of states of a stochastic world, whose value equations form a dense matrix."""

_MOST_QUICKLY = 512
"""Maximum number of states for which this matrix is solved in milliseconds."""

_NEGLIGIBLE = 1e-17


@dataclass(frozen=True, slots=True)
class Solution:
    """The optimum of a world: values of shape (S,), action values and optimal actions of shape (S, A).

    If several actions tie, `optimal` marks all of them.
    """

    values: NDArray[np.float64]
    q: NDArray[np.float64]
    optimal: NDArray[np.bool_]


def solve(world: World, gamma: float) -> Solution:
    """Return the optimum, by value iteration and then exact evaluation of the greedy policy.

    Both are repeated until no action improves on these values by more than 1e-10 of the largest value,
    or by more than 1e-10 if that is below 1. The time depends on how far rewards propagate, not on
    gamma: value iteration alone would need 20 million sweeps if episodes need not end and gamma is
    0.999999.

    Raises ConfigError unless 0 <= gamma < 1, so that every policy has finite values, or if the world is
    stochastic and has more than 4096 states.
    """
    if not 0.0 <= gamma < 1.0:
        raise ConfigError(
            f"gamma is {gamma}; it must be at least 0 and below 1 for value iteration"
        )
    shape = world.states, world.actions
    reward = np.add.reduceat(world.probability * world.reward, world.first).reshape(shape)
    weight = gamma * world.probability * ~world.terminated

    def backed_up(values: NDArray[np.float64]) -> NDArray[np.float64]:
        following = np.add.reduceat(weight * values[world.next_state], world.first)
        q: NDArray[np.float64] = reward + following.reshape(shape)
        return q

    q = reward
    sweeps = _SWEEPS
    while True:
        for _ in range(sweeps):
            q = backed_up(q.max(axis=1))
        values = policy_values(world, q.argmax(axis=1), gamma)
        q = backed_up(values)
        slack = _TOLERANCE * max(1.0, float(np.abs(values).max()))
        if (q.max(axis=1) <= values + slack).all():
            return Solution(values, q, q >= values[:, None] - 2 * slack)
        sweeps *= 2


def is_quick(world: World, gamma: float) -> bool:
    """Return whether policy values are cheap enough to compute often during learning.

    This requires a gamma below 1, and a world that is deterministic or has at most 512 states.
    """
    return gamma < 1 and (not world.has_chance or world.states <= _MOST_QUICKLY)


def start_value(world: World, policy: NDArray[np.int64], gamma: float) -> float:
    """Return the expected start value of a policy, given as one action per state."""
    return float(world.start @ policy_values(world, policy, gamma))


def best_start_value(world: World, gamma: float) -> float | None:
    """Return the optimal policy's expected start value, or None if :func:`is_quick` is false."""
    return float(world.start @ solve(world, gamma).values) if is_quick(world, gamma) else None


def policy_values(world: World, policy: NDArray[np.int64], gamma: float) -> NDArray[np.float64]:
    """Return the state values, shape (S,), of a policy, given as one action per state.

    Raises ConfigError if the world is stochastic and has more than 4096 states.
    """
    chosen = policy[world.state] == world.action
    state, following = world.state[chosen], world.next_state[chosen]
    probability = world.probability[chosen]
    values = np.bincount(state, probability * world.reward[chosen]).astype(np.float64, copy=False)
    weight = gamma * probability * ~world.terminated[chosen]
    if len(state) > world.states:
        if world.states > _MOST_BY_CHANCE:
            raise ConfigError(
                f"the world is stochastic and has {world.states} states; stochastic worlds can be "
                f"solved with up to {_MOST_BY_CHANCE} states"
            )
        equations = np.eye(world.states)
        np.subtract.at(equations, (state, following), weight)
        return np.linalg.solve(equations, values).astype(np.float64, copy=False)
    # Deterministic, one row per state: sum the rewards of 1, 2, 4, ... steps, each from two halves.
    while weight.max() > _NEGLIGIBLE:
        values = values + weight * values[following]
        weight, following = weight * weight[following], following[following]
    return values


_PRECISION = 0.01
"""Required accuracy of a value, as a fraction of the largest value."""

_MOST_SWEEPS, _MOST_OUTCOMES = 1 << 14, 1 << 27
"""Maximum number of sweeps, and of outcomes over all sweeps; these take about a second."""

_NOTHING = 1e-9
"""Changes of up to this share of the largest value are considered rounding errors."""


class ValueRange(NamedTuple):
    """The range of rewards and values.

    Attributes
    ----------
    low, high : float
        Bounds of the range, which includes 0. If values are unbounded, it is the range for `steps`
        steps.
    steps : int
        Number of steps to which an unbounded range refers; 0 if values are bounded.
    """

    low: float
    high: float
    steps: int = 0

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return max(-self.low, self.high)

    @property
    def is_endless(self) -> bool:
        """Whether values are unbounded."""
        return self.steps > 0


def value_range(
    world: World, discount: float, epsilon: float = 0.0, horizon: int = 1000
) -> ValueRange:
    """Return the range of all rewards and of the values that occur during learning, to 1 %.

    These are the values of the best epsilon-greedy policy with 1, 2, 3, ... steps to go, in the states
    that agents can reach. Value iteration from 0 computes all of them. A long tail is extrapolated.

    Parameters
    ----------
    world : World
    discount : float
        The learned discount, from 0 to 1.
    epsilon : float
        0 for an algorithm that learns the greedy policy; otherwise, the largest epsilon.
    horizon : int
        Assumed length of an episode without a step limit, used if values are unbounded.
    """
    low, high = min(0.0, float(world.reward.min())), max(0.0, float(world.reward.max()))
    acts = reachable(world)
    states, number = int(acts.sum()), np.cumsum(acts) - 1
    # Sorted by action, then by state, so that the maximum over actions uses whole arrays.
    rows = np.lexsort((world.state, world.action))
    rows = rows[acts[world.state[rows]]]
    pair = world.action[rows] * states + number[world.state[rows]]
    first = np.searchsorted(pair, np.arange(world.actions * states))
    probability, ends = world.probability[rows], world.terminated[rows]
    reward = np.add.reduceat(probability * world.reward[rows], first)
    weight = discount * probability * ~ends
    following = np.where(ends, 0, number[world.next_state[rows]])
    steps = world.max_episode_steps or horizon
    most = min(_MOST_SWEEPS, max(_SWEEPS, _MOST_OUTCOMES // len(rows)))
    values: NDArray[np.float64] = np.zeros(states)
    within = low, high
    done = 0
    while True:
        sizes = []
        for _ in range(max(_SWEEPS, done)):
            q = (np.add.reduceat(weight * values[following], first) + reward).reshape(-1, states)
            new = q.max(axis=0)
            if epsilon:
                new = (1 - epsilon) * new + epsilon * q.mean(axis=0)
            change, values = new - values, new
            sizes.append(float(abs(change).max()))
            low, high = min(low, float(q.min())), max(high, float(q.max()))
            done += 1
            if done == steps:
                within = low, high
        scale = max(-low, high)
        if sizes[-1] <= _NOTHING * scale:
            return ValueRange(low, high)
        # Each change is at most `discount` times the previous one.
        ratio = min(discount, (sizes[-1] / sizes[0]) ** (1 / (len(sizes) - 1)))
        down, up = min(0.0, float(change.min())), max(0.0, float(change.max()))
        if ratio < 1 - _NOTHING:
            left = ratio / (1 - ratio)
            if done >= most or max(-down, up) * left <= _PRECISION * scale:
                return ValueRange(low + down * left, high + up * left)
        elif done >= states:  # a path to a terminal state would have been found
            if done < steps:
                within = low + down * (steps - done), high + up * (steps - done)
            return ValueRange(*within, steps)
        elif done >= most:
            left = states - done
            return ValueRange(low + down * left, high + up * left)
