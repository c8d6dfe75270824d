"""Environments that resume by replaying their unfinished episode.

Gymnasium's environments cannot save their state. However, a reset depends only on a seed or on the state
of ``np_random``, and an episode depends only on its reset and its actions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from qstep._io.checkpoint import whole
from qstep.envs.snake import Snake
from qstep.errors import CheckpointError

__all__ = ["Repeatable", "RepeatableVectorEnv"]


class Repeatable(gym.Wrapper[Any, Any, Any, Any]):
    """A wrapper that records how the current episode began and which actions followed.

    :attr:`seen` is a copy of the last observation.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._start: dict[str, Any] = {}
        self._actions: list[NDArray[Any]] = []
        self.seen: NDArray[Any] = np.zeros(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._start = {"generator": self._generator} if seed is None else {"seed": seed}
        self._actions = []
        seen, info = super().reset(seed=seed, options=options)
        self.seen = np.array(seen)
        return seen, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._actions.append(np.array(action))
        seen, *rest = super().step(action)
        self.seen = np.array(seen)
        return seen, *rest

    def checkpoint(self) -> dict[str, Any]:
        """Return the episode so far for :meth:`restore`, as values that JSON can represent."""
        return {
            **self._start,
            "actions": [action.tolist() for action in self._actions],
            "seen": self.seen.tolist(),
        }

    def restore(self, checkpoint: Mapping[str, Any]) -> None:
        """Replay the episode of a :meth:`checkpoint`.

        Raises CheckpointError if the replay ends with a different observation.
        """
        if "generator" in checkpoint:
            self._generator = checkpoint["generator"]
        self.reset(seed=checkpoint.get("seed"))
        for action in checkpoint["actions"]:
            self.step(np.array(action, self.action_space.dtype)[()])
        if self.seen.tolist() != checkpoint["seen"]:
            raise CheckpointError(
                f"{self.unwrapped} cannot resume: its episode, replayed from its reset and "
                f"{len(self._actions)} actions, ends in a different observation"
            )

    @property
    def _generator(self) -> Any:
        """State of the generator that a reset without a seed draws from; None if unknown."""
        env = self.unwrapped
        if isinstance(env, Snake):
            return env.chance.word
        generator = getattr(env.np_random, "bit_generator", None)
        return generator.state if isinstance(generator, np.random.PCG64) else None

    @_generator.setter
    def _generator(self, state: Any) -> None:
        env = self.unwrapped
        if isinstance(env, Snake):
            env.chance.word = state
        else:
            env.np_random.bit_generator.state = state


class RepeatableVectorEnv(SyncVectorEnv):
    """N environments, stepped one at a time and reset within the step that ends an episode."""

    def __init__(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        self._repeatable = [Repeatable(env) for env in envs]
        made = iter(self._repeatable)
        super().__init__([made.__next__] * len(envs), autoreset_mode=AutoresetMode.SAME_STEP)

    @property
    def observation(self) -> NDArray[Any]:
        """The current observation of every environment."""
        return np.stack([env.seen for env in self._repeatable])

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """Return everything that the episodes depend on, for :meth:`restore`."""
        text = json.dumps([env.checkpoint() for env in self._repeatable])
        return {"episodes": np.frombuffer(text.encode(), np.uint8)}

    def restore(self, checkpoint: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a :meth:`checkpoint`, or raise CheckpointError."""
        with whole("the checkpoint's episodes cannot be replayed", CheckpointError):
            episodes = json.loads(checkpoint["episodes"].tobytes())
            for env, episode in zip(self._repeatable, episodes, strict=True):
                env.restore(episode)
