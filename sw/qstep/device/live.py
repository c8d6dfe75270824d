"""Live worlds: the caller reports the outcome of each action and receives the next action."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from qstep.device.agents import LinkAgents
from qstep.device.link.ports import Port
from qstep.device.link.session import PATIENCE
from qstep.device.registers import begin_write, rows_of
from qstep.errors import ConfigError, TransitionError
from qstep.golden.agents import ActingModel
from qstep.golden.contract import Agents
from qstep.mdp.memory import Answer, WorldTable
from qstep.spec.checks import boolean, integer, shown
from qstep.spec.config import Config, checked_config
from qstep.spec.protocol import ANSWERS, Request
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = ["LinkLive", "LiveDevice", "LiveModel", "check_live"]


class LiveDevice(Agents):
    """A device with agents in a live world: the model, a simulation or a board.

    It closes at the end of a ``with`` block.
    """

    def begin(self, state: int | Sequence[int], agent: int = 0) -> int:
        """Start an episode of an agent in a given state; return its first action.

        An unfinished episode is abandoned without another update.

        Parameters
        ----------
        state : int, or sequence of int, length T
            0..S-1: a row or, with several planes, one row per plane.
        agent : int
            0..P-1.

        Raises
        ------
        ConfigError
            A value is out of range; nothing was changed.
        """
        agent = integer("agent", agent, 0, len(self.settings) - 1)
        return self._begin_in(self._rows("state", state), agent)

    def act(
        self, reward: float, next_state: int | Sequence[int], terminated: bool, agent: int = 0
    ) -> int:
        """Report the outcome of an agent's action, let the agent learn, and return its next action.

        Parameters
        ----------
        reward : float
            In real units; rounded to the nearest multiple of 2^-F.
        next_state : int, or sequence of int, length T
            As for :meth:`begin`. After termination, the start state of the next episode.
        terminated : bool
        agent : int
            0..P-1.

        Raises
        ------
        ConfigError, TransitionError
            A value is out of range, the reward does not fit the format, or :meth:`begin` has not been
            called for the agent; nothing was changed.
        """
        agent = integer("agent", agent, 0, len(self.settings) - 1)
        place = self._rows("next_state", next_state)
        boolean("terminated", terminated)
        raw = self.config.format.quantise(reward)
        if raw.ndim:
            raise TransitionError(f"reward is {shown(reward)}; it must be a single number")
        if not self._has_begun(agent):
            raise ConfigError(
                f"agent {agent} has not begun; begin(state) comes before the first act"
            )
        return self._answer(Answer(int(raw), place, bool(terminated)), agent)

    def _rows(self, name: str, given: int | Sequence[int]) -> Any:
        """Return a checked row, or a checked tuple of one row per plane."""
        planes, most = self.config.planes, self.config.states - 1
        if planes == 1:
            return integer(name, given, 0, most)
        if not isinstance(given, Sequence) or len(given) != planes:
            raise ConfigError(
                f"{name} is {shown(given)}; it must be a row in each of {planes} planes"
            )
        return tuple(integer(f"{name}[{plane}]", row, 0, most) for plane, row in enumerate(given))

    @abstractmethod
    def _has_begun(self, agent: int) -> bool:
        """Return whether :meth:`begin` has been called for an agent."""

    @abstractmethod
    def _begin_in(self, state: Any, agent: int) -> int:
        """Start an episode; the arguments have been checked."""

    @abstractmethod
    def _answer(self, answer: Answer, agent: int) -> int:
        """Report a checked outcome of an action; return the next action."""


def check_live(config: Config) -> None:
    """Raise ConfigError unless the world of a configuration is live."""
    acting = checked_config(config).acting
    if acting is None or not acting.is_live:
        world = None if acting is None else acting.world
        raise ConfigError(f"acting.world is {world!r}; begin and act need 'live'")


class _Reported:
    """A substitute for a world, which returns the last reported outcome."""

    max_episode_steps = 0
    now = Answer(0, 0, False)

    def answer(self, state: int, action: int, draw: int) -> Answer:
        return self.now

    def start(self, draw: int) -> Any:
        return self.now.next_state

    def rows(self, state: Any) -> tuple[int, ...]:
        return rows_of(state)


class LiveModel(LiveDevice, ActingModel):
    """The model of a live world, which defines the behaviour of :class:`LiveDevice`."""

    def __init__(self, config: Config, settings: Sequence[AgentSettings]) -> None:
        check_live(config)
        self._reported = _Reported()
        super().__init__(config, cast(WorldTable, self._reported), settings)

    def _has_begun(self, agent: int) -> bool:
        return self.states[agent].begun

    def _begin_in(self, state: Any, agent: int) -> int:
        self._reported.now = Answer(0, state, False)
        self._begin(agent)
        return self.states[agent].action

    def _answer(self, answer: Answer, agent: int) -> int:
        self._reported.now = answer
        self._step(agent)
        return self.states[agent].action


class LinkLive(LinkAgents, LiveDevice):
    """The driver for a live world, with the same contract as :class:`LiveModel`."""

    def __init__(
        self,
        port: Port,
        config: Config,
        settings: Sequence[AgentSettings],
        patience: float = PATIENCE,
        build: str | None = None,
    ) -> None:
        check_live(config)
        super().__init__(port, config, 0, settings, patience, build)

    def _has_begun(self, agent: int) -> bool:
        return self._begun[agent]

    def _begin_in(self, state: Any, agent: int) -> int:
        # A draw that was made for a step that did not take place is used here.
        self._store(0, [begin_write(agent, self._context(0, agent))])
        self._begun[agent] = True
        return self._acted(Request.BEGIN, agent, *rows_of(state))

    def _answer(self, answer: Answer, agent: int) -> int:
        reward, next_state, terminated = answer
        raw = reward & 0xFFFFFFFF
        return self._acted(Request.ACT, agent, *rows_of(next_state), int(terminated), raw)

    def _acted(self, kind: Request, *arguments: int) -> int:
        """Send a request and return the agent's next action."""
        payload = self._arguments[kind].pack(*arguments)
        (action,) = ANSWERS[kind].unpack(self._ask(kind, payload))
        return action

    # On the device, `begun` is always set; otherwise, an agent would begin as soon as another acts.

    @property
    def states(self) -> list[AgentState]:
        return [
            replace(state, begun=begun)
            for state, begun in zip(super().states, self._begun, strict=True)
        ]

    def _put_agents(self, states: list[AgentState], counters: list[AgentCounters]) -> None:
        super()._put_agents([replace(state, begun=True) for state in states], counters)
        self._begun = [state.begun for state in states]
