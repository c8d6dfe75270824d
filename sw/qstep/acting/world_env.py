"""The arrays of a world, from an environment with a transition table."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit

from qstep.envs.gridworld import GridWorld
from qstep.errors import NoTableError, WorldError

__all__ = ["arrays_of"]

Arrays = tuple[dict[str, Any], dict[str, Any], int, int, int]
"""Outcomes, start states, the numbers of states and actions, and the limit of steps."""


def arrays_of(env: gym.Env[Any, Any]) -> Arrays:
    """Return the input of :meth:`~qstep.acting.world.World.from_env`, before its checks.

    Raises
    ------
    NoTableError
        There is no table.
    WorldError
        It is malformed, a wrapper contradicts it, or the spaces do not start at 0.
    """
    inner = env.unwrapped
    limit = _limit(env)
    if isinstance(inner, GridWorld):
        return _of_map(inner, limit)
    table = getattr(inner, "P", None)
    distribution = getattr(inner, "initial_state_distrib", None)
    if not isinstance(table, dict) or distribution is None:
        raise NoTableError(
            f"{type(inner).__name__} has no transition table, P and initial_state_distrib; so the host "
            "has to act in it"
        )
    states = _count("observation", inner)
    actions = _count("action", inner)
    try:
        rows = [
            (state, action, *outcome)
            for state, of_state in table.items()
            for action, outcomes in of_state.items()
            for outcome in outcomes
        ]
        state, action, probability, next_state, reward, terminated = zip(*rows, strict=True)
    except (AttributeError, TypeError, ValueError) as cause:
        raise WorldError(
            f"{type(inner).__name__}: P is no transition table, a dictionary of dictionaries of lists "
            f"of (probability, next state, reward, terminated): {cause}"
        ) from cause
    outcomes = {
        "state": state,
        "action": action,
        "probability": probability,
        "next_state": next_state,
        "reward": np.array(reward, np.float64),
        "terminated": np.array(terminated, np.bool_),
    }
    starts = np.arange(len(distribution))
    return (
        outcomes,
        {"start_state": starts, "start_probability": distribution},
        states,
        actions,
        limit,
    )


def _count(what: str, env: gym.Env[Any, Any]) -> int:
    """Return the number of states (observations) or actions."""
    space = getattr(env, f"{what}_space")
    if not isinstance(space, Discrete) or space.start != 0:
        raise WorldError(
            f"{type(env).__name__}: the {what} space is {space}; a transition table needs a Discrete "
            "one that starts at 0"
        )
    return int(space.n)


def _of_map(grid: GridWorld, limit: int) -> Arrays:
    model = grid.deterministic_model()
    states, actions = model.reward.shape
    state, action = np.divmod(np.arange(states * actions), actions)
    outcomes = {
        "state": state,
        "action": action,
        "next_state": model.next_state.ravel(),
        "reward": model.reward.ravel(),
        "terminated": model.terminated.ravel(),
    }
    limit = min(limit or grid.step_cap, grid.step_cap)
    return outcomes, {"start_state": [model.start]}, states, actions, limit


def _limit(env: gym.Env[Any, Any]) -> int:
    """Return the lowest limit of steps around an environment, 0 for none.

    Raises
    ------
    WorldError
        A wrapper changes actions, observations or rewards, which the transition table does not show.
    """
    limits = []
    while isinstance(env, gym.Wrapper):
        if isinstance(env, gym.ActionWrapper | gym.ObservationWrapper | gym.RewardWrapper):
            raise WorldError(
                f"{type(env).__name__} changes what {type(env.unwrapped).__name__} does, and its "
                "transition table does not show that; make the world of the environment without it"
            )
        if isinstance(env, TimeLimit):
            limits.append(int(env._max_episode_steps))
        env = env.env
    return min(limits, default=0)
