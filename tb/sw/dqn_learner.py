"""A small DQN learner for tests."""

import torch

from qstep.deep.config import DqnConfig
from qstep.deep.dqn import Dqn
from qstep.envs.cartpole_vector import CartPoleVectorEnv

__all__ = ["CPU", "SMALL", "learner", "play_on"]

CPU = torch.device("cpu")
SMALL = DqnConfig(
    total_timesteps=4_000,
    hidden=(16, 16),
    batch_size=16,
    gradient_steps=2,
    buffer_size=512,
    learning_starts=64,
    reward_scale=0.01,
)


def learner(config: DqnConfig = SMALL, num_envs: int = 8) -> Dqn:
    return Dqn(CartPoleVectorEnv(num_envs), config, CPU)


def play_on(made: Dqn, steps: int) -> Dqn:
    while made.steps < steps:
        made.step()
    return made
