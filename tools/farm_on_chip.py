"""Compare a farm with the compiled model over ten million steps, first as a whole, then lane by lane.

    python -m tools.farm_on_chip [LANES [STEPS]]

The whole farm has four lanes on one simulated chip. A farm of LANES lanes is too large for that. But its
lanes are identical and share only the chain, so a simulated chip with one lane takes the role of each
lane in turn, with that lane's agents, settings and generators.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from tb.equal_agents import Held, differing
from tools.on_chip import plan_of

from qstep.device import open_agents
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.agents import LANE_AGENTS, Algorithm
from qstep.spec.settings import AgentCounters

WORLD = "gridworld"
WHOLE, LANES = 4, 52
STEPS = 10_000_000


def whole(lanes: int, steps: int) -> list[str]:
    """Return the differences for a simulated chip with all lanes; `steps` is the total of all agents."""
    plan = plan_of(WORLD, Algorithm.Q_LEARNING, lanes * LANE_AGENTS)
    assert plan.config.lanes == lanes
    assert plan.solvable is not None
    chip = open_agents("sim:", plan.config, plan.loaded, plan.settings)
    model = FastActingModel(plan.config, plan.solvable.table(plan.config), plan.settings)
    for device in (chip, model):
        device.run(steps // len(plan.settings), trace=False)
    wrong = differing(chip, model)
    chip.close()
    return wrong


def lane_by_lane(lanes: int, steps: int) -> list[str]:
    """Return the differences when the lanes are simulated one by one, each with its share of `steps`."""
    plan = plan_of(WORLD, Algorithm.Q_LEARNING, lanes * LANE_AGENTS)
    assert plan.solvable is not None
    assert plan.config.acting is not None
    table = plan.solvable.table(plan.config)
    model = FastActingModel(plan.config, table, plan.settings)
    first, zero = model.states, model.table.copy()
    model.run(steps // len(plan.settings))
    acting = replace(plan.config.acting, agents=LANE_AGENTS)
    config = replace(plan.config, acting=acting, lanes=1)
    wrong: list[str] = []
    for lane in range(lanes):
        own = slice(lane * LANE_AGENTS, (lane + 1) * LANE_AGENTS)
        chip = open_agents("sim:", config, table, plan.settings[own])
        chip.restore(zero[own], first[own], [AgentCounters()] * LANE_AGENTS)
        chip.run(steps // len(plan.settings), trace=False)
        held = Held(model.table[own], model.states[own], model.counters[own])
        wrong += [f"{what} of lane {lane}" for what in differing(held, chip)]
        chip.close()
    return wrong


def main(arguments: Sequence[str]) -> int:
    """Run both comparisons and print one line each; return 1 if anything differs."""
    given = [int(word) for word in arguments]
    lanes, steps = [*given, *(LANES, STEPS)[len(given) :]]
    wrong: list[str] = []
    for name, count, check in (("whole", WHOLE, whole), ("lane by lane", lanes, lane_by_lane)):
        begun = time.perf_counter()
        found = check(count, steps)
        seconds = time.perf_counter() - begun
        agents = count * LANE_AGENTS
        print(
            f"{name}: {count} lanes, {agents} agents, {steps // agents * agents:,} steps in "
            f"{seconds:.0f} s: {', '.join(found) or 'equal'}",
            flush=True,
        )
        wrong += found
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
