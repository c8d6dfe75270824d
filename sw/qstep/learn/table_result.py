"""The result of a run with a table, learned on a device or loaded from a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from qstep._io.pictures import Draw
from qstep.envs import limited, make, make_any
from qstep.envs.catalogue import UNNAMED
from qstep.envs.checked import FlatObservation, flattened
from qstep.envs.maps import map_of
from qstep.envs.rendering import GridMap
from qstep.errors import WorldError
from qstep.learn.evaluate import chooser, evaluate
from qstep.learn.plots import draw_agents, draw_learning_curve, draw_policy, draw_tiles
from qstep.learn.result import Files, History, Result, saturated_in_words
from qstep.learn.table import TableWorld, load_table, policy_table, save_table
from qstep.mdp.solve import solve
from qstep.mdp.world import World
from qstep.spec.agents import CIRCUITS
from qstep.spec.checks import integer
from qstep.spec.config import Config
from qstep.spec.settings import AgentSettings, Hyperparameters
from qstep.spec.tiles import Tiles

__all__ = ["TableResult", "grid_named", "load_table_result", "optimum", "optimum_in_words"]


@dataclass(frozen=True, repr=False)
class TableResult(Result):
    """The result of learning a table, or the tables of several agents.

    Attributes
    ----------
    learned_with : Hyperparameters or sequence of AgentSettings
        Settings of the host's run or of each agent. With T planes, alpha is the rate of one plane;
        the alpha for :func:`qstep.train` is T times as large.
    table : ndarray of int32, shape ``Config.table_shape``
        Raw values.
    world : TableWorld or None
        The world named in the table's file.
    """

    name: str
    config: Config
    learned_with: Hyperparameters | Sequence[AgentSettings]
    table: NDArray[np.int32]
    history: History
    report: dict[str, Any]
    world: TableWorld | None

    @property
    def q(self) -> NDArray[np.float64]:
        """The tables in real units."""
        return self.config.format.to_float(self.table)

    @cached_property
    def policy_q(self) -> NDArray[np.float64]:
        """Action values that each table's greedy policy maximises, in real units.

        Their shape is (tables, S, A), or (tables, T, S, A) if the policy sums the rows of T planes.
        """
        return self.config.format.to_float(policy_table(self.config, self.table))

    @cached_property
    def policies(self) -> NDArray[np.int64]:
        """Greedy action of every table and state, shape (tables, S); without tiles only."""
        chosen: NDArray[np.int64] = self.policy_q.argmax(axis=-1)
        return chosen

    @property
    def median_agent(self) -> int:
        """The agent whose greedy policy has the median value; 0 if agents share a table.

        With tiles, the exact value is unknown, so the mean return of greedy episodes is used instead.
        """
        agent: int = self.report.get("median_agent", 0)
        return agent

    @property
    def _optima(self) -> Sequence[float]:
        """Optimal value of the start state for each agent; empty if the optimum is unknown."""
        optima: list[float] = self.report["optimum"]
        return optima

    @property
    def updates(self) -> int:
        """Number of updates to which :attr:`saturations` refers."""
        steps: int = self.report["steps"]
        return steps

    @property
    def saturations(self) -> int:
        """Number of updates that did not fit: in the agents' whole run, or in this process (host)."""
        saturations: int = self.report["saturations"]
        return saturations

    @property
    def saturated(self) -> str | None:
        """A sentence about the updates that did not fit the format; None if every update fit."""
        if not self.saturations:
            return None
        return saturated_in_words(self.saturations, self.updates, self.config.format)

    def act(self, observation: Any) -> int:
        """Return the greedy action of the median agent for a state or an observation."""
        if self.tiles is not None:
            return chooser(self.policy_q[self.median_agent], self.tiles)(observation)
        if not isinstance(observation, int | np.integer) and isinstance(self._env, FlatObservation):
            observation = self._env.observation(observation)
        state = integer("observation", observation, 0, self.config.states - 1)
        return int(self.policies[self.median_agent, state])

    @property
    def _env_kwargs(self) -> Mapping[str, Any] | None:
        return None if self.world is None else self.world.env_kwargs

    @property
    def tiles(self) -> Tiles | None:
        """The tiles that turn an observation into rows; None if observations are row numbers."""
        return None if self.config.acting is None else self.config.acting.tiles

    @cached_property
    def _env(self) -> gym.Env[Any, Any]:
        if self.tiles is not None:
            return make_any(self.name, env_kwargs=self._env_kwargs)
        return make(self.name, 0, env_kwargs=self._env_kwargs)

    def evaluate(
        self, env: gym.Env[Any, Any] | None = None, episodes: int = 100, seed: int = 0
    ) -> dict[str, Any]:
        """Play greedy episodes of the median agent; see :meth:`Result.evaluate`.

        Returns
        -------
        dict
            ``greedy_return``, ``greedy_success`` (None if success is not defined) and ``greedy_length``.
        """
        if env is None:
            env = self._env
        env = env if self.tiles else flattened(env)
        try:
            goal = World.from_env(env).success_reward
        except WorldError:
            goal = None
        choose = chooser(self.policy_q[self.median_agent], self.tiles)
        episodes, seed = integer("episodes", episodes, 1), integer("seed", seed, 0)
        generator = np.random.default_rng(seed)
        return evaluate(limited(env), choose, episodes, generator, goal).columns

    def _files(self) -> Files:
        """Return ``table.npz``, the learning curve and, with a map or tiles, the policy."""

        def table(path: Path) -> None:
            save_table(
                path,
                self.table,
                self.config,
                self.learned_with,
                self.world,
                self.median_agent,
            )

        title = f"{self.name}: learning curve"
        curve = partial(draw_learning_curve, title, self.history)
        if "episodes" not in self.history:
            best = self._optima
            curve = partial(
                draw_agents,
                title,
                self.history["evaluations"],
                float(np.median(best)) if best else None,
            )
        whose = "greedy policy" if len(self.policy_q) == 1 else "policy of the median agent"
        title, q = f"{self.name}: {whose}", self.policy_q[self.median_agent]
        policy: Draw | None = None
        if self.tiles is not None:
            policy = partial(draw_tiles, title, self.name, self.tiles, q)
        elif grid := grid_named(self.name, self._env_kwargs):
            policy = partial(draw_policy, title, grid, q)
        return Files({"table.npz": table}, {"learning_curve.png": curve, "policy.png": policy})


def load_table_result(folder: Path, report: dict[str, Any], history: History) -> TableResult:
    """Load the result of a run with a table from its folder; the errors are as for `qstep.load`."""
    saved = load_table(folder / "table.npz")
    return TableResult(
        *(report["world"], saved.config, saved.learnt_with, saved.q_raw),
        *(history, report, saved.world),
    )


def grid_named(name: str, env_kwargs: Mapping[str, Any] | None = None) -> GridMap | None:
    """Return the map of the world with this name; None if it has no map, or no name."""
    if name == UNNAMED or name.endswith((".npz", *CIRCUITS)):
        return None
    return map_of(make(name, 0, env_kwargs=env_kwargs))


def optimum(world: World, gamma: float, q: NDArray[np.float64]) -> dict[str, Any]:
    """Compare a table, shape (S, A), with value iteration; return the comparison as plain values.

    The result contains the number of states that the greedy policy visits, the number of those states in
    which its action is optimal, and the mean start value, learned and exact. `gamma` must be below 1.
    """
    solution = solve(world, gamma)
    chosen = np.zeros(q.shape, np.bool_)
    chosen[np.arange(len(q)), q.argmax(axis=1)] = True
    visited = world.visited(chosen)
    right = (chosen & solution.optimal).any(axis=1)
    return {
        "visited": int(visited.sum()),
        "optimal": int((visited & right).sum()),
        "start_value": float(world.start @ q.max(axis=1)),
        "exact_start_value": float(world.start @ solution.values),
    }


def optimum_in_words(found: dict[str, Any]) -> str:
    """Return the result of :func:`optimum` as a sentence."""
    return (
        f"greedy action optimal in {found['optimal']} of the {found['visited']} states that "
        f"the greedy policy visits; value of the start {found['start_value']:.3f}, "
        f"exact {found['exact_start_value']:.3f}"
    )
