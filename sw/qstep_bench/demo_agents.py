"""The second part of the demonstration: agents that act and learn on the simulated chip."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qstep.device.agents import LinkAgents
from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import AgentsResult
from qstep.learn.evaluate import played
from qstep.learn.plan import Budget, planned
from qstep.learn.table import policy_table
from qstep.spec.config import Config
from qstep_bench.boards import load_reports

if TYPE_CHECKING:
    from qstep_fpga.report import BuildReport

__all__ = ["AGENTS", "STEPS", "OnChip", "boards_with_agents", "on_chip", "on_model"]

AGENTS = 16
STEPS = 20_000
"""Steps per agent."""

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


def on_model() -> tuple[AgentsResult, NDArray[np.float64], float]:
    """Train agents in the grid world on the model; return the last three fields of :class:`OnChip`."""
    plan = planned("gridworld", budget=Budget(STEPS), agents=AGENTS)
    assert plan.solvable is not None
    greedy = []
    with closing(AgentsRun("gridworld", "model", plan)) as run:
        run.open(None)
        for _ in run:
            table = run.checkpoint.arrays["table"]
            policies = policy_table(plan.config, table).argmax(axis=-1)
            greedy.append([played(plan.solvable, policy).mean_return for policy in policies])
        result = run.result()
        begun = time.process_time()
        run.device.run(_TIMED_STEPS, trace=False)
        rate = _TIMED_STEPS * AGENTS / (time.process_time() - begun)
        return result, np.array(greedy), rate


def on_chip() -> OnChip:
    """Train agents in the grid world on the model and on the simulated chip."""
    from qstep_sim.port import SimPort

    of_model = on_model()
    plan = of_model[0].plan
    port = SimPort(plan.config)
    with LinkAgents(port, plan.config, plan.loaded, plan.settings) as device:
        clocks, begun = port.clocks, time.process_time()
        device.run(STEPS)
        clocks, seconds = port.clocks - clocks, time.process_time() - begun
        return OnChip(clocks, seconds, device.table, *of_model)


def boards_with_agents() -> list[BuildReport]:
    """Return the stored reports of bitstreams with :data:`AGENTS` agents and a tabular world."""
    configs = [(report, Config.from_dict(report.config)) for report in load_reports(())]
    return [
        report
        for report, config in configs
        if config.acting is not None and config.acting.agents == AGENTS and config.acting.is_table
    ]
