"""Steps of vector environments, with results in a convenient layout for tests."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep.envs.cartpole_vector import CartPoleVectorEnv
from qstep.envs.snake import Observation
from qstep.envs.snake_vector import SnakeVectorEnv
from qstep.envs.vector import CompiledVectorEnv, led_to

__all__ = ["Outcome", "poles", "snakes", "stepped"]


class Outcome(NamedTuple):
    """The results of a step, each of shape (N, ...); `score` is None for environments without one."""

    next_observation: NDArray[Any]
    reward: NDArray[Any]
    terminated: NDArray[Any]
    truncated: NDArray[Any]
    score: NDArray[Any] | None


def stepped(envs: CompiledVectorEnv, actions: ArrayLike) -> Outcome:
    seen, reward, terminated, truncated, info = envs.step(actions)
    assert (seen == envs.observation).all()
    score, final = info.get("score"), info.get("final_info", {}).get("score")
    if final is not None:
        score = np.where(terminated | truncated, final, info["score"])
    return Outcome(led_to(seen, info), reward, terminated, truncated, score)


def poles(num_envs: int, seed: int = 0) -> CartPoleVectorEnv:
    envs = CartPoleVectorEnv(num_envs)
    envs.reset(seed=seed)
    return envs


def snakes(num_envs: int, kind: Observation = "features", seed: int = 0) -> SnakeVectorEnv:
    envs = SnakeVectorEnv(num_envs, kind)
    envs.reset(seed=seed)
    return envs
