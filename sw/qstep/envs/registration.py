"""The environments of QStep in Gymnasium's registry: ``gymnasium.make("qstep/Snake-v0")``."""

from __future__ import annotations

import gymnasium as gym

from qstep.envs.maps import MAPS

__all__ = ["IDS"]

IDS = {
    "gridworld": "qstep/GridWorld-v0",
    "gridworld-8x8": "qstep/GridWorld8x8-v0",
    "gridworld-16x16": "qstep/GridWorld16x16-v0",
    "gridworld-32x32": "qstep/GridWorld32x32-v0",
    "snake": "qstep/Snake-v0",
    "cartpole": "qstep/CartPoleTable-v0",
}
"""Id of each environment with a short name on the command line."""


def _register() -> None:
    # No `max_episode_steps`: each of them ends its episodes itself.
    for name, text in MAPS.items():
        gym.register(
            IDS[name],
            entry_point="qstep.envs.gridworld:GridWorld",
            kwargs={"text": text, "source": name},
        )
    gym.register(
        IDS["snake"],
        entry_point="qstep.envs.snake:Snake",
        vector_entry_point="qstep.envs.snake_vector:SnakeVectorEnv",
    )
    gym.register(
        IDS["cartpole"],
        entry_point="qstep.envs.cartpole_table:CartPoleTable",
        reward_threshold=475.0,
    )
    # The single environment is Gymnasium's own; this one is N of them, compiled.
    gym.register(
        "qstep/CartPole-v0", vector_entry_point="qstep.envs.cartpole_vector:CartPoleVectorEnv"
    )


_register()
