"""The first part of the demonstration: agents act and learn on the simulated chip, on a small map."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qstep.device.agents import LinkAgents
from qstep.envs import MAPS, GridWorld
from qstep.envs.rendering import FREE, START
from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import AgentsResult
from qstep.learn.evaluate import played
from qstep.learn.plan import AgentsPlan, Budget, planned
from qstep.learn.plots import learnt
from qstep.learn.table import policy_table

__all__ = ["AGENTS", "STEPS", "OnChip", "arrows", "on_chip", "on_model", "plan", "world"]

AGENTS = 16
STEPS = 20_000
"""Steps per agent."""

_NAME = "gridworld"
_ARROWS = "↑↓←→"
_TIMED_STEPS = 1 << 20
"""Additional steps per agent for timing the model; they take a twentieth of a second."""


@dataclass(frozen=True, slots=True)
class OnChip:
    """Result of the agents' run.

    Attributes
    ----------
    clocks : int
        Clocks of the simulated device from the run request until it reports that all steps are done.
    seconds : float
        Processor time of the simulation on this machine.
    table : ndarray of int32, shape (AGENTS, S, A)
        Tables of the simulated device.
    model : AgentsResult
        The same run on the compiled model.
    greedy : ndarray of float64, shape (points, AGENTS)
        Episode return of each agent's greedy policy, at each recorded point of the model's run.
    model_rate : float
        Steps of the compiled model per second of processor time, on one core of this machine.
    """

    clocks: int
    seconds: float
    table: NDArray[np.int32]
    model: AgentsResult
    greedy: NDArray[np.float64]
    model_rate: float

    @property
    def steps(self) -> int:
        """Total number of steps of all agents."""
        return self.model.steps

    @property
    def differing(self) -> int:
        """Number of the device's table entries that differ from the model's."""
        return int(np.count_nonzero(self.table != self.model.table))

    @property
    def optimal(self) -> int:
        """Number of agents whose final greedy policy is optimal from the start."""
        return sum(steps is not None for steps in self.model.optimal_after())

    @property
    def middle(self) -> NDArray[np.int32]:
        """Table of the median agent on the device, shape (S, A)."""
        table: NDArray[np.int32] = self.table[self.model.median_agent]
        return table


def world() -> GridWorld:
    """Return the map."""
    return GridWorld(MAPS[_NAME], source=_NAME)


def plan() -> AgentsPlan:
    """Return the plan: :data:`AGENTS` agents with separate tables, and the usual settings."""
    return planned(_NAME, budget=Budget(STEPS), agents=AGENTS)


def on_model() -> tuple[AgentsResult, NDArray[np.float64], float]:
    """Train the agents on the model; return the last three fields of :class:`OnChip`."""
    own = plan()
    assert own.solvable is not None
    greedy = []
    with closing(AgentsRun(_NAME, "model", own)) as run:
        run.open(None)
        for _ in run:
            table = run.checkpoint.arrays["table"]
            policies = policy_table(own.config, table).argmax(axis=-1)
            greedy.append([played(own.solvable, policy).mean_return for policy in policies])
        result = run.result()
        begun = time.process_time()
        run.device.run(_TIMED_STEPS, trace=False)
        rate = _TIMED_STEPS * AGENTS / (time.process_time() - begun)
        return result, np.array(greedy), rate


def on_chip() -> OnChip:
    """Train the agents on the model and on the simulated chip."""
    from qstep_sim.port import SimPort

    of_model = on_model()
    own = of_model[0].plan
    port = SimPort(own.config)
    with LinkAgents(port, own.config, own.loaded, own.settings) as device:
        clocks, begun = port.clocks, time.process_time()
        device.run(STEPS)
        clocks, seconds = port.clocks - clocks, time.process_time() - begun
        return OnChip(clocks, seconds, device.table, *of_model)


def arrows(world: GridWorld, q: NDArray[np.int32]) -> list[str]:
    """Return the map, one line of text per row, with the greedy action of each learned cell.

    Parameters
    ----------
    world : GridWorld
    q : ndarray of int32, shape (S, 4)
        Raw values. A cell keeps its letter unless it is :func:`~qstep.learn.plots.learnt`.
    """
    cells = list("".join(world.rows))
    known = learnt(q)
    for state, cell in enumerate(cells):
        if cell in (FREE, START) and known[state]:
            cells[state] = _ARROWS[int(q[state].argmax())]
    width = world.shape[1]
    return [" ".join(cells[k : k + width]) for k in range(0, len(cells), width)]
