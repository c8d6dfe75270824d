"""Driver for agents on a device that is connected by a link: a board or a simulation of one."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from qstep.device.link.driver import Driver
from qstep.device.link.ports import Port
from qstep.device.link.session import PATIENCE
from qstep.device.registers import (
    Access,
    Read,
    Words,
    counters_from,
    counters_writes,
    epsilon_writes,
    limit_write,
    numbers_from,
    row_indexes,
    settings_writes,
    state_from,
    state_writes,
    table_index,
    words_from,
    world_writes,
)
from qstep.errors import ConfigError, DeadlineError, DeviceError, WorldSilentError
from qstep.golden.agents_fast import Trace
from qstep.golden.contract import Agents, check_world
from qstep.mdp.memory import WorldTable
from qstep.mdp.tiled import TiledWorld
from qstep.spec.checks import integer
from qstep.spec.config import Config
from qstep.spec.memory_map import CONTEXT, COUNTERS, INDEX, NUMBERS, PLACE, Fields, Region
from qstep.spec.protocol import (
    ALL_LANES,
    ANSWERS,
    COMMON,
    MOST_STEPS,
    SILENT,
    WORD_BYTES,
    Request,
    arguments_of,
)
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = ["LinkAgents"]

_REGION = attrgetter("region")
_COUNTER_WORDS = sum(COUNTERS.values())
_POLL_SECONDS = 0.001
_STUCK_SECONDS = 2.0
_STUCK_POLLS = 20
_SLOWDOWN = 30
"""Allowed slowdown of a simulation, by which a world's deadline in clocks is extended."""
_RUNS = 1
_MOST_LIMIT = (1 << 16) - 1
_WORD_SECONDS = 400 / 1_000_000
"""Maximum time per word at the slowest clock that deadlines assume."""
_LANE_SECONDS = 10 / 1_000_000
"""Additional time per lane of a chain."""


class LinkAgents(Driver, Agents):
    """The agents' driver, with the same contract as :class:`qstep.golden.agents.ActingModel`.

    Opening the device ends any job that an earlier host left running, loads the world, returns every
    agent to the state before its first step, and sets every table to 0.
    """

    def __init__(
        self,
        port: Port,
        config: Config,
        world: WorldTable | TiledWorld | int,
        settings: Sequence[AgentSettings],
        patience: float = PATIENCE,
        build: str | None = None,
    ) -> None:
        if not isinstance(world, WorldTable | TiledWorld):
            world = integer("max_episode_steps", world, 0, _MOST_LIMIT)
        Agents.__init__(self, config, world, settings)
        acting = self._acting
        self._stuck_seconds = _STUCK_SECONDS
        if not (acting.is_table or acting.is_tiled):
            self._stuck_seconds += _SLOWDOWN * acting.deadline / config.lane_clock_hz
        self._arguments = arguments_of(config)
        self._word_seconds = _WORD_SECONDS + config.lanes * _LANE_SECONDS
        Driver.__init__(self, port, config, patience, build)

    def _begin(self) -> None:
        loads = self._world_loads()
        self.reconnect()
        self.stop()
        self._store(ALL_LANES, loads)
        self.restore(
            np.zeros(self.config.table_shape, np.int32),
            self._first_states(self.settings),
            [AgentCounters() for _ in self.settings],
        )

    def _world_loads(self) -> list[Access]:
        """Return the writes that load a world, or only its step limit."""
        acting = self._acting
        if isinstance(self.world, WorldTable):
            if not acting.is_table:
                raise ConfigError(f"world is a table; the device's is {acting.world!r}")
            check_world(self.config, self.world)
            return list(world_writes(self.config, self.world))
        if isinstance(self.world, TiledWorld):
            check_world(self.config, self.world)
            self._check_tiled(self.world)
        elif acting.is_table or acting.is_tiled:
            kind = "a table" if acting.is_table else f"{acting.world!r} seen through tiles"
            raise ConfigError(f"world is a step limit; the device's is {kind}, which must be given")
        return [limit_write(self._limit)]

    def _check_tiled(self, world: TiledWorld) -> None:
        """Raise ConfigError unless the device was built with this world; the step limit may differ."""
        acting, given = self._acting, world.world
        if not acting.is_tiled:
            raise ConfigError(f"world is {given.env_id}; the device's is {acting.world!r}")
        built = acting.integer_world
        if replace(given, max_episode_steps=built.max_episode_steps) != built:
            raise ConfigError(
                f"world is {given.env_id} with tiles or numbers that differ from the device's "
                f"{acting.world!r}; use config.acting.integer_world"
            )
        integer("max_episode_steps", given.max_episode_steps, 0, _MOST_LIMIT)

    # Jobs

    def run(self, steps: int, *, trace: bool = False) -> Trace | None:
        """Run every agent for `steps` steps, and return when all have finished.

        An interruption, such as Ctrl-C, ends the job after the current steps.

        Raises
        ------
        DeadlineError
            The agents have stopped taking steps.
        WorldSilentError
            A world that is a circuit did not respond in time, which ended the job.
        SessionLostError
            The device was reset, which ended the job, or another host has taken it over. After
            :meth:`reconnect`, :attr:`counters` shows how many steps were taken.
        """
        steps = integer("steps", steps, 0, MOST_STEPS, "from 0 to 2^48-1")
        if trace:
            raise ConfigError("trace is True; only the model records every step")
        if not steps:
            return None
        self.start(steps)
        try:
            job = self._await_end()
        except DeviceError:
            raise  # a request to stop would fail too
        except BaseException:
            self.stop()
            raise
        if job & SILENT:
            raise WorldSilentError(job - SILENT, self._acting.deadline)
        return None

    def start(self, steps: int) -> None:
        """Start a job of `steps` steps per agent, without waiting for it to end.

        Raises RefusedError if a job is already running; that job continues.
        """
        steps = integer("steps", steps, 1, MOST_STEPS, "from 1 to 2^48-1")
        if self._acting.is_live:
            raise ConfigError("acting.world is 'live'; its agents step only by act")
        self._command(Request.RUN, self._arguments[Request.RUN].pack(steps))

    def stop(self) -> None:
        """End any running job after the current steps, and wait until it has ended."""
        self._command(Request.STOP)
        self._await_end()

    @property
    def running(self) -> bool:
        """Whether a job is running."""
        return self._job() == _RUNS

    def _job(self) -> int:
        (job,) = ANSWERS[Request.PROGRESS].unpack(self._ask(Request.PROGRESS))
        return job

    def _await_end(self) -> int:
        """Wait until no job is running, and return the final status of the last job."""
        made: list[int] = []
        polls, since = 0, time.monotonic()
        while (job := self._job()) == _RUNS:
            # The agents step round-robin, so the steps of agent 0 show whether the job makes progress.
            steps = self._fetch(0, Region.COUNTERS, range(COUNTERS["steps"]))
            if steps != made:
                made, polls, since = steps, 0, time.monotonic()
            polls += 1
            if polls > _STUCK_POLLS and time.monotonic() - since > self._stuck_seconds:
                raise DeadlineError(
                    f"the agents made no step within {self._stuck_seconds:g} s of a running job"
                )
            self._session.pause(_POLL_SECONDS)
        return job

    # State of the agents

    @property
    def counters(self) -> list[AgentCounters]:
        """A consistent snapshot of each agent's counters, which may be read while a job is running."""
        return [
            counters_from(slot, self._words(lane, Region.COUNTERS, slot, _COUNTER_WORDS))
            for lane, slot in self._places()
        ]

    @property
    def states(self) -> list[AgentState]:
        return [self._state(lane, slot) for lane, slot in self._places()]

    @property
    def table(self) -> NDArray[np.int32]:
        entries, lanes = self._entries(), range(self.config.lanes)
        words = [self._fetch(lane, Region.TABLE, entries) for lane in lanes]
        return np.array(words, np.uint32).view(np.int32).reshape(self.config.table_shape)

    def _put_table(self, table: NDArray[np.int32]) -> None:
        values = table.reshape(self.config.lanes, -1)
        for lane, words in enumerate(values.view(np.uint32).tolist()):
            entries = zip(self._entries(), words, strict=True)
            self._store(lane, [Access(Region.TABLE, index, word) for index, word in entries])

    def _put_agents(self, states: list[AgentState], counters: list[AgentCounters]) -> None:
        self._store(ALL_LANES, [limit_write(self._limit)])  # a reset clears the limit
        writes: dict[int, list[Access]] = defaultdict(list)
        tiled = self.world if isinstance(self.world, TiledWorld) else None
        for number, (lane, at) in enumerate(self._places()):
            state = states[number]
            rows = None if tiled is None else tiled.rows(state.state)
            writes[lane] += settings_writes(self.config, at, self.settings[number])
            writes[lane] += state_writes(at, state, rows)
            writes[lane] += counters_writes(at, counters[number])
        for lane, accesses in writes.items():
            self._store(lane, sorted(accesses, key=_REGION))

    def _put_settings(self, settings: Sequence[AgentSettings], states: list[AgentState]) -> None:
        for (lane, at), own, state in zip(self._places(), settings, states, strict=True):
            self._store(lane, [*settings_writes(self.config, at, own), *epsilon_writes(at, state)])

    # Words

    def _places(self) -> list[tuple[int, int]]:
        """Return the lane of each agent, and the agent's number within that lane."""
        return [divmod(number, self.config.lane_agents) for number in range(len(self.settings))]

    def _entries(self) -> list[int]:
        """Return the indexes of a lane's table values, in the order of :attr:`table`."""
        acting = self._acting
        owners = 1 if acting.shared_table else self.config.lane_agents
        return [
            table_index(agent, table, state, action)
            for agent in range(owners)
            for table in range(self.config.agent_tables)
            for state in range(self.config.states)
            for action in range(self.config.actions)
        ]

    def _state(self, lane: int, slot: int) -> AgentState:
        state = state_from(slot, self._context(lane, slot))
        if not isinstance(self.world, TiledWorld):
            return self._with_rows(state, lane, slot) if self.config.planes > 1 else state
        count = len(self.world.world.limits)
        read = self._words(lane, Region.WORLD, slot, count, NUMBERS)
        return replace(state, state=numbers_from(slot, count, read))

    def _with_rows(self, state: AgentState, lane: int, slot: int) -> AgentState:
        words = self._fetch(lane, PLACE.region, row_indexes(slot, self.config.planes))
        return replace(state, state=tuple(PLACE.unpack(word)["state"] for word in words))

    def _context(self, lane: int, slot: int) -> Read:
        return self._words(lane, Region.CONTEXT, slot, len(CONTEXT))

    def _words(
        self, lane: int, region: Region, slot: int, count: int, index: Fields | None = None
    ) -> Read:
        first = (index or INDEX[region]).pack(agent=slot)
        words = self._fetch(lane, region, range(first, first + count))
        found = dict(zip(range(first, first + count), words, strict=True))
        return lambda _region, index: found[index]

    def _where(self, kind: Request, lane: int, region: Region, words: Words) -> bytes:
        lanes = (lane,) if self.config.lanes > 1 else ()
        return self._arguments[kind].pack(region, *words, *lanes)

    def _store(self, lane: int, accesses: Sequence[Access]) -> None:
        for region, of_region in groupby(accesses, key=_REGION):
            group = list(of_region)
            indexes = [access.place for access in group]
            place, at = self._arguments[Request.STORE].size, 0
            while at < len(group):
                most = max(1, (self._session.limit - place) // WORD_BYTES)
                words = words_from(indexes, at, most)
                data = np.array([a.data for a in group[at : at + words.total]], "<u4").tobytes()
                payload = self._where(Request.STORE, lane, region, words) + data
                self._session.send(Request.STORE, payload, seconds=words.total * self._word_seconds)
                at += words.total
        self._session.drain()

    def _fetch(self, lane: int, region: Region, indexes: Sequence[int]) -> list[int]:
        found: list[int] = []
        while len(found) < len(indexes):
            most = max(1, (self._session.limit - COMMON.size) // WORD_BYTES)
            words = words_from(indexes, len(found), most)
            size = words.total * WORD_BYTES
            where = self._where(Request.FETCH, lane, region, words)
            data = self._session.ask(Request.FETCH, size, where)
            found += np.frombuffer(data, "<u4").tolist()
        return found
