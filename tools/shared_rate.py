"""Measure the steps per clock of agents with a shared table: python -m tools.shared_rate."""

from __future__ import annotations

from tb.random_world import random_world

from qstep.device.agents import LinkAgents
from qstep.device.registers import HOLDS
from qstep.mdp.memory import WorldTable
from qstep.mdp.world import World
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.memory_map import Region
from qstep.spec.settings import AgentSettings
from qstep_sim.port import SimPort

__all__ = ["main"]

_TURNS = 20_000
_MAZES = {25: "gridworld", 256: "gridworld-16x16", 1024: "gridworld-32x32"}


def _maze(states: int, agents: int) -> tuple[Config, WorldTable]:
    world = World.named(_MAZES[states])
    acting = world.acting(agents=agents, algorithm=Algorithm.Q_LEARNING, shared_table=True)
    config = Config(world.states, world.actions, "Q8.8", acting=acting)
    return config, world.table(config)


def _random(states: int, agents: int) -> tuple[Config, WorldTable]:
    acting = Acting(agents, shared_table=True, starts=states if states & (states - 1) == 0 else 16)
    config = Config(states, 4, "Q8.8", acting=acting)
    return config, random_world(config, 0, seed=5)


def _holds(device: LinkAgents) -> int:
    (holds,) = device._fetch(0, Region.COUNTERS, [HOLDS])
    return holds


def main() -> None:
    """Print a table of the steps per clock and holds per turn for each world and number of agents."""
    counts = (2, 4, 8, 16)
    print("| world | states |", *(f"{count} agents |" for count in counts))
    print("|---|---|" + "---|" * len(counts))
    for name, make in (("random", _random), ("maze", _maze)):
        for states in _MAZES:
            cells = []
            for agents in counts:
                config, world = make(states, agents)
                settings = [AgentSettings(0.5, 0.9, Epsilon(0.2), n) for n in range(agents)]
                port = SimPort(config)
                device = LinkAgents(port, config, world, settings)
                device.run(_TURNS // 20)
                clocks, holds = port.clocks, _holds(device)
                device.run(_TURNS)
                clocks, holds = port.clocks - clocks, _holds(device) - holds
                cells.append(f"{_TURNS * agents / clocks:.3f} ({holds / _TURNS:.2f}) |")
                port.close()
            print(f"| {name} | {states} |", *cells, flush=True)


if __name__ == "__main__":
    main()
