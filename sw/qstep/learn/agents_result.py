"""The result of a run of agents, and its evaluations, which are compared with the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from qstep._io.files import write_atomically
from qstep._io.npz import archived
from qstep.envs import STEP_CAP, make_vector
from qstep.envs.catalogue import UNNAMED, record_of
from qstep.golden.agents_fast import Trace
from qstep.learn.evaluate import GREEDY, Evaluation, played, played_by_tiles
from qstep.learn.plan import AgentsPlan
from qstep.learn.result import History, hint
from qstep.learn.table import policy_table
from qstep.learn.table_result import TableResult
from qstep.mdp import table_env
from qstep.mdp.solve import best_start_value, is_quick, start_value
from qstep.mdp.world import World
from qstep.spec.agents import Algorithm
from qstep.spec.config import Config
from qstep.spec.integer_worlds import IntegerWorld
from qstep.spec.settings import AgentCounters, AgentSettings

__all__ = ["NEAR", "AgentsResult", "Point", "history_of", "measured", "save_trace"]

_EXACT = 1e-9
"""Relative difference from the optimum below which a value counts as equal to it."""

NEAR = 0.01
_EPISODES, _ALL_EPISODES, _FIRST_SEED = 100, 1600, 0
"""Episodes played by one policy of planes, and at most by the policies of all agents together."""
_FAR = 0.1
"""Loss, as a fraction of the optimum, above which a policy counts as not learned."""


@dataclass(frozen=True, slots=True)
class Point:
    """An evaluation of a run of agents.

    Attributes
    ----------
    steps : int
        Steps per agent so far.
    episodes : tuple of int
        Episodes of each agent so far.
    mean_return : tuple of float
        Undiscounted reward since the previous evaluation, divided by the number of episodes that ended
        since then, by agent; NaN if none ended. It differs from the mean return of these episodes by the
        rewards of episodes in progress at either evaluation, because the device sums rewards.
    value : tuple of float
        Exact discounted start value of each agent's greedy policy; NaN if the policy has none (gamma is
        1) or it takes too long to compute. Empty if the world's transition table is unknown, or no agent
        has a value.
    mean_reward : tuple of float
        Reward per step since the previous evaluation, by agent; it replaces the return in the learning
        curve if no episode ends.
    """

    steps: int
    episodes: tuple[int, ...]
    mean_return: tuple[float, ...]
    value: tuple[float, ...]
    mean_reward: tuple[float, ...] = ()

    @property
    def curves(self) -> dict[str, tuple[float, ...]]:
        """Values by agent, keyed by their names in history and metrics."""
        return {
            "episode_return": self.mean_return,
            "step_reward": self.mean_reward,
            "greedy_value": self.value,
        }

    @property
    def metrics(self) -> dict[str, float]:
        """Numbers for :class:`~qstep.learn.metrics.Metrics`: medians, minima and maxima over agents."""
        numbers = {"episodes": float(min(self.episodes))}
        for name, curve in self.curves.items():
            if values := [value for value in curve if not math.isnan(value)]:
                numbers[name] = float(np.median(values))
                numbers |= {f"{name}_low": min(values), f"{name}_high": max(values)}
        return numbers


def history_of(points: Sequence[Point]) -> History:
    """Return the columns of the history, of shape (evaluations,) or (evaluations, agents)."""
    rows = [{"steps": point.steps, "episodes": point.episodes, **point.curves} for point in points]
    return {"evaluations": {name: np.array([row[name] for row in rows]) for name in rows[0]}}


def measured(
    config: Config,
    world: World | None,
    discounts: Sequence[float],
    before: Sequence[AgentCounters],
    now: Sequence[AgentCounters],
    table: NDArray[np.int32],
) -> Point:
    r"""Return the point from the counters at the previous evaluation and the counters now.

    Without a `world` the point has no values. `discounts` are the agents' learned discounts; `table`
    has raw values of shape (\*Acting.tables, S, A).
    """
    resolution = config.format.resolution
    means, rewards = [], []
    for old, new in zip(before, now, strict=True):
        total, ended = (new.return_sum - old.return_sum) * resolution, new.episodes - old.episodes
        means.append(total / ended if ended else math.nan)
        rewards.append(total / (new.steps - old.steps))
    quick = [world is not None and is_quick(world, discount) for discount in discounts]
    values: list[float] = []
    if world is not None and any(quick):
        policies = policy_table(config, table).argmax(axis=-1)
        if len(policies) < len(discounts):  # the agents share a table
            policies = np.repeat(policies, len(discounts), axis=0)
        values = [
            start_value(world, policy, discount) if known else math.nan
            for policy, discount, known in zip(policies, discounts, quick, strict=True)
        ]
    episodes = tuple(own.episodes for own in now)
    return Point(now[0].steps, episodes, tuple(means), tuple(values), tuple(rewards))


@dataclass(frozen=True, repr=False)
class AgentsResult(TableResult):
    """A finished run of agents.

    Attributes
    ----------
    report : dict of plain values
        Only the device and the environment's arguments; :meth:`summary` computes the rest on demand.
    counters, points : tuple
        The counters of each agent, and all evaluations.
    seconds : float
        Time spent acting and learning in this process, excluding start-up and evaluations.
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
        """Write all files except pictures, including the trace."""
        files = super().write(folder)
        if self.trace is not None:
            path, traces = self.trace
            save_trace(path, self.config, traces)
            files["trace"] = path
        return files

    @property
    def steps_per_second(self) -> float | None:
        """Steps per second of all agents together; None if this process took no steps."""
        return self.steps / self.seconds if self.steps else None

    @property
    def updates(self) -> int:
        """Number of updates of all agents in the whole run."""
        return sum(own.steps for own in self.counters)

    @property
    def saturations(self) -> int:
        """Number of updates of all agents in the whole run that did not fit the format."""
        return sum(own.saturations for own in self.counters)

    @cached_property
    def _env(self) -> gym.Env[Any, Any]:
        if self.name == UNNAMED and isinstance(self.plan.world, World):
            return table_env.limited(self.plan.world, STEP_CAP)
        return super()._env

    @property
    def _discounts(self) -> list[float]:
        """The discount that each agent learns."""
        return [own.discount_for(self.config) for own in self.plan.settings]

    @cached_property
    def optimum(self) -> tuple[float, ...]:
        """Start value of the optimal policy, by agent, at the learned discount.

        It is NaN for an agent whose policy has no value, and empty if no agent's policy has one.
        """
        world = self.plan.solvable
        if world is None:
            return ()
        worth = {discount: best_start_value(world, discount) for discount in set(self._discounts)}
        if not any(value is not None for value in worth.values()):
            return ()
        known = (worth[discount] for discount in self._discounts)
        return tuple(math.nan if value is None else value for value in known)

    @cached_property
    def median_agent(self) -> int:
        """See :attr:`TableResult.median_agent`."""
        if len(self.policy_q) == 1:
            return 0
        values = self.points[-1].value
        if self.tiles is not None:
            values = tuple(own.mean_return for own in self.greedy)
        if not values:
            return 0
        known = len(values) - int(np.isnan(values).sum())
        return int(np.argsort(values, kind="stable")[(known - 1) // 2])

    @property
    def _optima(self) -> Sequence[float]:
        return self.optimum

    def optimal_after(self, within: float = 0.0) -> tuple[int | None, ...]:
        """Return the number of steps after which each agent's policy remained optimal.

        Parameters
        ----------
        within : float
            Tolerated loss of the start value, as a fraction of the optimum.

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
        """See :meth:`Result.summary`."""
        return self._summary

    @cached_property
    def _summary(self) -> dict[str, Any]:
        plan, last = self.plan, self.points[-1]
        acting = self.config.acting
        assert acting is not None
        greedy = [own.columns for own in self.greedy]
        optimal, near = self.optimal_after(), self.optimal_after(NEAR)
        found = {
            "command": "train",
            "engine": "agents",
            "world": self.name,
            **self.report,
            "agents": acting.agents,
            "algorithm": acting.algorithm.value,
            "shared_table": acting.shared_table,
            "median_agent": self.median_agent,
            "format": str(self.config.format),
            "rounding": self.config.rounding.value,
            **settings_in_plain_values(plan.given_settings),
            "discount": self._discounts,
            "steps_per_agent": self.counters[0].steps,
            "episodes": sum(own.episodes for own in self.counters),
            "terminations": sum(own.terminations for own in self.counters),
            "truncations": sum(own.truncations for own in self.counters),
            "saturations": self.saturations,
            "step_reward": float(np.median(last.mean_reward)),
            **{name: _median(own[name] for own in greedy) for name in GREEDY},
            "greedy_value": list(last.value),
            "optimum": list(self.optimum),
            "optimal_agents": self._reached(optimal),
            "optimal_after": list(optimal),
            "near_agents": self._reached(near),
            "near_after": list(near),
            "steps": self.steps,
            "seconds": self.seconds,
            "steps_per_second": self.steps_per_second,
        }
        return {**found, "hint": self._hint(found)}

    def _reached(self, after: Sequence[int | None]) -> int | None:
        """Return how many agents reached the optimum; None if it is unknown."""
        return sum(at is not None for at in after) if self.optimum else None

    @cached_property
    def greedy(self) -> list[Evaluation]:
        """Evaluations of each table's greedy policy: exact, or played in Gymnasium's environment."""
        world = self.plan.world
        if world is None or isinstance(world, World):
            return [played(world, policy) for policy in self.policies] if world else []
        count = len(self.policy_q) * max(1, min(_EPISODES, _ALL_EPISODES // len(self.policy_q)))
        if isinstance(world, IntegerWorld):
            envs = gym.make_vec(world.env_id, num_envs=count)
        else:
            envs = make_vector(world.env_id, count, world.env_kwargs)
        shape = (len(self.policy_q), self.config.planes, *self.config.table_type[:2])
        return played_by_tiles(envs, self.policy_q.reshape(shape), world.tiles, _FIRST_SEED)

    def _below_goal(self, found: float | None) -> bool:
        """Return whether a mean return is below the return that counts as solved."""
        record = record_of(self.name)
        goal = None if record is None else record.reward_threshold
        return self.tiles is not None and goal is not None and found is not None and found < goal

    def _hint(self, found: dict[str, Any]) -> str | None:
        """Return a suggestion if the median agent did not learn."""
        losses = (
            np.subtract(found["optimum"], found["greedy_value"]) if self.optimum else np.zeros(1)
        )
        scale = max(self.config.format.resolution, *np.abs(self.optimum), 0.0)
        budget, first = self.plan.budget, self.plan.given_settings[0]
        return hint(
            self.name,
            self.plan.solvable,
            success=found["greedy_success"],
            optimal=2 * (found["near_agents"] or 0) > found["agents"],
            far=bool(np.median(losses) > _FAR * scale) or self._below_goal(found["greedy_return"]),
            alpha=first.alpha,
            gamma=first.gamma,
            longer=f"--{budget.unit} {10 * budget.length}",
        )


def _median(values: Iterable[float | None]) -> float | None:
    """Return the median of the known values; None if none is known."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def settings_in_plain_values(settings: Sequence[AgentSettings]) -> dict[str, Any]:
    """Return ``alpha``, ``gamma``, ``epsilon`` and ``seed``: one value, or a list with one per agent."""
    rows = [asdict(own) for own in settings]
    same = len(set(settings)) == 1
    return {name: rows[0][name] if same else [row[name] for row in rows] for name in rows[0]}


def save_trace(path: str | Path, config: Config, traces: Sequence[Trace]) -> None:
    """Write the steps of a run, in the order in which they were applied, as a ``.npz`` file.

    Its arrays have equal length: ``agent``, ``state``, ``action``, ``reward`` (float64), ``next_state``,
    ``terminated``, ``truncated`` and ``explored``, and ``table`` with Double Q-learning.
    """
    assert config.acting is not None
    columns = Trace(*(np.concatenate(parts) for parts in zip(*traces, strict=True)))._asdict()
    columns["reward"] = config.format.to_float(columns["reward"])
    if config.acting.algorithm is not Algorithm.DOUBLE_Q_LEARNING:
        del columns["table"]
    write_atomically(path, archived(columns))
