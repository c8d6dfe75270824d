"""Agents whose world is the host, on a device at the other end of a link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qstep.acting.agent import AgentSettings, AgentState
from qstep.acting.checks import Parts
from qstep.acting.live import answer_of, check_begun, check_live
from qstep.acting.registers import begin_write
from qstep.checks import integer
from qstep.config import Config
from qstep.devices.agents_device import LinkAgents
from qstep.link.exchange import PATIENCE
from qstep.link.ports import Port
from qstep.protocol import ANSWERS, ARGUMENTS, Request

__all__ = ["LinkLive"]


class LinkLive(LinkAgents):
    """The driver of a live world: same contract as :class:`qstep.acting.live.LiveModel`.

    Parameters
    ----------
    port : Port
        Carries the bytes; closed with the device.
    config : Config
        The configuration that the device must have been built from; its ``acting.world`` is ``live``.
    settings : sequence of AgentSettings
        One for each agent.
    patience : float
        Seconds without an answer before the first retry, in addition to the time on the line.
    build : str, optional
        The required build; by default any.

    Raises
    ------
    ConfigError
        The world of `config` is not live.
    ConfigError, DeviceError
        As for :class:`~qstep.devices.agents_device.LinkAgents`.
    """

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

    def begin(self, state: int, agent: int = 0) -> int:
        """Put an agent into the start state of an episode; return its first action there.

        An unfinished episode is abandoned without another update.
        """
        agent = integer("agent", agent, 0, len(self.settings) - 1)
        state = integer("state", state, 0, self.config.states - 1)
        # A draw for a step that was not made is used for this.
        place = begin_write(agent, self._context(0, agent))
        self._store(0, [place])
        self._has_begun[agent] = True
        return self._asked(Request.BEGIN, agent, state)

    def act(self, reward: float, next_state: int, terminated: bool, agent: int = 0) -> int:
        """Report the outcome of an agent's action, let it learn, and return its next action."""
        raw, next_state, agent = answer_of(self.config, reward, next_state, terminated, agent)
        check_begun(self._has_begun, agent)
        return self._asked(Request.ACT, agent, next_state, int(terminated), raw & 0xFFFFFFFF)

    def _asked(self, kind: Request, *arguments: int) -> int:
        layout = ANSWERS[kind]
        data = self._session.ask(kind, layout.size, ARGUMENTS[kind].pack(*arguments))
        (action,) = layout.unpack(data)
        return action

    # On the device every agent has a state: one that has not begun would begin as soon as another acts.

    @property
    def states(self) -> list[AgentState]:
        """The states of the agents, as copies."""
        return [
            replace(state, begun=begun)
            for state, begun in zip(super().states, self._has_begun, strict=True)
        ]

    def _put(self, parts: Parts) -> None:
        super()._put(parts._replace(states=[replace(state, begun=True) for state in parts.states]))
        self._has_begun = [state.begun for state in parts.states]
