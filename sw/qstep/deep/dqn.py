"""Fast DQN: parallel environments, and several updates per access to the replay memory.

The algorithm and its references are the same as in `dqn_plain`, with these differences:

- N environments are stepped together, so one forward pass chooses N actions. The network is updated
  ``gradient_steps`` times after every N steps, not once after every N / ``gradient_steps`` steps.
- The batches of these updates are all drawn before the first update, and the target network does not
  change during the updates. With prioritised replay, all batches use the same priorities.
- The loss, the gradient and the optimiser come from `fast`: the same numbers with less overhead.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor, nn

from qstep.deep.config import DqnConfig
from qstep.deep.fast.network import Adam, Greedy, Stack
from qstep.deep.fast.q_loss import QLoss
from qstep.deep.learner import Ended, Stored, VectorLearner
from qstep.deep.network import Envs, Policy, modules
from qstep.deep.replay import Priorities, Replay
from qstep.errors import ConfigError

__all__ = ["Dqn"]


class Dqn(VectorLearner):
    """A run of DQN; `online` and `target` are the learning network and the target network."""

    config: DqnConfig

    def __init__(self, envs: Envs, config: DqnConfig, device: torch.device) -> None:
        super().__init__(envs, config, device)
        if envs.num_envs > config.buffer_size:
            raise ConfigError(
                f"num_envs is {envs.num_envs}; it must be from 1 to buffer_size, {config.buffer_size}"
            )
        sizes = (self.spaces.inputs, *config.hidden, self.spaces.actions)
        self.networks = Stack.zeros(sizes, 2, device)
        self.networks.copy_modules(modules(sizes, config.seed))
        self.online, self.target = self.networks[0], self.networks[1]
        self._acting = Greedy(self.online, envs.num_envs)
        self.replay = Replay(
            config.buffer_size, self.spaces.inputs, config.gradient_steps, config.batch_size
        )
        self.priorities = Priorities(config.buffer_size) if config.prioritised else None
        self._loss = QLoss(config.variant, self.networks, self.replay.sampled)
        self.optimiser = Adam(self.online.flat, self._loss.gradient.flat)

    def step(self) -> Ended:
        config = self.config
        now = time.perf_counter()
        seen = self.observation
        actions = self._explore(self._acting(seen), self.epsilon)
        now = self._spend("select", now)
        step = self._move(actions)
        now = self._spend("step", now)
        discount = np.where(step.terminated, np.float32(0), np.float32(config.gamma))
        reward = step.reward * np.float32(config.reward_scale)
        rows = self.replay.push_batch(seen, actions, reward, step.next_observation, discount)
        if self.priorities is not None:
            self.priorities.add(rows)
        self.steps += len(seen)
        ended = self._count(step)
        now = self._spend("store", now)
        if len(self.replay) >= config.learning_starts:
            self._learn()
        self._spend("learn", now)
        return ended

    def _learn(self) -> None:
        config, loss = self.config, self._loss
        if self.priorities is None:
            self.replay.uniform(self.generator)
        else:
            rows = self.priorities.draw(config.gradient_steps, config.batch_size, self.generator)
            self.replay.sample(rows)
            beta = 0.4 + 0.6 * min(self.steps / config.total_timesteps, 1.0)
            weight = self.priorities.weights(rows, len(self.replay), beta)
            np.divide(weight, config.batch_size, out=self.replay.sampled.weight)
        loss.load()
        rate = self.learning_rate
        for batch in range(config.gradient_steps):
            loss.forward(batch)
            loss.backward(batch)
            self.optimiser.step(rate)
        self.updates += config.gradient_steps
        if self.priorities is not None:
            self.priorities.update(rows, loss.td_error.numpy())
        if self.steps // self.num_envs % config.target_update_interval == 0:
            self.target.flat.lerp_(self.online.flat, config.tau)

    def policy(self, num_envs: int) -> Policy:
        return Greedy(self.online, num_envs)

    def to_modules(self) -> nn.Sequential:
        return self.online.to_modules()

    def monitored(self) -> tuple[Tensor, ...]:
        return self.online.flat, self._loss.loss

    def _stored(self) -> dict[str, Stored]:
        stored: dict[str, Stored] = {**super()._stored(), "replay": self.replay}
        if self.priorities is not None:
            stored["priorities"] = self.priorities
        return stored

    def _tensors(self) -> dict[str, Tensor]:
        adam = self.optimiser
        return {
            "online": self.online.flat,
            "target": self.target.flat,
            "adam.mean": adam.mean,
            "adam.square": adam.square,
            "adam.count": adam.count,
        }
