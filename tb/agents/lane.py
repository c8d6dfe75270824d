"""The Verilated interleaved lane as an object: load, run, read back."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tb.bench import RTL
from tb.verilated import shared_library

from qstep.acting.agent import AgentCounters, AgentSettings, AgentState
from qstep.acting.config import Acting, Algorithm
from qstep.acting.registers import (
    HOLDS,
    counters_from,
    counters_writes,
    settings_writes,
    state_from,
    state_writes,
    table_index,
    world_writes,
)
from qstep.acting.world_table import WorldTable
from qstep.config import Config
from qstep.fixed import Rounding
from qstep.protocol import Region

__all__ = [
    "ALGORITHMS",
    "ROUNDINGS",
    "Lane",
    "LaneError",
    "parameters",
]

_HARNESS = Path(__file__).with_name("harness.cpp")
_MOST_CLOCKS = 1 << 62

ALGORITHMS = tuple(Algorithm)
"""In the order of ``qs_agents_pkg::algorithm_e``."""

ROUNDINGS = (Rounding.NEAREST, Rounding.FLOOR, Rounding.STOCHASTIC)
"""In the order of ``qs_pkg::rounding_e``."""


class LaneError(AssertionError):
    """The lane did not answer, did not end, or an assertion of the RTL failed."""


def parameters(config: Config) -> dict[str, int]:
    """Return the parameters of ``qs_acting`` for a configuration."""
    acting = config.acting
    assert isinstance(acting, Acting)
    return {
        "States": config.states,
        "Actions": config.actions,
        "Width": config.format.width,
        "Agents": acting.agents,
        "Algorithm": ALGORITHMS.index(acting.algorithm),
        "Rounding": ROUNDINGS.index(config.rounding),
        "SharedTable": int(acting.shared_table),
        "Schedules": int(acting.schedules),
        "StepLimit": int(acting.step_limit),
        "Outcomes": acting.outcomes,
        "Starts": acting.starts,
    }


def _library(config: Config, rtl: Path) -> Path:
    """Return the shared library of a configuration."""
    packages = [rtl / "qs_pkg.sv", rtl / "qs_agents_pkg.sv"]
    return shared_library(
        "qs_acting",
        rtl,
        [*packages, rtl / "qs_acting.sv"],
        _HARNESS,
        [f"-G{name}={value}" for name, value in parameters(config).items()],
        # A copy with a fault planted in it makes few steps: optimising takes longer than it would save.
        optimise="-O1" if rtl == RTL else "-O0",
    )


class Lane:
    """A simulated lane with its world; its interface is a part of the models' interface."""

    def __init__(
        self,
        config: Config,
        world: WorldTable,
        settings: Sequence[AgentSettings],
        rtl: Path = RTL,
        seed: int = 1,
    ) -> None:
        self.config = config
        self._c = ctypes.CDLL(str(_library(config, rtl)))
        for name, result, arguments in (
            ("new", ctypes.c_void_p, (ctypes.c_int,)),
            ("delete", None, ()),
            ("clocks", ctypes.c_uint64, ()),
            ("errors", ctypes.c_int, ()),
            ("busy", ctypes.c_int, ()),
            (
                "access",
                ctypes.c_int64,
                (ctypes.c_int, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint32),
            ),
            ("run", None, (ctypes.c_uint64,)),
            ("stop", None, ()),
            ("wait", ctypes.c_uint64, (ctypes.c_uint64,)),
            ("clock", None, (ctypes.c_uint64,)),
        ):
            function = getattr(self._c, f"lane_{name}")
            function.restype = result
            function.argtypes = arguments if name == "new" else (ctypes.c_void_p, *arguments)
        self._lane = self._c.lane_new(seed)
        acting = config.acting
        assert isinstance(acting, Acting)
        self.agents, self._shares = acting.agents, acting.shared_table
        self.wait()
        for access in world_writes(config, world):
            self._write(*access)
        for agent, own in enumerate(settings):
            for access in settings_writes(agent, own):
                self._write(*access)
            self.set_state(agent, AgentState.first(own, agent))
            self.set_counters(agent, AgentCounters())
        self.load(np.zeros((*acting.tables, config.states, config.actions), np.int32))

    def close(self) -> None:
        """Free the simulation; raises LaneError if an assertion of the RTL failed."""
        errors = self._c.lane_errors(self._lane)
        self._c.lane_delete(self._lane)
        if errors:
            raise LaneError(f"{errors} assertions failed")

    @property
    def clocks(self) -> int:
        return int(self._c.lane_clocks(self._lane))

    @property
    def busy(self) -> bool:
        return bool(self._c.lane_busy(self._lane))

    def _write(self, region: int, index: int, data: int) -> None:
        if self._c.lane_access(self._lane, 1, region, index, data & 0xFFFFFFFF) < 0:
            raise LaneError(f"a write of {region} {index} does not end")

    def read(self, region: int, index: int) -> int:
        answer = int(self._c.lane_access(self._lane, 0, region, index, 0))
        if answer < 0:
            raise LaneError(f"a read of {region} {index} does not end")
        return answer

    def set_state(self, agent: int, state: AgentState) -> None:
        for access in state_writes(agent, state):
            self._write(*access)

    def set_counters(self, agent: int, counters: AgentCounters) -> None:
        for access in counters_writes(agent, counters):
            self._write(*access)

    @property
    def states(self) -> list[AgentState]:
        return [state_from(agent, self.read) for agent in range(self.agents)]

    @property
    def counters(self) -> list[AgentCounters]:
        return [counters_from(agent, self.read) for agent in range(self.agents)]

    @property
    def holds(self) -> int:
        """Number of slots of a shared table that were held in their turn."""
        return self.read(Region.COUNTERS, HOLDS)

    def _indices(self) -> tuple[tuple[int, ...], list[int]]:
        """Return the shape of all tables, and the index of each value in its order."""
        acting = self.config.acting
        assert isinstance(acting, Acting)
        double = acting.algorithm is Algorithm.DOUBLE_Q_LEARNING
        own = 1 if self._shares else self.agents
        full = (own, 1 + double, self.config.states, self.config.actions)
        shape = (*acting.tables, self.config.states, self.config.actions)
        return shape, [table_index(*place) for place in np.ndindex(*full)]

    @property
    def table(self) -> NDArray[np.int32]:
        shape, indices = self._indices()
        values = [self.read(Region.TABLE, index) for index in indices]
        return np.array(values, np.uint32).view(np.int32).reshape(shape)

    def load(self, q_raw: NDArray[np.int32]) -> None:
        for index, value in zip(self._indices()[1], q_raw.ravel().tolist(), strict=True):
            self._write(Region.TABLE, index, value)

    def begin(self, steps: int) -> None:
        """Begin a run."""
        self._c.lane_run(self._lane, steps)

    def clock(self, count: int) -> None:
        self._c.lane_clock(self._lane, count)

    def stop(self) -> None:
        self._c.lane_stop(self._lane)

    def wait(self, most: int = _MOST_CLOCKS) -> int:
        """Wait until idle and return how many clocks that took."""
        took = int(self._c.lane_wait(self._lane, most))
        if self.busy:
            raise LaneError(f"still busy after {most} clocks")
        return took

    def run(self, steps: int) -> int:
        """Make `steps` steps of each agent; return how many clocks they took."""
        self.begin(steps)
        slots = 64 * self.agents if self._shares else 64  # a slot may wait for every slot before it
        return self.wait(slots * (steps + 100) + 10_000)
