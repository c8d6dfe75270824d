"""DQN in the usual code. Start reading here.

It uses one Gymnasium environment, one transition at a time, a deque as replay memory, autograd and
`torch.optim.Adam`. Nothing is slow on purpose: the time goes into many small calls, and `dqn` is
the same algorithm without most of them.

References
----------
V. Mnih et al., "Human-level control through deep reinforcement learning", Nature 518, 2015. Different
here: smooth L1 and Adam; a learning rate that falls; the variant of the loss (``double`` unless told
otherwise: see `q_loss_plain`), and a target network that may follow as a moving average.
"""

from __future__ import annotations

import random
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray

from qstep.deep.dqn_config import DqnConfig
from qstep.deep.network import modules
from qstep.deep.q_loss_plain import q_loss
from qstep.deep.ranges import learning_rate_at
from qstep.deep.replay_plain import PlainReplay
from qstep.deep.spaces import Spaces
from qstep.errors import ConfigError

__all__ = ["PlainDqn"]


class PlainDqn:
    """A run of DQN, step by step.

    Parameters
    ----------
    env : gymnasium.Env
        With spaces that fit, see :class:`~qstep.deep.spaces.Spaces`. It is reset here.
    config : DqnConfig
        As for :class:`qstep.deep.dqn.Dqn` with N environments; see `num_envs`.
    device : torch.device
    num_envs : int
        N. It learns once after every N / ``gradient_steps`` steps, and the target network moves after
        N * ``target_update_interval`` steps: as often, by steps, as the fast form on N environments.

    Attributes
    ----------
    steps, episodes, updates : int
        Counts so far.
    spaces : Spaces
    online, target : torch.nn.Sequential

    Raises
    ------
    EnvironmentSpaceError
        A space does not fit.
    ConfigError
        N is not a multiple of ``gradient_steps``, or prioritised replay is requested.
    """

    def __init__(
        self, env: gym.Env[Any, Any], config: DqnConfig, device: torch.device, num_envs: int
    ) -> None:
        spaces = Spaces(env.observation_space, env.action_space)
        if num_envs % config.gradient_steps:
            raise ConfigError(
                f"num_envs is {num_envs}; it must be a multiple of gradient_steps, "
                f"{config.gradient_steps}"
            )
        if config.prioritised:
            raise ConfigError("prioritised replay is for the fast form; the plain one has none")
        sizes = (spaces.inputs, *config.hidden, spaces.actions)
        self.env, self.spaces, self.config, self.device = env, spaces, config, device
        self.online = modules(sizes, config.seed).to(device)
        self.target = modules(sizes, config.seed).to(device)
        self.optimiser = torch.optim.Adam(self.online.parameters(), lr=config.learning_rate)
        exploring, replaying = (
            int(sequence.generate_state(1)[0])
            for sequence in np.random.SeedSequence(config.seed).spawn(2)
        )
        self.replay = PlainReplay(config.buffer_size, replaying)
        self.steps = self.episodes = self.updates = 0
        self._learn_every = num_envs // config.gradient_steps
        self._target_every = num_envs * config.target_update_interval
        self._random = random.Random(exploring)
        self._observation = self._numbers(env.reset(seed=config.seed)[0])
        self._return = 0.0

    def step(self) -> float | None:
        """Take one step and learn if it is time; return the episode's return if it has ended."""
        config = self.config
        action = self._select()
        seen, reward, terminated, truncated, _ = self.env.step(action)
        observation = self._numbers(seen)
        self.replay.push(
            self._observation, action, config.reward_scale * float(reward), observation, terminated
        )
        self._observation = observation
        self.steps += 1
        self._return += float(reward)
        episode_return = None
        if terminated or truncated:
            episode_return = self._return
            self.episodes += 1
            self._return = 0.0
            self._observation = self._numbers(self.env.reset()[0])
        if len(self.replay) >= config.learning_starts:
            if self.steps % self._learn_every == 0:
                self._learn()
            if self.steps % self._target_every == 0:
                self._follow()
        return episode_return

    def _numbers(self, seen: Any) -> NDArray[np.float32]:
        numbers: NDArray[np.float32] = self.spaces.numbers(np.asarray(seen)[np.newaxis])[0]
        return numbers

    def _select(self) -> int:
        if self._random.random() < self.config.epsilon.at(self.steps, self.config.total_timesteps):
            return self._random.randrange(self.spaces.actions)
        with torch.no_grad():
            seen = torch.as_tensor(self._observation, device=self.device).unsqueeze(0)
            return int(self.online(seen).argmax(dim=1).item())

    def _learn(self) -> None:
        config = self.config
        batch = self.replay.sample(config.batch_size, self.device)
        loss, _ = q_loss(config.variant, self.online, self.target, batch, config.gamma)
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate_at(config, self.steps)
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # PyTorch has no types for it
        self.optimiser.step()
        self.updates += 1

    def _follow(self) -> None:
        rate = self.config.tau
        with torch.no_grad():
            for ours, theirs in zip(
                self.target.parameters(), self.online.parameters(), strict=True
            ):
                ours.mul_(1 - rate).add_(theirs, alpha=rate)
