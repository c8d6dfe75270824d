"""Items exchanged between the parts of the interleaved lane's pyuvm environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyuvm import uvm_sequence_item

from qstep.acting.agent import AgentCounters, AgentSettings, AgentState
from qstep.acting.model import Step

__all__ = [
    "ACTS",
    "ASKED",
    "CHOOSES",
    "CLOCK",
    "FINISH",
    "READY",
    "STEP",
    "TERMINATED",
    "Checked",
    "Compared",
    "Job",
    "Look",
    "Setting",
    "Setup",
]

CLOCK = np.dtype(
    [
        ("edge", "<u4"),
        ("flags", "u1"),
        ("action", "u1"),
        ("deed", "<u2"),
        ("state", "<u2"),
        ("next_state", "<u2"),
        ("reward", "<i4"),
    ]
)
"""A slot in stage 10, as ``seen_o`` of ``qs_agents_bench`` lays it out.

``flags`` has the agent in its upper half. ``deed`` is ``deed_t`` of ``qs_agents_pkg``: what the slot is
to do, done only if it acts.
"""

ASKED, READY, TERMINATED, ACTS = 1, 2, 4, 8
"""Bits of ``flags``."""

CHOOSES, FINISH, STEP = 1 << 2, 1 << 3, 1 << 6
"""Bits of ``deed``."""


class Setup(uvm_sequence_item):
    """Writes settings, states, counters and tables of all agents.

    Parameters
    ----------
    name : str
    settings : sequence of AgentSettings
        One for each agent.
    table : ndarray of int32
        All tables.
    """

    def __init__(
        self, name: str, settings: Sequence[AgentSettings], table: NDArray[np.int32]
    ) -> None:
        super().__init__(name)
        self.settings, self.table = settings, table


class Job(uvm_sequence_item):
    """A run, followed by a look at the whole state of the agents.

    Parameters
    ----------
    name : str
    steps : int
        Of each agent.
    late : int
        The world is late with probability `late` / 256.
    stop_after : int, optional
        Stop so many clocks after the run began.
    """

    def __init__(
        self, name: str, steps: int, *, late: int = 0, stop_after: int | None = None
    ) -> None:
        super().__init__(name)
        self.steps, self.late, self.stop_after = steps, late, stop_after


@dataclass(frozen=True, slots=True)
class Setting:
    """The agents' settings and state from `edge` on."""

    edge: int
    name: str
    settings: Sequence[AgentSettings]
    table: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Look:
    """State of the agents after `edge`, while the lane was idle.

    Attributes
    ----------
    steps : int or None
        What each agent was to make; None after a stop.
    stopped : int or None
        The edge of the stop.
    drawn : list of bool
        The agent has drawn for a step that it has not made.
    holds : int
        Slots of a shared table that were held since reset.
    """

    edge: int
    name: str
    steps: int | None
    stopped: int | None
    states: list[AgentState]
    drawn: list[bool]
    counters: list[AgentCounters]
    table: NDArray[np.int32]
    holds: int


@dataclass(frozen=True, slots=True)
class Compared:
    """A look that the scoreboard found correct, for coverage.

    Attributes
    ----------
    look : Look
    first, turn : int
        Agents of a shared table: the one that began the run, and the next one.
    """

    look: Look
    first: int
    turn: int


@dataclass(frozen=True, slots=True)
class Checked:
    """A step that the scoreboard found correct, for coverage.

    Attributes
    ----------
    step : Step
    settings : AgentSettings
        Of its agent.
    waits : int
        How often the world was late before it answered.
    epsilon : tuple of int
        Before the step and after it.
    same : bool
        The agent's next step uses the entry that the step wrote.
    last : bool
        The step is the last one that the limit of the episode allows.
    saturated : str
        ``none``, ``up`` or ``down``.
    """

    step: Step
    settings: AgentSettings
    waits: int
    epsilon: tuple[int, int]
    same: bool
    last: bool
    saturated: str
