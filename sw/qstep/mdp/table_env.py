"""`TableEnv`: a world file as an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit

from qstep.envs.checked import checked_action
from qstep.mdp.memory import TOTAL

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = ["TableEnv", "from_file", "limited"]


class TableEnv(gym.Env[Any, Any]):
    """An environment that draws its outcomes from the rows of a world, with their exact probabilities.

    It has no step limit; a ``TimeLimit`` around it applies the world's limit.

    Parameters
    ----------
    world : World
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.observation_space = Discrete(world.states)
        self.action_space = Discrete(world.actions)
        # The weights of each pair sum to TOTAL, so one search finds the pair's rows and the outcome.
        self._until = np.cumsum(world.weight, dtype=np.int64)
        self._start_until = np.cumsum(world.start_weight, dtype=np.int64)
        self._state = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Draw a start state; return it and an empty dictionary."""
        super().reset(seed=seed)
        row = np.searchsorted(self._start_until, self._draw(), side="right")
        self._state = int(self.world.start_state[row])
        return self._state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Draw an outcome; return it, not truncated, with an empty dictionary."""
        world = self.world
        pair = self._state * world.actions + checked_action(action, world.actions)
        row = np.searchsorted(self._until, pair * TOTAL + self._draw(), side="right")
        self._state = int(world.next_state[row])
        return self._state, float(world.reward[row]), bool(world.terminated[row]), False, {}

    def _draw(self) -> int:
        return int(self.np_random.integers(TOTAL))


def from_file(path: str, step_cap: int) -> TimeLimit[Any, Any]:
    """Return the environment of a world file; see :func:`limited`."""
    from qstep.mdp.world import World

    return limited(World.from_file(path), step_cap)


def limited(world: World, step_cap: int) -> TimeLimit[Any, Any]:
    """Return a world's environment with the world's step limit, or `step_cap` if there is none."""
    return TimeLimit(TableEnv(world), world.max_episode_steps or step_cap)
