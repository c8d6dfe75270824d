"""DQN, fast: many boards at once, several updates with one look into the replay.

The algorithm is that of `dqn_plain`. What is different, and all that is:

- N boards are stepped at once, so one pass of the network chooses N actions, and the network learns
  ``updates_per_step`` times after N frames instead of once after each N / ``updates_per_step``;
- those updates draw their batches together, before the first of them, and the target network stands
  still meanwhile; with prioritised replay they share the priorities too;
- loss, gradient and optimiser are those of `q_loss` and `adam`: the same numbers, less around them.

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

from qstep.deep.adam import Adam
from qstep.deep.dqn_config import DqnConfig
from qstep.deep.learner import PHASES, Ended, Learner, Policy, Room
from qstep.deep.network import Greedy, Stack, modules
from qstep.deep.prioritised import Priorities
from qstep.deep.q_loss import Batches, QLoss
from qstep.deep.ranges import rate_at
from qstep.deep.replay import Replay
from qstep.envs.boards import Boards
from qstep.errors import ConfigError

__all__ = ["Dqn"]


class Dqn(Learner):
    """A run of DQN. Call :meth:`step` until :attr:`frames` has reached ``config.frames``.

    Parameters
    ----------
    boards : Boards
        With observations of one number or more.
    config : DqnConfig
    device : torch.device
        Of the networks; boards and replay are on the CPU.

    Attributes
    ----------
    online, target : Stack
        One network each: the one that learns, and the one that follows.
    seconds : dict of str to float
        As of every learner. On an accelerator, which works while the host goes on, what ``learn`` has
        started is partly waited for in ``select``.

    Raises
    ------
    EnvironmentSpaceError
        The boards' observations are indices into a table.
    ConfigError
        There are more boards than the replay has rows.
    """

    COUNTERS: ClassVar[tuple[str, ...]] = (*Learner.COUNTERS, "_steps")

    def __init__(self, boards: Boards, config: DqnConfig, device: torch.device) -> None:
        super().__init__(boards, device, config.seed)
        if len(boards) > config.replay:
            raise ConfigError(
                f"there are {len(boards)} boards; a step of theirs must fit the replay of "
                f"{config.replay}"
            )
        self.config = config
        self._steps = 0
        sizes = (boards.inputs, *config.hidden, boards.actions)
        self.networks = Stack.zeros(sizes, 2, device)
        self.networks.copy_modules(modules(sizes, config.seed))
        self.online, self.target = self.networks[0], self.networks[1]
        self.optimiser = Adam(self.online.flat)
        self._acting = Greedy(self.online, len(boards))
        self.replay = Replay(config.replay, boards.inputs, config.updates_per_step, config.batch)
        self.priorities = Priorities(config.replay) if config.prioritised else None
        self._batches = _on(device, self.replay)
        self._loss = QLoss(config.variant, self.networks, self._batches)

    def step(self) -> Ended:
        """Take one step with every board and learn from what is remembered."""
        boards, config = self.boards, self.config
        began = time.perf_counter()
        seen = boards.observation
        epsilon = config.epsilon.at(self.frames, config.frames)
        actions = self._explore(self._acting(seen), epsilon)
        selected = time.perf_counter()
        step = boards.step(actions)
        stepped = time.perf_counter()
        discount = np.where(step.terminated, np.float32(0), np.float32(config.gamma))
        reward = step.reward * np.float32(config.reward_scale)
        rows = self.replay.push_batch(seen, actions, reward, step.next_observation, discount)
        if self.priorities is not None:
            self.priorities.add(rows)
        self.frames += len(boards)
        self._steps += 1
        ended = self._count(step)
        stored = time.perf_counter()
        if len(self.replay) >= config.warm_up:
            self._learn()
        learnt = time.perf_counter()
        spent = (selected - began, stepped - selected, stored - stepped, learnt - stored)
        for phase, seconds in zip(PHASES, spent, strict=True):
            self.seconds[phase] += seconds
        return ended

    def _learn(self) -> None:
        config, loss = self.config, self._loss
        if self.priorities is None:
            self.replay.uniform(self.generator)
        else:
            rows = self.priorities.draw(config.updates_per_step, config.batch, self.generator)
            self.replay.sample(rows)
            beta = 0.4 + 0.6 * min(self.frames / config.frames, 1.0)
            weight = self.priorities.weights(rows, len(self.replay), beta) / config.batch
            self._batches.weight.copy_(torch.from_numpy(weight))
        if self.device.type != "cpu":  # on the CPU both are the same memory
            _move(self.replay, self._batches)
        rate = rate_at(config, self.frames)
        for batch in range(config.updates_per_step):
            loss.forward(batch)
            self.optimiser.step(loss.backward(batch), rate)
        self.updates += config.updates_per_step
        if self.priorities is not None:
            self.priorities.update(rows, loss.td_error.cpu().numpy())
        if self._steps % config.target_every == 0:
            self.target.flat.lerp_(self.online.flat, config.target_rate)

    def policy(self, boards: int) -> Policy:
        """Return the greedy policy of :attr:`online` for so many boards."""
        return Greedy(self.online, boards)

    def to_modules(self) -> nn.Sequential:
        """Return a copy of :attr:`online` as PyTorch's modules, on the CPU."""
        return self.online.to_modules()

    def _rooms(self) -> dict[str, Room]:
        rooms: dict[str, Room] = {**super()._rooms(), "replay": self.replay}
        if self.priorities is not None:
            rooms["priorities"] = self.priorities
        return rooms

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
    """Return the batches on the device: on the CPU the very arrays that the replay samples into."""
    seen, action, reward, discount = (torch.from_numpy(a).to(device) for a in replay.sampled)
    weight = torch.full_like(reward, 1 / reward.shape[1])
    return Batches(seen, action, reward, discount, weight)


def _move(replay: Replay, batches: Batches) -> None:
    for array, tensor in zip(replay.sampled, batches, strict=False):
        tensor.copy_(torch.from_numpy(array))
