"""A small DQN learner for tests, and runs built from a complete configuration."""

from dataclasses import fields
from typing import Any

import torch

from qstep.deep.config import DqnConfig
from qstep.deep.dqn import Dqn
from qstep.deep.run import NetworkRun
from qstep.envs.cartpole_vector import CartPoleVectorEnv

__all__ = ["CPU", "SMALL", "learner", "play_on", "run_of"]

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


def run_of(name: str, algorithm: str, config: Any, **settings: Any) -> NetworkRun:
    """Return a run that takes every field from a configuration."""
    every = {field.name: getattr(config, field.name) for field in fields(config)}
    return NetworkRun(name, algorithm, **every, **settings)
