"""DQN in conventional PyTorch code; start reading here.

It uses one Gymnasium environment, one transition at a time, a deque as replay memory, autograd and
`torch.optim.Adam`. `dqn` implements the same algorithm without most of the small calls.

The variants of the loss differ in which network chooses the action in s', and which one evaluates it:

===========  ==========================  ====================
variant      chooses the action in s'    gives its value
===========  ==========================  ====================
``single``   the network that learns     the same network
``target``   the target network          the target network
``double``   the network that learns     the target network
===========  ==========================  ====================

References
----------
V. Mnih et al., "Human-level control through deep reinforcement learning", Nature 518, 2015 (target).
Differences here: smooth L1 loss and Adam; a target network that can be a moving average; a learning rate
that decreases to 0, so that a good policy is not forgotten.
H. van Hasselt, A. Guez, D. Silver, "Deep Reinforcement Learning with Double Q-learning", AAAI 2016.
"""

from __future__ import annotations

import copy
import random
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep.deep.config import DqnConfig, Variant
from qstep.deep.learner import Ended, Learner
from qstep.deep.network import Policy, Spaces, greedy, modules
from qstep.errors import ConfigError

__all__ = ["Batch", "PlainDqn", "q_loss", "stacked"]

Transition: TypeAlias = tuple[NDArray[np.float32], int, float, NDArray[np.float32], bool]
"""Observation, action, reward, next observation, and whether the episode terminated."""


class Batch(NamedTuple):
    """B transitions with observations of D numbers."""

    observation: Tensor  # float32 (B, D)
    action: Tensor  # int64 (B,)
    reward: Tensor  # float32 (B,)
    next_observation: Tensor  # float32 (B, D)
    terminated: Tensor  # bool (B,)


def q_loss(
    variant: Variant, online: nn.Module, target: nn.Module, batch: Batch, gamma: float
) -> tuple[Tensor, Tensor]:
    """Return the mean smooth L1 loss, ready for ``backward``, and the TD errors, shape (B,).

    Both networks map observations (B, D) to values (B, actions); only `online` is trained.
    """
    q_taken = online(batch.observation).gather(1, batch.action.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        if variant == "double":
            best = online(batch.next_observation).argmax(dim=1, keepdim=True)
            q_next = target(batch.next_observation).gather(1, best).squeeze(1)
        else:
            judge = online if variant == "single" else target
            q_next = judge(batch.next_observation).max(dim=1).values
        wanted = batch.reward + gamma * q_next * (~batch.terminated).float()
    return F.smooth_l1_loss(q_taken, wanted), (wanted - q_taken).detach()


def stacked(transitions: Sequence[Transition], device: torch.device) -> Batch:
    """Return a batch of transitions."""
    observation, action, reward, next_observation, terminated = zip(*transitions, strict=True)
    return Batch(
        torch.from_numpy(np.array(observation)).to(device),
        torch.tensor(action, device=device),
        torch.tensor(reward, dtype=torch.float32, device=device),
        torch.from_numpy(np.array(next_observation)).to(device),
        torch.tensor(terminated, device=device),
    )


class PlainDqn(Learner):
    """A run of DQN, step by step.

    It learns once every `num_envs` / ``gradient_steps`` steps and updates the target network every
    `num_envs` * ``target_update_interval`` steps: as often per step as `Dqn` with `num_envs`
    environments.

    The replay memory is a deque, which reaches an index by counting from the nearer end, so the time of
    a random access is proportional to its length. Drawing 128 of 100,000 transitions took 200
    microseconds, compared with 75 from a list.
    """

    config: DqnConfig

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
            raise ConfigError("prioritised is true; it must be false with plain code")
        super().__init__(spaces, config, device)
        sizes = (spaces.inputs, *config.hidden, spaces.actions)
        self.env = env
        self.online = modules(sizes, config.seed).to(device)
        self.target = modules(sizes, config.seed).to(device)
        self.optimiser = torch.optim.Adam(self.online.parameters())
        self._exploring, self._replaying = (
            random.Random(int(sequence.generate_state(1)[0]))
            for sequence in np.random.SeedSequence(config.seed).spawn(2)
        )
        self.replay: deque[Transition] = deque(maxlen=config.buffer_size)
        self._learn_every = num_envs // config.gradient_steps
        self._target_every = num_envs * config.target_update_interval
        self._observation = self._numbers(env.reset(seed=config.seed)[0])
        self._return = 0.0
        self._loss = torch.zeros(())

    def step(self) -> Ended:
        config, now = self.config, time.perf_counter()
        action = self._select()
        now = self._spend("select", now)
        seen, reward, terminated, truncated, _ = self.env.step(action)
        now = self._spend("step", now)
        observation = self._numbers(seen)
        scaled = config.reward_scale * float(reward)
        self.replay.append((self._observation, action, scaled, observation, terminated))
        self._observation = observation
        self.steps += 1
        self._return += float(reward)
        returns = []
        if terminated or truncated:
            returns = [self._return]
            self.episodes += 1
            self._return = 0.0
            self._observation = self._numbers(self.env.reset()[0])
        now = self._spend("store", now)
        if len(self.replay) >= config.learning_starts:
            if self.steps % self._learn_every == 0:
                self._learn()
            if self.steps % self._target_every == 0:
                self._follow()
        self._spend("learn", now)
        return Ended(np.zeros(len(returns), np.int64), np.array(returns, np.float64))

    def policy(self, num_envs: int) -> Policy:
        return greedy(self.online, self.spaces)

    def to_modules(self) -> nn.Sequential:
        return copy.deepcopy(self.online).cpu()

    def monitored(self) -> Iterable[Tensor]:
        return *self.online.parameters(), self._loss

    def _numbers(self, seen: Any) -> NDArray[np.float32]:
        numbers: NDArray[np.float32] = self.spaces.numbers(np.asarray(seen)[np.newaxis])[0]
        return numbers

    def _select(self) -> int:
        if self._exploring.random() < self.epsilon:
            return self._exploring.randrange(self.spaces.actions)
        with torch.no_grad():
            seen = torch.as_tensor(self._observation, device=self.device).unsqueeze(0)
            return int(self.online(seen).argmax(dim=1).item())

    def _learn(self) -> None:
        config = self.config
        drawn = self._replaying.sample(self.replay, config.batch_size)
        batch = stacked(drawn, self.device)
        loss, _ = q_loss(config.variant, self.online, self.target, batch, config.gamma)
        for group in self.optimiser.param_groups:
            group["lr"] = self.learning_rate
        self.optimiser.zero_grad()
        self._loss = loss.detach()
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
