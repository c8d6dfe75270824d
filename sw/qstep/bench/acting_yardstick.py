"""Agents that act in C, by `act` of `yardstick.c`, as a yardstick for the compiled model."""

from __future__ import annotations

from ctypes import POINTER, Structure, byref, c_bool, c_int32, c_int64, c_uint32, c_uint64
from typing import Any

import numpy as np

from qstep.acting.agent import AgentCounters
from qstep.acting.epsilon import threshold
from qstep.acting.fast_model import FastActingModel
from qstep.bench.yardstick import library

__all__ = ["ActingYardstick"]


_KEPT = ("state", "action", "episode_steps")
_COUNTED = ("terminations", "truncations", "saturations", "return_sum")


class _Agent(Structure):
    _fields_ = (("word", c_uint64), *((name, c_int64) for name in (*_KEPT, *_COUNTED)))


class _World(Structure):
    _fields_ = (
        ("next_state", POINTER(c_int32)),
        ("reward", POINTER(c_int32)),
        ("terminated", POINTER(c_bool)),
        ("start_split", POINTER(c_int32)),
        ("start_state", POINTER(c_int32)),
        ("start_bits", c_int32),
        ("limit", c_int32),
    )


class _How(Structure):
    _fields_ = (
        *((name, c_int64) for name in ("alpha", "beta", "kappa", "low", "high")),
        ("threshold", c_uint32),
    )


class ActingYardstick:
    """Agents that continue from the state of a model.

    Parameters
    ----------
    model : FastActingModel
        It must have made at least one step. C has only what the benchmark needs: Q-learning with own
        tables, rounding to nearest, constant epsilon, and a world with a limit of steps whose only
        chance is in its starts.

    Attributes
    ----------
    table : ndarray of int32
        Like the model's.

    Raises
    ------
    ToolMissingError, BuildError
        As :class:`~qstep.bench.yardstick.Yardstick`.
    """

    def __init__(self, model: FastActingModel) -> None:
        config, world = model.config, model.world
        self._act = library(config.actions).act
        places = POINTER(c_int32), POINTER(_World), POINTER(_How), POINTER(_Agent)
        self._act.argtypes = (*places, c_int64)
        self._act.restype = None
        self.table = model.table.copy()
        first = world.next_state, world.reward, world.terminated
        self._arrays = tuple(np.ascontiguousarray(each[..., 0, 0]) for each in first)
        self._arrays += world.start_split, np.ascontiguousarray(world.start_state)
        kinds: tuple[Any, ...] = c_int32, c_int32, c_bool, c_int32, c_int32
        arrays = (
            array.ctypes.data_as(POINTER(kind))
            for array, kind in zip(self._arrays, kinds, strict=True)
        )
        starts = len(world.start_split).bit_length() - 1
        self._world = _World(*arrays, starts, world.max_episode_steps)
        self._how = [
            _How(
                *(own.coefficients.alpha, own.coefficients.beta, own.coefficients.kappa),
                *(config.format.minimum, config.format.maximum),
                threshold(own.epsilon.code.start),
            )
            for own in model.settings
        ]
        self._steps = [count.steps for count in model.counters]
        self._agents = [
            _Agent(
                own.word,
                *(getattr(own, name) for name in _KEPT),
                *(getattr(count, name) for name in _COUNTED),
            )
            for own, count in zip(model.states, model.counters, strict=True)
        ]

    @property
    def counters(self) -> list[AgentCounters]:
        """The counters of the agents, in the model's form."""
        return [
            AgentCounters(steps, *(getattr(agent, name) for name in _COUNTED))
            for steps, agent in zip(self._steps, self._agents, strict=True)
        ]

    def run(self, steps: int) -> None:
        """Let every agent make `steps` steps, one agent after the other."""
        tables = self.table.reshape(len(self._agents), -1)
        for q, how, agent in zip(tables, self._how, self._agents, strict=True):
            self._act(
                q.ctypes.data_as(POINTER(c_int32)),
                byref(self._world),
                byref(how),
                byref(agent),
                steps,
            )
        self._steps = [before + steps for before in self._steps]
