"""Compare agents on the simulated chip with both models, ten million steps per algorithm and world.

    python -m tools.on_chip [STEPS]

STEPS counts all agents together. The plain model, which is the definition, runs only the first
hundredth.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from tb.equal_agents import differing

from qstep.device import open_agents
from qstep.golden.agents import ActingModel
from qstep.golden.agents_fast import FastActingModel
from qstep.learn.plan import AgentsPlan, Budget, planned
from qstep.spec.agents import Algorithm
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentSettings

__all__ = ["WORLDS", "plan_of"]

WORLDS = ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v3", "gridworld-32x32")
AGENTS = 16
STEPS = 10_000_000
_PLAIN = 100


def plan_of(world: str, algorithm: Algorithm, agents: int = AGENTS) -> AgentsPlan:
    """Return a plan whose agents differ in every per-agent setting."""
    settings = [
        AgentSettings(
            alpha=(1 + number % 32) / 32,
            gamma=1 - (1 + number % 32) / 64,
            epsilon=Epsilon(1.0, number % 100 / 100, ("linear", "exponential")[number % 2], 10_000),
            seed=number,
        )
        for number in range(agents)
    ]
    return planned(world, budget=Budget(1), settings=settings, algorithm=algorithm)


def main(arguments: Sequence[str]) -> int:
    """Run all comparisons and print one line each; return 1 if anything differs."""
    steps = int(arguments[0]) if arguments else STEPS
    failed = False
    print(
        "| world | algorithm | steps | million steps/s, simulated | equal to plain, to compiled |"
    )
    print("|---|---|---|---|---|")
    for world in WORLDS:
        for algorithm in Algorithm:
            plan = plan_of(world, algorithm)
            assert plan.solvable is not None
            table = plan.solvable.table(plan.config)
            plain = ActingModel(plan.config, table, plan.settings)
            fast = FastActingModel(plan.config, table, plan.settings)
            chip = open_agents("sim:", plan.config, table, plan.settings)
            first = steps // _PLAIN // AGENTS
            rest = steps // AGENTS - first
            for _ in plain.run(first):
                pass
            chip.run(first, trace=False)
            wrong = [f"plain {what}" for what in differing(chip, plain)]
            begun = time.perf_counter()
            chip.run(rest, trace=False)
            rate = rest * AGENTS / (time.perf_counter() - begun)
            fast.run(first + rest)
            wrong += differing(chip, fast)
            chip.close()
            failed |= bool(wrong)
            print(
                f"| {world} | {algorithm.value} | {steps:,} | {rate / 1e6:.2f} "
                f"| {', '.join(wrong) or 'yes, yes'} |",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
