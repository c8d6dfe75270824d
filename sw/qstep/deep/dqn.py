"""Fast DQN: many environments at once, several updates with one access to the replay memory.

The algorithm is that of `dqn_plain`, with only these differences:

- N environments are stepped at once, so one pass of the network chooses N actions, and the network
  learns ``gradient_steps`` times after N steps instead of once after each N / ``gradient_steps``;
- these updates draw their batches together, before the first one, and the target network does not change
  meanwhile; with prioritised replay they also share the priorities;
- loss, gradient and optimiser are those of `q_loss` and `adam`: the same numbers with less overhead.

References
----------
V. Mnih et al., "Human-level control through deep reinforcement learning", Nature 518, 2015. Different
here: smooth L1 and Adam, a target network that may follow as a moving average, a learning rate that
falls to 0, which is what keeps a good policy from being forgotten.
"""

from __future__ import annotations

import time
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from qstep.deep.config import DqnConfig
from qstep.deep.fast.network import Adam, Greedy, Stack
from qstep.deep.fast.q_loss import Batches, QLoss
from qstep.deep.learner import Ended, Stored, VectorLearner
from qstep.deep.network import Envs, Policy, modules
from qstep.deep.prioritised import Priorities
from qstep.deep.replay import Replay
from qstep.errors import ConfigError

__all__ = ["Dqn"]


class Dqn(VectorLearner):
    """A run of DQN. Call :meth:`step` until :attr:`steps` has reached ``config.total_timesteps``.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        As for :class:`VectorLearner`.
    config : DqnConfig
    device : torch.device
        Device of the networks; environments and replay memory are on the CPU.

    Attributes
    ----------
    online, target : Stack
        One network each: the learning one and the target.

    Raises
    ------
    EnvironmentSpaceError
        The environments' spaces do not fit, or they are reset at another time.
    ConfigError
        There are more environments than the replay has rows.
    """

    COUNTERS: ClassVar[tuple[str, ...]] = (*VectorLearner.COUNTERS, "_vector_steps")

    def __init__(self, envs: Envs, config: DqnConfig, device: torch.device) -> None:
        super().__init__(envs, config, device)
        if envs.num_envs > config.buffer_size:
            raise ConfigError(
                f"there are {envs.num_envs} environments; a step of theirs must fit the replay of "
                f"{config.buffer_size}"
            )
        self.config = config
        self._vector_steps = 0
        sizes = (self.spaces.inputs, *config.hidden, self.spaces.actions)
        self.networks = Stack.zeros(sizes, 2, device)
        self.networks.copy_modules(modules(sizes, config.seed))
        self.online, self.target = self.networks[0], self.networks[1]
        self._acting = Greedy(self.online, envs.num_envs)
        self.replay = Replay(
            config.buffer_size, self.spaces.inputs, config.gradient_steps, config.batch_size
        )
        self.priorities = Priorities(config.buffer_size) if config.prioritised else None
        self._batches = _on(device, self.replay)
        self._loss = QLoss(config.variant, self.networks, self._batches)
        self.optimiser = Adam(self.online.flat, self._loss.gradient.flat)

    def step(self) -> Ended:
        """Take one step with every environment and learn from the replay memory."""
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
        self._vector_steps += 1
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
            weight = self.priorities.weights(rows, len(self.replay), beta) / config.batch_size
            self._batches.weight.copy_(torch.from_numpy(weight))
        if self.device.type != "cpu":  # pragma: no cover: on the CPU both are the same memory
            _move(self.replay, self._batches)
        rate = self.learning_rate
        for batch in range(config.gradient_steps):
            loss.forward(batch)
            loss.backward(batch)
            self.optimiser.step(rate)
        self.updates += config.gradient_steps
        if self.priorities is not None:
            self.priorities.update(rows, loss.td_error.cpu().numpy())
        if self._vector_steps % config.target_update_interval == 0:
            self.target.flat.lerp_(self.online.flat, config.tau)

    def policy(self, num_envs: int) -> Policy:
        """Return the greedy policy of :attr:`online` for a number of environments."""
        return Greedy(self.online, num_envs)

    def to_modules(self) -> nn.Sequential:
        """Return a copy of :attr:`online` as PyTorch's modules, on the CPU."""
        return self.online.to_modules()

    def _stored(self) -> dict[str, Stored]:
        stored: dict[str, Stored] = {**super()._stored(), "replay": self.replay}
        if self.priorities is not None:
            stored["priorities"] = self.priorities
        return stored

    def _tensors(self) -> dict[str, Tensor]:
        optimiser = self.optimiser
        return {
            "online": self.online.flat,
            "target": self.target.flat,
            "adam.mean": optimiser.mean,
            "adam.square": optimiser.square,
            "adam.count": optimiser.count,
        }


def _on(device: torch.device, replay: Replay) -> Batches:
    """Return the batches on the device; on the CPU, the arrays into which the replay samples."""
    seen, action, reward, discount = (torch.from_numpy(a).to(device) for a in replay.sampled)
    weight = torch.full_like(reward, 1 / reward.shape[1])
    return Batches(seen, action, reward, discount, weight)


def _move(replay: Replay, batches: Batches) -> None:  # pragma: no cover: needs a GPU
    for array, tensor in zip(replay.sampled, batches, strict=False):
        tensor.copy_(torch.from_numpy(array))
