"""The second part of the demonstration: agents that act and learn on the simulated chip."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qstep.acting.fast_model import FastActingModel
from qstep.acting.plan import AgentsPlan, planned
from qstep.acting.training import Budget
from qstep.acting.world import World
from qstep.bench.boards import load_reports
from qstep.config import Config
from qstep.devices.agents_device import LinkAgents
from qstep.learn.value_iteration import solve, start_value
from qstep.table import policy_table

if TYPE_CHECKING:
    from qstep_fpga.report import BuildReport

__all__ = ["AGENTS", "STEPS", "OnChip", "boards_with_agents", "on_chip"]

AGENTS = 16
STEPS = 20_000
"""Of each agent."""

_SLACK = 1e-9
"""Values of a policy and of the optimum are computed in another order."""


@dataclass(frozen=True, slots=True)
class OnChip:
    """What the agents did.

    Attributes
    ----------
    clocks : int
        Of the simulated device, from the request to run to the answer that all steps are made.
    seconds : float
        That this took here.
    optimal : int
        Agents whose greedy policy is value iteration's from the start.
    entries, differing : int
        Of all tables; and how many of them are not equal to the compiled model's.
    """

    clocks: int
    seconds: float
    optimal: int
    entries: int
    differing: int


def on_chip() -> OnChip:
    """Let agents learn the grid world on the simulated chip, and on the model."""
    from qstep_sim.port import SimPort

    world = World.named("gridworld")
    plan = planned(world, budget=Budget(steps=STEPS), agents=AGENTS)
    table = world.table(plan.config)
    port = SimPort(plan.config)
    with LinkAgents(port, plan.config, table, plan.settings) as device:
        clocks, begun = port.clocks, time.perf_counter()
        device.run(STEPS)
        clocks, seconds = port.clocks - clocks, time.perf_counter() - begun
        learnt = device.table
    model = FastActingModel(plan.config, table, plan.settings)
    model.run(STEPS)
    return OnChip(
        clocks,
        seconds,
        _optimal(world, plan, learnt),
        learnt.size,
        int(np.count_nonzero(learnt != model.table)),
    )


def boards_with_agents() -> list[BuildReport]:
    """Return the kept reports of bitstreams that have as many agents, in any world from tables."""
    configs = [(report, Config.from_dict(report.config)) for report in load_reports(())]
    return [
        report
        for report, config in configs
        if config.acting is not None and config.acting.agents == AGENTS and config.acting.is_table
    ]


def _optimal(world: World, plan: AgentsPlan, learnt: NDArray[np.int32]) -> int:
    gamma = plan.settings[0].gamma
    best = world.start @ solve(world, gamma).values
    policies = policy_table(plan.config, learnt).argmax(axis=-1)
    values = [start_value(world, policy, gamma) for policy in policies]
    return sum(bool(value >= best - _SLACK) for value in values)
