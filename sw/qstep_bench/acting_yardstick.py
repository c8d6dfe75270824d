"""Steps agents with the C loops in `yardstick.c`, whose speed is compared with the compiled model's."""

from __future__ import annotations

from ctypes import POINTER, Structure, byref, c_bool, c_int32, c_int64, c_uint32, c_uint64
from typing import Any

import numpy as np
from numpy.ctypeslib import ndpointer

from qstep.errors import ConfigError
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.config import Config
from qstep.spec.epsilon import threshold
from qstep.spec.fixed import COEFFICIENT_BITS, Coefficients
from qstep.spec.settings import AgentCounters, AgentSettings
from qstep_bench.yardstick import LANES, counted, library

__all__ = ["ActingYardstick", "VectorYardstick"]


def _coefficients(config: Config, own: AgentSettings) -> Coefficients:
    """Return an agent's coefficients; raise ConfigError if the C loops do not support them."""
    if config.coefficient_bits != COEFFICIENT_BITS:
        raise ConfigError(
            f"coefficient_bits is {config.coefficient_bits}; it must be {COEFFICIENT_BITS} for the "
            "loops in C"
        )
    return own.coefficients_for(config)


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
    """Steps agents in C, one at a time, starting from a model's state.

    Parameters
    ----------
    model : FastActingModel
        Model that has taken at least one step. The C code supports only the benchmark's settings:
        Q-learning with separate tables, rounding to nearest, constant epsilon, and a world with a step
        limit whose only randomness is in its start states.

    Attributes
    ----------
    table : ndarray of int32
        The agents' tables, as in the model.

    Raises
    ------
    ConfigError
        Coefficients do not have 15 fractional bits.
    ToolMissingError, BuildError
        See :class:`~qstep_bench.yardstick.Yardstick`.
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
        limits = config.format.minimum, config.format.maximum
        self._how = [
            _How(c.alpha, c.beta, c.kappa, *limits, threshold(own.epsilon.code.start))
            for own in model.settings
            for c in [_coefficients(config, own)]
        ]
        self._counters = model.counters
        self._agents = [
            _Agent(
                own.word,
                *(getattr(own, name) for name in _KEPT),
                *(getattr(count, name) for name in _COUNTED),
            )
            for own, count in zip(model.states, self._counters, strict=True)
        ]

    @property
    def counters(self) -> list[AgentCounters]:
        """The agents' counters, as in the model."""
        return counted(self._counters, self._agents)

    def run(self, steps: int) -> None:
        """Run every agent for `steps` steps, one agent at a time."""
        tables = self.table.reshape(len(self._agents), -1)
        for q, how, agent in zip(tables, self._how, self._agents, strict=True):
            self._act(
                q.ctypes.data_as(POINTER(c_int32)),
                byref(self._world),
                byref(how),
                byref(agent),
                steps,
            )
        for count in self._counters:
            count.steps += steps


_BLOCK = np.dtype(
    [
        ("word", np.uint64, LANES),
        ("return_sum", np.int64, LANES),
        *(
            (name, np.int32, LANES)
            for name in (
                *("base", "entry", "episode_steps", "alpha", "kappa", "threshold"),
                *("terminations", "truncations", "saturations"),
            )
        ),
    ],
    align=True,
)


class _Memory(Structure):
    _fields_ = (
        *((name, POINTER(c_int32)) for name in ("reward", "onward", "start_split", "start_base")),
        *((name, c_int32) for name in ("start_bits", "limit", "low", "high")),
    )


class VectorYardstick:
    """Steps :data:`~qstep_bench.yardstick.LANES` agents at once in C, starting from a model's state.

    The compiler vectorises the loop.

    Parameters
    ----------
    model : FastActingModel
        The same as for :class:`ActingYardstick`; in addition, values have at most 16 bits.

    Attributes
    ----------
    table : ndarray of int32
        The agents' tables, as in the model.

    Raises
    ------
    ConfigError
        Values have more than 16 bits, or coefficients do not have 15 fractional bits.
    ToolMissingError, BuildError
        See :class:`~qstep_bench.yardstick.Yardstick`.
    """

    def __init__(self, model: FastActingModel) -> None:
        config, world = model.config, model.world
        if config.format.width > 16:
            raise ConfigError(
                f"format is {config.format}; it must have at most 16 bits for the vectorised loop in C"
            )
        self._act = library(config.actions).act_together
        tables = ndpointer(np.int32, flags=("C_CONTIGUOUS", "WRITEABLE"))
        blocks = ndpointer(_BLOCK, flags=("C_CONTIGUOUS", "WRITEABLE"))
        self._act.argtypes, self._act.restype = (tables, POINTER(_Memory), blocks, c_int64), None
        self.table = model.table.copy()
        self._counters = model.counters
        onward = world.next_state * config.actions << 1 | world.terminated
        arrays = world.reward[..., 0, 0], onward[..., 0, 0], world.start_split
        self._arrays = [
            np.ascontiguousarray(array, np.int32)
            for array in (*arrays, world.start_state * config.actions)
        ]
        one_start = (world.start_state == world.start_state.flat[0]).all()
        self._memory = _Memory(
            *(array.ctypes.data_as(POINTER(c_int32)) for array in self._arrays),
            -1 if one_start else len(world.start_split).bit_length() - 1,
            world.max_episode_steps,
            *(config.format.minimum, config.format.maximum),
        )
        agents, stride = len(self._counters), config.states * config.actions
        self._blocks = np.zeros(-(-agents // LANES), _BLOCK)
        states = model.states
        for lane in range(len(self._blocks) * LANES):
            agent = min(lane, agents - 1)  # surplus lanes repeat the last agent
            own, how = states[agent], model.settings[agent]
            c = _coefficients(config, how)
            row = {
                "word": own.word,
                "base": (agent - lane // LANES * LANES) * stride,
                "entry": own.state * config.actions + own.action,
                "episode_steps": own.episode_steps,
                "alpha": c.alpha,
                "kappa": c.kappa,
                "threshold": threshold(how.epsilon.code.start),
            }
            for name, value in row.items():
                self._blocks[name][lane // LANES, lane % LANES] = value

    @property
    def counters(self) -> list[AgentCounters]:
        """The agents' counters, as in the model."""
        counted = {name: self._blocks[name].reshape(-1).tolist() for name in _COUNTED}
        return [
            AgentCounters(
                before.steps, *(getattr(before, name) + counted[name][agent] for name in _COUNTED)
            )
            for agent, before in enumerate(self._counters)
        ]

    def run(self, steps: int) -> None:
        """Run every agent for `steps` steps; each agent's total over all calls must be below 2^31."""
        tables = self.table.reshape(len(self._counters), -1)
        for number in range(len(self._blocks)):
            first = number * LANES
            self._act(tables[first:], byref(self._memory), self._blocks[number : number + 1], steps)
        for count in self._counters:
            count.steps += steps
