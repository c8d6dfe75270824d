"""The result of agents' learning, compared with the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep._io.files import write_atomically
from qstep._io.npz import archived
from qstep.golden.agents_fast import Trace
from qstep.learn.plan import AgentsPlan
from qstep.learn.point import Point
from qstep.learn.result import hint
from qstep.learn.table_result import TableResult
from qstep.mdp.solve import best_start_value
from qstep.mdp.world import World
from qstep.spec.agents import Algorithm
from qstep.spec.config import Config
from qstep.spec.settings import AgentCounters, AgentSettings

__all__ = ["NEAR", "AgentsResult", "Greedy", "history_columns", "played", "save_trace"]

_EXACT = 1e-9
"""Share of the optimum: closer values are equal to it, up to the order of computation."""

NEAR = 0.01
_FAR = 0.1
"""Share of the optimum that a policy which was learned does not miss."""

_MOST_STEPS = 1000
_REST = 1e-12
_SAME = 1e-15
"""Share of the probability by which two vectors of it may differ and still count as equal."""


@dataclass(frozen=True, slots=True)
class Greedy:
    """The exact performance of a greedy policy in an episode, computed without playing one.

    `mean_return` is undiscounted; `success` is the probability that an episode terminates with the
    highest terminal reward, None in a world without termination.
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


@dataclass(frozen=True, repr=False)
class AgentsResult(TableResult):
    """A finished run of agents.

    Attributes
    ----------
    report : dict of plain values
        Only the device and the environment's arguments; :meth:`summary` computes the rest when asked.
    plan : AgentsPlan
    counters : tuple of AgentCounters
    points : tuple of Point
    seconds : float
        Time of acting and learning in this process, without start-up and evaluations.
    steps : int
        Steps of all agents in this process.
    """

    plan: AgentsPlan
    counters: tuple[AgentCounters, ...]
    points: tuple[Point, ...]
    seconds: float
    steps: int
    trace: tuple[Path, Sequence[Trace]] | None = None

    def write(self, folder: Path) -> dict[str, Path]:
        """Write all but the pictures, and the trace."""
        files = super().write(folder)
        if self.trace is not None:
            path, traces = self.trace
            save_trace(path, self.config, traces)
            files["trace"] = path
        return files

    @property
    def steps_per_second(self) -> float | None:
        """Rate of all agents together; None if this process made no steps."""
        return self.steps / self.seconds if self.steps else None

    @property
    def updates(self) -> int:
        """Updates of all agents, in the whole run."""
        return sum(own.steps for own in self.counters)

    @property
    def saturations(self) -> int:
        """Updates of all agents that did not fit the format, in the whole run."""
        return sum(own.saturations for own in self.counters)

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
            Steps at the first evaluation of the final optimal period; None if the last policy is not
            optimal.
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

    def summary(self) -> dict[str, Any]:
        """Return the report, as plain values (``docs/training.md``, "Report and history")."""
        return self._summary

    @cached_property
    def _summary(self) -> dict[str, Any]:
        plan, last = self.plan, self.points[-1]
        world, acting = plan.world, self.config.acting
        assert acting is not None
        greedy = [] if world is None else [played(world, policy) for policy in self.policies]
        optimal, near = self.optimal_after(), self.optimal_after(NEAR)
        found = {
            "command": "train",
            "engine": "agents",
            "world": self.name,
            **self.report,
            "agents": acting.agents,
            "algorithm": acting.algorithm.value,
            "shared_table": acting.shared_table,
            "format": str(self.config.format),
            "rounding": self.config.rounding.value,
            **settings_in_plain_values(plan.settings),
            "discount": [own.discount for own in plan.settings],
            "steps_per_agent": self.counters[0].steps,
            "episodes": sum(own.episodes for own in self.counters),
            "terminations": sum(own.terminations for own in self.counters),
            "truncations": sum(own.truncations for own in self.counters),
            "saturations": self.saturations,
            "step_reward": float(np.median(last.mean_reward)),
            "greedy_return": _median(own.mean_return for own in greedy),
            "greedy_success": _median(own.success for own in greedy),
            "greedy_length": _median(own.mean_length for own in greedy),
            "greedy_value": list(last.value),
            "optimum": list(self.optimum),
            "optimal_agents": sum(at is not None for at in optimal),
            "optimal_after": list(optimal),
            "near_agents": sum(at is not None for at in near),
            "near_after": list(near),
            "steps": self.steps,
            "seconds": self.seconds,
            "steps_per_second": self.steps_per_second,
        }
        return {**found, "hint": self._hint(found)}

    def _hint(self, found: dict[str, Any]) -> str | None:
        """Return what to try if the median agent did not learn."""
        losses = (
            np.subtract(found["optimum"], found["greedy_value"]) if self.optimum else np.zeros(1)
        )
        scale = max(self.config.format.resolution, *np.abs(self.optimum), 0.0)
        budget, first = self.plan.budget, self.plan.settings[0]
        return hint(
            self.name,
            self.plan.world,
            success=found["greedy_success"],
            optimal=2 * found["near_agents"] > found["agents"],
            far=bool(np.median(losses) > _FAR * scale),
            alpha=first.alpha,
            gamma=first.gamma,
            longer=f"--{budget.unit} {10 * budget.length}",
        )


def _median(values: Iterable[float | None]) -> float | None:
    """Return the median of the known values; None without any."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def settings_in_plain_values(settings: Sequence[AgentSettings]) -> dict[str, Any]:
    """Return ``alpha``, ``gamma``, ``epsilon`` and ``seed``: one value, or a list of one per agent."""
    rows = [asdict(own) for own in settings]
    same = len(set(settings)) == 1
    return {name: rows[0][name] if same else [row[name] for row in rows] for name in rows[0]}


def history_columns(points: Sequence[Point]) -> dict[str, NDArray[Any]]:
    """Return the columns of the history, of shape (evaluations,) or (evaluations, agents)."""
    return {
        "steps": np.array([point.steps for point in points]),
        "episodes": np.array([point.episodes for point in points]),
        "episode_return": np.array([point.mean_return for point in points]),
        "step_reward": np.array([point.mean_reward for point in points]),
        "greedy_value": np.array([point.value for point in points]),
    }


def save_trace(path: str | Path, config: Config, traces: Sequence[Trace]) -> None:
    """Write the steps of a run, in the order of their application, as a ``.npz`` file.

    Its arrays have one length: ``agent``, ``state``, ``action``, ``reward`` (float64), ``next_state``,
    ``terminated``, ``truncated`` and ``explored``, and with Double Q-learning also ``table``.
    """
    assert config.acting is not None
    columns = Trace(*(np.concatenate(parts) for parts in zip(*traces, strict=True)))._asdict()
    columns["reward"] = config.format.to_float(columns["reward"])
    if config.acting.algorithm is not Algorithm.DOUBLE_Q_LEARNING:
        del columns["table"]
    write_atomically(path, archived(columns))
