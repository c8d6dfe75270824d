"""Any environment with real-valued observations: the host steps it, and agents learn by tile coding."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from qstep.device.live import LiveModel
from qstep.envs import make_any
from qstep.envs.repeatable import Repeatable
from qstep.errors import ConfigError, EnvironmentSpaceError
from qstep.golden.agents_fast import Trace
from qstep.spec.checks import instance, integer
from qstep.spec.config import Config
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.random import first_word
from qstep.spec.settings import AgentSettings
from qstep.spec.tiles import MOST_ROWS, Tiles

__all__ = ["EnvAgents", "TiledEnv"]

_UNITS = 1 << 14
"""Number of raw units between the bounds of a coordinate."""

_FAR = 1e3
"""Bounds of a space that exceed this are not used as the range of observations."""

_HASHED = 4096
"""Rows per plane if the product of the tile counts exceeds a plane's maximum."""

_TRIED_STEPS, _WIDER = 2000, 1.5
_SEEDS = 1 << 31


@dataclass(frozen=True)
class TiledEnv:
    """An environment that the host steps, with tile-coded observations for agents.

    Attributes
    ----------
    env_id : str
        As for :func:`qstep.envs.make_any`. The observation space is a Box of one axis, and the action
        space a Discrete.
    tiles : Tiles
    actions : int
    env_kwargs : mapping
    """

    env_id: str
    tiles: Tiles
    actions: int
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        name: str,
        tiles: Tiles | int | Sequence[int],
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> TiledEnv:
        """Return an environment with these tiles, or with a tile count for all or for each coordinate.

        With counts, 8 tilings cover all coordinates together; they are hashed into 4096 rows if they
        need more than 65536. The tilings cover the range between the bounds of the observation space. If
        a coordinate has no bounds, they cover the range that 2000 random steps reach, widened by half.

        Raises
        ------
        EnvironmentSpaceError
            The environment is unknown, or its spaces do not fit.
        ConfigError
            The tiles are illegal, or their number of coordinates differs from the observation's.
        """
        env = make_any(name, None, env_kwargs)
        space, actions = env.observation_space, env.action_space
        if not isinstance(space, Box) or len(space.shape) != 1:
            raise EnvironmentSpaceError(
                f"{name}: the observation space is {space}; tiles need a Box of one axis"
            )
        if not isinstance(actions, Discrete):
            raise EnvironmentSpaceError(
                f"{name}: the action space is {actions}; a table needs a Discrete one"
            )
        if not isinstance(tiles, Tiles):
            if isinstance(tiles, Sequence) and len(tiles) == 1:
                tiles = tiles[0]
            low, high = _bounds(env)
            units = [_UNITS / width for width in (high - low).tolist()]
            each = [tiles] * len(low) if isinstance(tiles, int) else list(tiles)
            many = np.prod([float(n) + 1 for n in each]) > MOST_ROWS
            rows = _HASHED if many else None
            tiles = Tiles(low.tolist(), high.tolist(), tiles, units=units, rows=rows)
        if len(tiles.coordinates) != space.shape[0]:
            raise ConfigError(
                f"tiles are for {len(tiles.coordinates)} numbers; an observation of {name} has "
                f"{space.shape[0]}"
            )
        return cls(name, tiles, int(actions.n), dict(env_kwargs or {}))

    @property
    def digest(self) -> str:
        """SHA-256 of the name, its arguments and the tiles, as 64 hexadecimal digits."""
        parts = self.env_id, {key: repr(self.env_kwargs[key]) for key in self.env_kwargs}
        return hashlib.sha256(json.dumps([parts, self.tiles.to_dict()]).encode()).hexdigest()


def _bounds(env: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and upper bounds of an environment's observations."""
    space = env.observation_space
    draw = np.random.default_rng(0)
    seen, _ = env.reset(seed=0)
    reached = [seen]
    for _ in range(_TRIED_STEPS):
        seen, _, terminated, truncated, _ = env.step(int(draw.integers(env.action_space.n)))
        reached.append(seen)
        if terminated or truncated:
            reached.append(env.reset()[0])
    least, most = np.min(reached, axis=0), np.max(reached, axis=0)
    middle, half = (least + most) / 2, np.maximum((most - least) / 2, 1 / _FAR) * _WIDER
    known = (np.abs(space.low) < _FAR) & (np.abs(space.high) < _FAR)
    low = np.where(known, space.low, middle - half)
    return low.astype(np.float64), np.where(known, space.high, middle + half).astype(np.float64)


class EnvAgents(LiveModel):
    """Agents of the model, each in a separate environment that this process steps.

    A truncated episode is abandoned after its last update, which bootstraps. :attr:`clipped` counts
    observations with a number outside the bounds of the tiles.
    """

    def __init__(self, config: Config, world: TiledEnv, settings: Sequence[AgentSettings]) -> None:
        self._tiled = instance("world", world, TiledEnv)
        super().__init__(config, settings)
        self.clipped = 0
        self._envs = [Repeatable(make_any(world.env_id, None, world.env_kwargs)) for _ in settings]
        for agent, (env, own) in enumerate(zip(self._envs, self.settings, strict=True)):
            seen, _ = env.reset(seed=first_word(own.seed, agent) % _SEEDS)
            self.begin(self._seen(seen), agent)

    def _seen(self, observation: Any) -> tuple[int, ...] | int:
        tiles = self._tiled.tiles
        raw = tiles.raw(observation)
        self.clipped += bool(tiles.clipped(raw))
        rows = tiles.of(raw.tolist())
        return rows if len(rows) > 1 else rows[0]

    def worlds(self) -> dict[str, Any]:
        """Return the state for :meth:`restore_worlds` as values that JSON can represent."""
        return {"clipped": self.clipped, "episodes": [env.checkpoint() for env in self._envs]}

    def restore_worlds(self, worlds: Mapping[str, Any]) -> None:
        """Continue the episodes of :meth:`worlds`, after :meth:`restore`; raises CheckpointError."""
        for env, episode in zip(self._envs, worlds["episodes"], strict=True):
            env.restore(episode)
        self.clipped = worlds["clipped"]

    def run(self, steps: int, *, trace: bool = False) -> Trace | None:  # type: ignore[override]
        """Step the agents round-robin, `steps` times each."""
        steps = integer("steps", steps, 0, MOST_STEPS, "from 0 to 2^48-1")
        if trace:
            raise ConfigError("trace is True; it must be False in a world seen through tiles")
        for _ in range(steps):
            for agent, env in enumerate(self._envs):
                self._step_env(agent, env)
        return None

    def _step_env(self, agent: int, env: Repeatable) -> None:
        seen, reward, terminated, truncated, _ = env.step(self.states[agent].action)
        if terminated:
            seen, _ = env.reset()
        self.act(float(reward), self._seen(seen), bool(terminated), agent)
        if truncated and not terminated:
            self.counters[agent].truncations += 1
            self.begin(self._seen(env.reset()[0]), agent)

    def close(self) -> None:
        """Close the environments."""
        for env in self._envs:
            env.close()
