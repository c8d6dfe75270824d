"""Steps agents in an integer world with the C loop of `tiled_yardstick.c`."""

from __future__ import annotations

from ctypes import POINTER, Structure, byref, c_int16, c_int32, c_int64, c_uint32, c_uint64
from pathlib import Path

import numpy as np

from qstep.errors import ConfigError
from qstep.golden.tiled_fast import FastTiledModel
from qstep.spec.epsilon import threshold
from qstep.spec.settings import AgentCounters
from qstep_bench.yardstick import counted, library

__all__ = ["TiledYardstick"]

_SOURCE = Path(__file__).with_name("tiled_yardstick.c")
_KEPT = ("action", "episode_steps")
_COUNTED = ("terminations", "truncations", "saturations")
_WIDEST = 16
"""Maximum number of bits per value for which a sum over all planes fits in 32 bits."""


class _Coordinate(Structure):
    _fields_ = tuple((name, c_int32) for name in ("low", "most", "radix", "scale", "shift"))


class TiledYardstick:
    """Steps agents in C, one at a time, starting from a model's state.

    Parameters
    ----------
    model : FastTiledModel
        Model that has taken at least one step. The C code supports only the benchmark's settings:
        Q-learning with separate weights of at most 16 bits, rounding to nearest, and constant epsilon.

    Attributes
    ----------
    table : ndarray of int32
        The agents' weights, as in the model.

    Raises
    ------
    ConfigError
        Values have more than 16 bits.
    ToolMissingError, BuildError
        See :class:`~qstep_bench.yardstick.Yardstick`.
    """

    def __init__(self, model: FastTiledModel) -> None:
        config, world = model.config, model.world.world
        if config.format.width > _WIDEST:
            raise ConfigError(
                f"format is {config.format}; it must have at most {_WIDEST} bits for the loop in C"
            )
        tiles, size = world.tiles, len(world.limits)
        counted = {"TILINGS": tiles.tilings, "GROUPS": len(tiles.groups), "COORDINATES": size}
        defines = [f"-D{name}={count}" for name, count in counted.items()]
        self._act = library(config.actions, _SOURCE, *defines).act_through_tiles
        self._act.restype = None

        class Tiled(Structure):
            _fields_ = (
                ("columns", POINTER(c_int16)),
                ("coordinates", _Coordinate * size),
                ("pick", c_int32 * 2 * len(tiles.groups)),
                *((name, c_int32) for name in ("reward", "limit", "stride", "fraction")),
                *((name, c_int64) for name in ("alpha", "kappa", "low", "high")),
                ("threshold", c_uint32),
            )

        class Agent(Structure):
            _fields_ = (
                ("word", c_uint64),
                *((name, c_int64) for name in (*_KEPT, *_COUNTED)),
                ("state", c_int32 * size),
            )

        self._act.argtypes = POINTER(c_int32), POINTER(Tiled), POINTER(Agent), c_int64
        self.table = model.table.copy()
        self._columns = np.array(world.columns, np.int16)
        coordinates = [
            _Coordinate(own.low, own.tiles * tiles.tilings, own.tiles + 1, own.scale, own.shift)
            for own in tiles.coordinates
        ]
        self._how = []
        for own in model.settings:
            c = own.coefficients_for(config)
            self._how.append(
                Tiled(
                    self._columns.ctypes.data_as(POINTER(c_int16)),
                    (_Coordinate * size)(*coordinates),
                    (c_int32 * 2 * len(tiles.groups))(*((c_int32 * 2)(*g) for g in tiles.groups)),
                    *(model.world.reward, world.max_episode_steps),
                    *(config.states * config.actions, config.coefficient_bits),
                    *(c.alpha, c.kappa, config.format.minimum, config.format.maximum),
                    threshold(own.epsilon.code.start),
                )
            )
        self._counters = model.counters
        self._agents = [
            Agent(
                own.word,
                *(getattr(own, name) for name in _KEPT),
                *(getattr(count, name) for name in _COUNTED),
                (c_int32 * size)(*own.state),
            )
            for own, count in zip(model.states, self._counters, strict=True)
        ]
        self._reward = model.world.reward

    @property
    def counters(self) -> list[AgentCounters]:
        """The agents' counters, as in the model."""
        return counted(self._counters, self._agents)

    def run(self, steps: int) -> None:
        """Run every agent for `steps` steps, one agent at a time."""
        tables = self.table.reshape(len(self._agents), -1)
        for w, how, agent in zip(tables, self._how, self._agents, strict=True):
            self._act(w.ctypes.data_as(POINTER(c_int32)), byref(how), byref(agent), steps)
        for count in self._counters:
            count.steps += steps
            count.return_sum += steps * self._reward
