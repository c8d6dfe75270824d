"""Agents on a device at the other end of a link: a board, or a simulation of one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from qstep.device.base import Closing
from qstep.device.link.exchange import PATIENCE
from qstep.device.link.hello import checked_hello
from qstep.device.link.ports import Port
from qstep.device.link.session import Session
from qstep.device.registers import (
    Access,
    Read,
    Words,
    counters_from,
    counters_writes,
    epsilon_writes,
    limit_write,
    settings_writes,
    state_from,
    state_writes,
    table_index,
    words_from,
    world_writes,
)
from qstep.errors import ConfigError, DeadlineError, DeviceError, WorldSilentError
from qstep.golden.agents_fast import Trace
from qstep.golden.checks import Parts, check_world, checked_agents, checked_parts, reconfigured
from qstep.mdp.memory import WorldTable
from qstep.spec.agents import Algorithm
from qstep.spec.checks import integer
from qstep.spec.config import Config, checked_table
from qstep.spec.protocol import (
    ALL_LANES,
    ANSWERS,
    COMMON,
    FIRST_AGENT_BIT,
    MOST_STEPS,
    SILENT,
    WORD_BYTES,
    Region,
    Request,
    arguments_of,
)
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = ["LinkAgents"]

_STEPS_WORDS = 3
_CONTEXT_WORDS, _COUNTER_WORDS = 5, 16
_POLL_SECONDS = 0.001
_STUCK_SECONDS = 2.0
_STUCK_POLLS = 20
_SLOWDOWN = 30
"""Patience with a simulation, whose world has its deadline in clocks."""
_RUNS = 1
_MOST_LIMIT = (1 << 16) - 1
_WORD_SECONDS = 400 / 1_000_000
"""Longest time of a word, at the slowest clock that deadlines assume."""
_LANE_SECONDS = 10 / 1_000_000
"""Additional time for each lane of a chain."""


class LinkAgents(Closing):
    """The driver of agents: same contract as :class:`qstep.golden.agents.ActingModel`.

    Opening ends a job that an earlier host left, loads the world, puts every agent before its first step
    and sets every table to 0.

    Parameters
    ----------
    port : Port
        Carries the bytes; closed with the device.
    config : Config
        The configuration that the device must have been built from, with ``config.acting``.
    world : WorldTable or int
        Made for `config`; for a world that is not a table, the limit of steps of an episode, 0 for none.
    settings : sequence of AgentSettings
        One for each agent.
    patience : float
        Seconds without an answer before the first retry, in addition to the time on the line.
    build : str, optional
        The required build; by default any.

    Attributes
    ----------
    build : str
        Identity of the device's build, 16 hexadecimal digits; all 0 for a simulation.

    Raises
    ------
    ConfigError
        `config` has no agents, the number of settings is not that of its agents, the world does not fit,
        the limit is not 0 to 65535, or `config` lacks the schedules or the limit.
    ProtocolVersionError, ConfigMismatchError
        The device is not the one that `config` describes; nothing was written to it.
    DeadlineError, LinkError
        No device answers, or the port failed.
    """

    def __init__(
        self,
        port: Port,
        config: Config,
        world: WorldTable | int,
        settings: Sequence[AgentSettings],
        patience: float = PATIENCE,
        build: str | None = None,
    ) -> None:
        self._acting = acting = checked_agents(config, settings, _limit_of(world))
        self.config, self.world, self.settings = config, world, tuple(settings)
        self._port, self._expected_build = port, build
        self._stuck_seconds = _STUCK_SECONDS
        if not acting.is_table:
            self._stuck_seconds += _SLOWDOWN * acting.deadline / config.lane_clock_hz
        self._arguments = arguments_of(config)
        self._word_seconds = _WORD_SECONDS + config.lanes * _LANE_SECONDS
        loads = _world_loads(config, world)
        self._limits = [access for access in loads if access.region is Region.SETTINGS]
        self._session = Session(port, config, patience)
        try:
            self.reconnect()
            self.stop()
            self._store(ALL_LANES, loads)
            self.restore(
                np.zeros(config.table_shape, np.int32),
                [AgentState.first(own, number) for number, own in enumerate(self.settings)],
                [AgentCounters() for _ in self.settings],
            )
        except BaseException:
            port.close()
            raise

    def reconnect(self) -> None:
        """Open a new session after an error; the device's contents stay, and a job continues."""
        self.build = checked_hello(self.config, self._session.open(), self._expected_build)

    # Jobs

    def run(self, steps: int, *, trace: bool = False) -> Trace | None:
        """Let every agent make `steps` steps, and return when all are made.

        An interruption, such as Ctrl-C, ends the job after the current steps.

        Raises
        ------
        ConfigError
            `steps` is not 0 to 2^48 - 1, or a trace is wanted; nothing was done.
        DeadlineError
            The agents make no more steps.
        WorldSilentError
            A world that is a circuit did not answer in time, which ended the job.
        SessionLostError
            The device was reset, which ended the job, or another host has it. After :meth:`reconnect`
            :attr:`counters` say how many steps were made.
        """
        steps = integer("steps", steps, 0, MOST_STEPS, "from 0 to 2^48-1")
        if trace:
            raise ConfigError("trace is True; only the model keeps what its agents live through")
        if not steps:
            return None
        self.start(steps)
        try:
            job = self._await_end()
        except DeviceError:
            raise  # there is no device to stop
        except BaseException:
            self.stop()
            raise
        if job & SILENT:
            raise WorldSilentError(job - SILENT, self._acting.deadline)
        return None

    def start(self, steps: int) -> None:
        """Start a job of `steps` steps of every agent without waiting for its end.

        Raises
        ------
        ConfigError
            `steps` is not 1 to 2^48 - 1, or the world is live.
        RefusedError
            A job is already running; it continues.
        """
        steps = integer("steps", steps, 1, MOST_STEPS, "from 1 to 2^48-1")
        if self._acting.is_live:
            raise ConfigError("acting.world is 'live'; agents make no steps but by act")
        self._session.send(Request.RUN, self._arguments[Request.RUN].pack(steps))
        self._session.drain()

    def stop(self) -> None:
        """End the job, if one runs, after the current steps; return when it has ended."""
        self._session.send(Request.STOP)
        self._session.drain()
        self._await_end()

    @property
    def running(self) -> bool:
        """A job runs."""
        return self._job() == _RUNS

    def _job(self) -> int:
        layout = ANSWERS[Request.PROGRESS]
        (job,) = layout.unpack(self._session.ask(Request.PROGRESS, layout.size))
        return job

    def _await_end(self) -> int:
        """Wait until no job runs, and return how the last one ended."""
        made: list[int] = []
        polls, since = 0, time.monotonic()
        while (job := self._job()) == _RUNS:
            # All agents make their steps in turns, so one of them shows whether there is progress.
            steps = self._fetch(0, Region.COUNTERS, range(_STEPS_WORDS))
            if steps != made:
                made, polls, since = steps, 0, time.monotonic()
            polls += 1
            if polls > _STUCK_POLLS and time.monotonic() - since > self._stuck_seconds:
                raise DeadlineError(
                    f"the agents made no step within {self._stuck_seconds:g} s of a job that runs"
                )
            self._session.pause(_POLL_SECONDS)
        return job

    # State of the agents

    @property
    def counters(self) -> list[AgentCounters]:
        """The counters of the agents, each of one moment; readable while a job runs."""
        return [
            counters_from(slot, self._words(lane, Region.COUNTERS, slot, _COUNTER_WORDS))
            for lane, slot in self._places()
        ]

    @property
    def states(self) -> list[AgentState]:
        """The states of the agents, as copies."""
        return [state_from(slot, self._context(lane, slot)) for lane, slot in self._places()]

    @property
    def table(self) -> NDArray[np.int32]:
        """A copy of all tables as raw values, int32, shape (*Acting.tables, S, A)."""
        entries, lanes = self._entries(), range(self.config.lanes)
        words = [self._fetch(lane, Region.TABLE, entries) for lane in lanes]
        return np.array(words, np.uint32).view(np.int32).reshape(self.config.table_shape)

    def load(self, q_raw: NDArray[np.int32]) -> None:
        """Replace all tables by values of the same shape; raises TableError if they do not fit."""
        self._store_table(checked_table(self.config, q_raw))

    def _store_table(self, table: NDArray[np.int32]) -> None:
        values = table.reshape(self.config.lanes, -1)
        for lane, words in enumerate(values.view(np.uint32).tolist()):
            entries = zip(self._entries(), words, strict=True)
            self._store(lane, [Access(Region.TABLE, index, word) for index, word in entries])

    def restore(
        self,
        table: NDArray[np.int32],
        states: Sequence[AgentState],
        counters: Sequence[AgentCounters],
    ) -> None:
        """Continue from earlier values of :attr:`table`, :attr:`states` and :attr:`counters`.

        Raises
        ------
        TableError, ConfigError
            As for :func:`~qstep.golden.checks.checked_parts`; nothing is changed.
        """
        limit = _limit_of(self.world)
        self._put(checked_parts(self.config, self.settings, limit, table, states, counters))

    def _put(self, parts: Parts) -> None:
        """Store everything from which the agents continue."""
        table, states, counters = parts
        self._store_table(table)
        self._store(ALL_LANES, self._limits)  # a reset loses it
        size = self.config.lane_agents
        for lane in range(self.config.lanes):
            slots = list(zip(range(size), range(lane * size, (lane + 1) * size), strict=True))
            self._store(
                lane,
                [
                    *(
                        access
                        for at, n in slots
                        for access in settings_writes(at, self.settings[n])
                    ),
                    *(access for at, n in slots for access in state_writes(at, states[n])),
                    *(access for at, n in slots for access in counters_writes(at, counters[n])),
                ],
            )

    def configure(self, settings: Sequence[AgentSettings]) -> None:
        """Continue with other settings, as in :meth:`qstep.device.acting.AgentsDevice.configure`."""
        limit = _limit_of(self.world)
        states = reconfigured(self.config, self.settings, settings, limit, self.states)
        for (lane, at), own, state in zip(self._places(), settings, states, strict=True):
            self._store(lane, [*settings_writes(at, own), *epsilon_writes(at, state)])
        self.settings = tuple(settings)

    # Words

    def _places(self) -> list[tuple[int, int]]:
        """Return the lane of each agent, and the agent's number there."""
        return [divmod(number, self.config.lane_agents) for number in range(len(self.settings))]

    def _entries(self) -> list[int]:
        """Return the indexes of the values of a lane's tables, in the order of :attr:`table`."""
        acting = self._acting
        owners = 1 if acting.shared_table else self.config.lane_agents
        tables = 2 if acting.algorithm is Algorithm.DOUBLE_Q_LEARNING else 1
        return [
            table_index(agent, table, state, action)
            for agent in range(owners)
            for table in range(tables)
            for state in range(self.config.states)
            for action in range(self.config.actions)
        ]

    def _context(self, lane: int, slot: int) -> Read:
        return self._words(lane, Region.CONTEXT, slot, _CONTEXT_WORDS)

    def _words(self, lane: int, region: Region, slot: int, count: int) -> Read:
        first = slot << FIRST_AGENT_BIT[region]
        words = self._fetch(lane, region, range(first, first + count))
        found = dict(zip(range(first, first + count), words, strict=True))
        return lambda _region, index: found[index]

    def _where(self, kind: Request, lane: int, region: Region, words: Words) -> bytes:
        lanes = (lane,) if self.config.lanes > 1 else ()
        return self._arguments[kind].pack(region, *words, *lanes)

    def _store(self, lane: int, accesses: Sequence[Access]) -> None:
        for region, of_region in groupby(accesses, key=lambda access: access.region):
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

    def close(self) -> None:
        """Close the port; calling it twice is harmless. A job continues."""
        self._session.report()
        self._port.close()


def _world_loads(config: Config, world: WorldTable | int) -> list[Access]:
    """Return the writes that load a world, or only its limit of steps."""
    acting = config.acting
    if isinstance(world, WorldTable):
        if acting is not None and not acting.is_table:
            raise ConfigError(f"world is a table; the device's is {acting.world!r}")
        check_world(config, world)
        return list(world_writes(config, world))
    if acting is not None and acting.is_table:
        raise ConfigError("world is a limit of steps; the device's is a table, which must be given")
    return [limit_write(world)]


def _limit_of(world: WorldTable | int) -> int:
    """Return a world's limit of steps of an episode, 0 for none."""
    if isinstance(world, WorldTable):
        return world.max_episode_steps
    return integer("max_episode_steps", world, 0, _MOST_LIMIT)
