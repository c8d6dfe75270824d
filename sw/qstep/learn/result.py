"""The result of agents' learning, compared with the optimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.learn.agents import Training
from qstep.learn.plan import AgentsPlan
from qstep.learn.point import Point
from qstep.learn.results import saturated_in_words
from qstep.learn.table import policy_table
from qstep.mdp.solve import best_start_value
from qstep.mdp.world import World
from qstep.spec.settings import AgentCounters

__all__ = ["Greedy", "TrainingResult", "played"]

_EXACT = 1e-9
"""Share of the optimum: closer values are equal to it, up to the order of computation."""

_NEAR = 0.01
_MOST_STEPS = 1000
_REST = 1e-12
_SAME = 1e-15
"""Share of the probability by which two vectors of it may differ and still count as equal."""


@dataclass(frozen=True, slots=True)
class Greedy:
    """The exact performance of a greedy policy in an episode, computed without playing one.

    Attributes
    ----------
    mean_return : float
        Undiscounted.
    success : float or None
        Probability that an episode terminates with the highest terminal reward; None in a world without
        termination.
    mean_length : float
    """

    mean_return: float
    success: float | None
    mean_length: float


def played(world: World, policy: NDArray[np.int64]) -> Greedy:
    """Return the performance of a policy, shape (S,), within the limit of steps, or 1000 without one.

    The probability of being in each visited state is followed step by step. Once these are, up to a
    common factor, what they were some steps earlier, the remaining steps are a geometric series.
    """
    visited = world.visited(np.eye(world.actions, dtype=np.bool_)[policy])
    chosen = visited[world.state] & (policy[world.state] == world.action)
    goes_on = ~world.terminated[chosen]
    number = np.cumsum(visited) - 1
    state, following = number[world.state[chosen]], number[world.next_state[chosen]] * goes_on
    probability, reward = world.probability[chosen], world.reward[chosen]
    goal = world.success_reward
    wins = ~goes_on & (reward == goal)
    limit = world.max_episode_steps or _MOST_STEPS
    at, step = world.start[visited], 0
    found = np.zeros(3)  # return, success, length
    earlier, found_earlier, earlier_step = at, found, 0
    periodic = False
    while step < limit:
        flow = at[state] * probability
        found = found + np.array([flow @ reward, flow[wins].sum(), at.sum()])
        at = np.bincount(following, flow * goes_on, len(at)).astype(np.float64)
        step += 1
        mass = float(at.sum())
        if mass < _REST:
            break
        factor = mass / float(earlier.sum())
        if not periodic and np.abs(at - factor * earlier).sum() <= _SAME * mass:
            periodic = True
            periods = (limit - step) // (step - earlier_step)
            found = found + (found - found_earlier) * _powers(factor, periods)
            at = at * factor**periods
            step += periods * (step - earlier_step)
        elif step >= 2 * earlier_step:
            earlier, found_earlier, earlier_step = at, found, step
    total, success, length = (float(value) for value in found)
    return Greedy(total, None if goal is None else success, length)


def _powers(factor: float, most: int) -> float:
    """Return the sum of the powers 1 to `most` of a factor above 0."""
    if factor == 1:
        return most
    return factor * math.expm1(most * math.log(factor)) / (factor - 1)


@dataclass(frozen=True)
class TrainingResult:
    """A finished run of agents.

    Attributes
    ----------
    plan : AgentsPlan
    table : ndarray of int32, shape ``(*Acting.tables, S, A)``
        Raw values.
    counters : tuple of AgentCounters
    points : tuple of Point
    seconds : float
        Time of acting and learning in this process, without start-up and looks.
    steps : int
        Steps of all agents in this process.
    """

    plan: AgentsPlan
    table: NDArray[np.int32]
    counters: tuple[AgentCounters, ...]
    points: tuple[Point, ...]
    seconds: float
    steps: int

    @classmethod
    def of(cls, plan: AgentsPlan, training: Training) -> TrainingResult:
        """Return the result of a finished run."""
        device = training.device
        return cls(
            plan,
            np.array(device.table),
            tuple(device.counters),
            tuple(training.points),
            training.seconds,
            training.steps,
        )

    @property
    def q(self) -> NDArray[np.float64]:
        """The tables in real units."""
        return self.plan.config.format.to_float(self.table)

    @property
    def steps_per_second(self) -> float | None:
        """Rate of all agents together; None if this process made no steps."""
        return self.steps / self.seconds if self.steps else None

    @property
    def saturations(self) -> int:
        """Updates of all agents that did not fit the format, in the whole run."""
        return sum(own.saturations for own in self.counters)

    @property
    def saturated(self) -> str | None:
        """A sentence about the saturations; None without any."""
        updates = sum(own.steps for own in self.counters)
        number_format = self.plan.config.format
        if not self.saturations:
            return None
        return saturated_in_words(self.saturations, updates, number_format)

    @cached_property
    def policy_q(self) -> NDArray[np.float64]:
        """The values whose maximum each table's greedy policy takes, in real units, (tables, S, A)."""
        return self.plan.config.format.to_float(policy_table(self.plan.config, self.table))

    @cached_property
    def policies(self) -> NDArray[np.int64]:
        """The greedy action of every table and state, shape (tables, S)."""
        chosen: NDArray[np.int64] = self.policy_q.argmax(axis=-1)
        return chosen

    @cached_property
    def optimum(self) -> tuple[float, ...]:
        """The value of the optimal policy where episodes start, by agent, at the discount learned.

        NaN for an agent whose policy has no value; empty if none has one.
        """
        world = self.plan.world
        if world is None:
            return ()
        worth = {
            discount: best_start_value(world, discount)
            for discount in {own.discount for own in self.plan.settings}
        }
        if not any(value is not None for value in worth.values()):
            return ()
        known = (worth[own.discount] for own in self.plan.settings)
        return tuple(math.nan if value is None else value for value in known)

    def optimal_after(self, within: float = 0.0) -> tuple[int | None, ...]:
        """Return after how many steps each agent's policy became, and stayed, optimal.

        Parameters
        ----------
        within : float
            Tolerated loss where episodes start, as a share of the optimum.

        Returns
        -------
        tuple of int or None
            Steps at the first look of the final optimal period; None if it is not optimal at the end.
        """
        slack = [_EXACT + max(within, _EXACT) * abs(best) for best in self.optimum]
        first: list[int | None] = []
        for agent, best in enumerate(self.optimum):
            steps = None
            for point in reversed(self.points):
                if not point.value[agent] >= best - slack[agent]:  # less, or NaN
                    break
                steps = point.steps
            first.append(steps)
        return tuple(first)

    @property
    def median_agent(self) -> int:
        """The agent whose greedy policy has the median value; 0 if agents share a table."""
        values: Sequence[float] = self.points[-1].value
        if len(self.policies) == 1 or not values:
            return 0
        known = len(values) - int(np.isnan(values).sum())
        return int(np.argsort(values, kind="stable")[(known - 1) // 2])

    def summary(self) -> dict[str, Any]:
        """Return what was learnt, and how well, as plain values."""
        plan, last = self.plan, self.points[-1]
        episodes = [own.episodes for own in self.counters]
        world = plan.world
        greedy = [] if world is None else [played(world, policy) for policy in self.policies]
        successes = [entry.success for entry in greedy if entry.success is not None]
        acting = plan.config.acting
        assert acting is not None
        optimal, near = self.optimal_after(), self.optimal_after(_NEAR)
        return {
            "agents": acting.agents,
            "algorithm": acting.algorithm.value,
            "shared_table": acting.shared_table,
            "format": str(plan.config.format),
            "rounding": plan.config.rounding.value,
            "discount": [own.discount for own in plan.settings],
            "steps_per_agent": self.counters[0].steps,
            "episodes": sum(episodes),
            "terminations": sum(own.terminations for own in self.counters),
            "truncations": sum(own.truncations for own in self.counters),
            "saturations": self.saturations,
            "step_reward": float(np.median(last.mean_reward)),
            "greedy_return": float(np.median([own.mean_return for own in greedy]))
            if greedy
            else None,
            "success": float(np.median(successes)) if successes else None,
            "value": list(last.value),
            "optimum": list(self.optimum),
            "optimal_agents": sum(at is not None for at in optimal),
            "optimal_after": list(optimal),
            "near_agents": sum(at is not None for at in near),
            "near_after": list(near),
            "steps": self.steps,
            "seconds": self.seconds,
            "steps_per_second": self.steps_per_second,
        }
