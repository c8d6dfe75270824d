"""DQN on one board of Snake, as people write it: the beginning of the story.

One environment in Python, one transition at a time into a `deque`, one observation at a time through
the network, a batch that is put together from lists, two forward passes, and PyTorch's own Adam. Nothing
is slow on purpose. `dqn` is the fast form of the same algorithm.
"""

from __future__ import annotations

import random
import time
from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

from qstep.deep.dqn_config import DqnConfig
from qstep.deep.network import Network, modules
from qstep.deep.q_loss_plain import Batch, q_loss
from qstep.errors import EnvironmentSpaceError

__all__ = ["LEARN_EVERY", "PlainSnake"]

LEARN_EVERY = 4
"""Steps between two updates."""


class PlainSnake:
    """A run of DQN in one environment. Call :meth:`play` for one episode after the other.

    Parameters
    ----------
    env : gymnasium.Env
        With observations in a vector and a count of actions.
    config : DqnConfig
        ``target_every`` counts steps; one update is made every :data:`LEARN_EVERY` steps, whatever
        ``updates_per_step`` says; ``prioritised`` is not for this form.

    Attributes
    ----------
    frames, episodes, updates : int
        So far.
    seconds : dict of str to float
        Spent so far in ``select``, ``step``, ``store`` and ``learn``.

    Raises
    ------
    EnvironmentSpaceError
        The environment's spaces are of another kind; the message names the space.
    """

    def __init__(self, env: gym.Env[Any, Any], config: DqnConfig) -> None:
        sizes = (_inputs(env), *config.hidden, _actions(env))
        self.env, self.config = env, config
        self.sizes = sizes
        self.online = modules(sizes, config.seed)
        self.target = modules(sizes, config.seed)
        self.optimiser = torch.optim.Adam(self.online.parameters(), lr=config.rate)
        self.memory: deque[tuple[Any, int, float, Any, bool]] = deque(maxlen=config.replay)
        self.random = random.Random(config.seed)
        self.frames = self.episodes = self.updates = 0
        self.seconds = {"select": 0.0, "step": 0.0, "store": 0.0, "learn": 0.0}
        env.reset(seed=config.seed)

    @property
    def network(self) -> Network:
        """The network that learns, in the form that `evaluate` takes."""
        flat = Network(self.sizes, torch.device("cpu"))
        flat.copy_modules(self.online)
        return flat

    def play(self) -> int:
        """Play one episode, learning as it goes; return its score."""
        observation, info = self.env.reset()
        done = False
        while not done:
            began = time.perf_counter()
            action = self._select(observation)
            selected = time.perf_counter()
            following, reward, terminated, truncated, info = self.env.step(action)
            stepped = time.perf_counter()
            self.memory.append((observation, action, float(reward), following, terminated))
            stored = time.perf_counter()
            observation = following
            done = terminated or truncated
            self.frames += 1
            if self.frames % LEARN_EVERY == 0 and len(self.memory) >= self.config.warm_up:
                self._learn()
            if self.frames % self.config.target_every == 0:
                self.target.load_state_dict(self.online.state_dict())
            learnt = time.perf_counter()
            self.seconds["select"] += selected - began
            self.seconds["step"] += stepped - selected
            self.seconds["store"] += stored - stepped
            self.seconds["learn"] += learnt - stored
        self.episodes += 1
        return int(info["score"])

    def _select(self, observation: Any) -> int:
        if self.random.random() < self.config.epsilon.at(self.frames, self.config.frames):
            return self.random.randrange(self.sizes[-1])
        with torch.no_grad():
            return int(self.online(torch.from_numpy(observation).unsqueeze(0)).argmax())

    def _learn(self) -> None:
        rows = self.random.sample(self.memory, self.config.batch)
        observation, action, reward, following, terminated = zip(*rows, strict=True)
        batch = Batch(
            torch.tensor(np.array(observation)),
            torch.tensor(action),
            torch.tensor(reward),
            torch.tensor(np.array(following)),
            torch.tensor(terminated),
        )
        loss, _ = q_loss(self.config.variant, self.online, self.target, batch, self.config.gamma)
        for group in self.optimiser.param_groups:
            group["lr"] = self.config.rate_at(self.frames)
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.updates += 1


def _inputs(env: gym.Env[Any, Any]) -> int:
    space = env.observation_space
    if not isinstance(space, Box) or len(space.shape) != 1:
        raise EnvironmentSpaceError(
            f"the observation space is {space}; a network needs a Box of one dimension"
        )
    return space.shape[0]


def _actions(env: gym.Env[Any, Any]) -> int:
    space = env.action_space
    if not isinstance(space, Discrete):
        raise EnvironmentSpaceError(f"the action space is {space}; DQN needs a Discrete one")
    return int(space.n)
