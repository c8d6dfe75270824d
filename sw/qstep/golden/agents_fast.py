"""The compiled model of agents: bit for bit equal to :mod:`qstep.golden.agents`.

Its loop is in :mod:`qstep.golden.agents_kernel`; it steps several agents with separate tables at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from qstep.golden.agents_kernel import (
    AGENT,
    ALGORITHMS,
    SETTINGS,
    SURE,
    Memory,
    Rules,
    blocks_of,
    run,
)
from qstep.golden.contract import Agents, check_world
from qstep.mdp.memory import WorldTable
from qstep.mdp.tiled import TiledWorld
from qstep.spec.checks import instance, integer
from qstep.spec.config import Config
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.random import DRAW_BITS
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = ["LANES", "CompiledAgents", "FastActingModel", "Trace"]

_Kept = TypeVar("_Kept", AgentState, AgentCounters)
_Part = tuple[int, int, NDArray[np.void]]

LANES = 16
"""Maximum number of agents with separate tables that step at once."""

_NARROW = 31
"""Maximum of value bits plus fractional coefficient bits for which an update fits in 32 bits."""

_FEW = 3
"""Minimum number of agents for which a block is worthwhile."""


class Trace(NamedTuple):
    """The agents' steps in order: the fields of `Step` as columns of shape (steps * P,)."""

    agent: NDArray[np.int32]
    state: NDArray[np.int32]
    action: NDArray[np.int32]
    reward: NDArray[np.int32]
    next_state: NDArray[np.int32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    explored: NDArray[np.bool_]
    table: NDArray[np.int32]


_COLUMN_TYPES = tuple(
    np.bool_ if name in ("terminated", "truncated", "explored") else np.int32
    for name in Trace._fields[1:]
)


class CompiledAgents(Agents):
    """Agents whose states and counters are records in an array; `agent` is the type of the records.

    A row occupies `row_entries` entries in memory. :attr:`table` is a live view, not a copy.
    """

    def __init__(
        self,
        config: Config,
        world: WorldTable | TiledWorld,
        settings: Sequence[AgentSettings],
        agent: np.dtype[Any],
        row_entries: int,
    ) -> None:
        super().__init__(config, world, settings)
        self._entries = np.zeros((*config.table_shape[:-1], row_entries), np.int32)
        self._table: NDArray[np.int32] = self._entries[..., : config.actions]
        self._settings = np.zeros(self._acting.agents, SETTINGS)
        self._agents = np.zeros(self._acting.agents, agent)
        alone = not self._acting.shared_table or self._acting.agents == 1
        self._stride = self._entries.size // self._acting.agents if alone else 0
        self._put_settings(settings, self._first_states(settings))

    @property
    def table(self) -> NDArray[np.int32]:
        return self._table

    @property
    def states(self) -> list[AgentState]:
        """Copies of the agents' states."""
        return self._parts(AgentState)

    @property
    def counters(self) -> list[AgentCounters]:
        """Copies of the agents' counters."""
        found = self._parts(AgentCounters)
        for own in found:
            own.wrap()  # the loop counts in 64 bits
        return found

    def _put_table(self, table: NDArray[np.int32]) -> None:
        self._table[...] = table

    def _put_agents(self, states: list[AgentState], counters: list[AgentCounters]) -> None:
        for number, parts in enumerate(zip(states, counters, strict=True)):
            self._agents[number] = tuple(value for part in parts for value in astuple(part))

    def _put_settings(self, settings: Sequence[AgentSettings], states: list[AgentState]) -> None:
        for number, own in enumerate(settings):
            c, code = own.coefficients_for(self.config), own.epsilon.code
            self._settings[number] = (c.alpha, c.kappa, *code[1:])
        self._put_agents(states, self.counters)

    def _parts(self, kind: type[_Kept]) -> list[_Kept]:
        names = [field.name for field in fields(kind)]
        return [kind(*own) for own in self._agents[names].tolist()]


class FastActingModel(CompiledAgents):
    """Compiled :class:`qstep.golden.agents.ActingModel`, with the same contract.

    :attr:`table` is a live view, not a copy.
    """

    world: WorldTable

    def __init__(
        self, config: Config, world: WorldTable, settings: Sequence[AgentSettings]
    ) -> None:
        instance("world", world, WorldTable, ", which World.table(config) returns")
        check_world(config, world)
        super().__init__(config, world, settings, AGENT, config.actions)
        acting = self._acting
        self._blocks = _parts_of_run(acting.agents, acting.agents > 1 and not acting.shared_table)
        number_format, bits = config.format, config.coefficient_bits
        bias = config.rounding.bias(bits)
        kind = np.int32 if number_format.width + bits <= _NARROW else np.int64
        outcome = world.reward, world.next_state, world.terminated
        first = np.zeros(world.start_state.shape, np.int32), world.start_state
        self._rules = Rules(
            size=config.states * config.actions,
            row=(0,) * config.actions,
            algorithm=(0,) * ALGORITHMS.index(acting.algorithm),
            fraction=bits,
            bias=-1 if bias is None else bias,
            ends=np.array([number_format.minimum, number_format.maximum], kind),
            world=_memory(world.split.reshape(-1, acting.outcomes), outcome, config.actions),
            starts=_memory(world.start_split[None], (*first, first[0]), config.actions),
            limit=self._limit,
        )

    def run(self, steps: int, *, trace: bool = False) -> Trace | None:
        """Step the agents round-robin, `steps` times each; return the trace if requested.

        This releases Python's global interpreter lock, so it may run in a thread. :attr:`states` and
        :attr:`counters` do not change until it returns. A run may be split into several calls.
        """
        agents = len(self._agents)
        steps = integer("steps", steps, 0, MOST_STEPS, "from 0 to 2^48-1")
        columns: tuple[NDArray[Any], ...] = tuple(
            np.zeros(steps * agents * trace, dtype) for dtype in _COLUMN_TYPES
        )
        for first, end, blocks in self._blocks:
            run(
                self._entries.reshape(-1)[first * self._stride :],
                self._stride,
                self._rules,
                self._agents[first:end],
                self._settings[first:end],
                blocks,
                steps,
                columns,
                first,
                agents,
            )
        if not trace:
            return None
        return Trace(np.tile(np.arange(agents, dtype=np.int32), steps), *columns)


def _parts_of_run(agents: int, own: bool) -> list[_Part]:
    """Return the parts of a run, each with its first agent, the agent after its last, and its blocks.

    Agents with separate tables run in blocks of 16. The remaining agents run in a block of 8 or 16, or
    one at a time if there are few.
    """
    rest = agents % LANES if own else agents
    lanes = 1 if not own or rest < _FEW else LANES // 2 if rest <= LANES // 2 else LANES
    parts = (0, agents - rest, LANES), (agents - rest, agents, lanes)
    return [
        (first, end, blocks_of(end - first, lanes)) for first, end, lanes in parts if end > first
    ]


def _memory(
    split: NDArray[np.int32],
    outcome: tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]],
    actions: int,
) -> Memory:
    """Return the memory of sets of slots, each with two outcomes (reward, next state and termination).

    `split` has shape (sets, slots); each part of `outcome` has shape (sets, slots, 2), or is flat.
    """
    reward, state, terminated = (part.reshape(*split.shape, 2).astype(np.int32) for part in outcome)
    onward = (state * actions << 1) | terminated
    possible = np.stack([split > 0, split < (1 << DRAW_BITS) // split.shape[1]], axis=-1)
    reward, onward = (np.where(possible, each, each[..., ::-1]) for each in (reward, onward))
    if all((each == each[:, :1, :1]).all() for each in (reward, onward)):
        sure = (np.ascontiguousarray(each[:, 0, 0]) for each in (reward, onward))
        return Memory(SURE, np.zeros(0, np.int32), *sure)
    bits = split.shape[1].bit_length() - 1
    return Memory(
        bits, np.ascontiguousarray(split).reshape(-1), reward.reshape(-1), onward.reshape(-1)
    )
