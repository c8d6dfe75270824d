"""Compare agents on the simulated chip with both models over ten million steps per algorithm and world.

    python -m tools.on_chip [STEPS]

STEPS is the total for all agents. The plain model, which is the definition, runs only the first
hundredth of the steps. In worlds with continuous states, values are sums over planes. There, each
algorithm also runs with shared weights, but only for a tenth of the steps, because shared weights are
many times slower to simulate. Double Q-learning does not support planes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from tb.equal_agents import differing

from qstep.device import open_agents
from qstep.golden.agents import ActingModel
from qstep.learn.plan import AgentsPlan, Budget, planned
from qstep.spec.agents import Algorithm
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentSettings

__all__ = ["WORLDS", "plan_of"]

WORLDS = ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v3", "gridworld-32x32")
TILED_WORLDS = ("CartPole-v1", "MountainCar-v0")
AGENTS = 16
STEPS = 10_000_000
_PLAIN = 100


def plan_of(
    world: str, algorithm: Algorithm, agents: int = AGENTS, *, shared_table: bool = False
) -> AgentsPlan:
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
    return planned(
        world,
        budget=Budget(1),
        settings=settings,
        algorithm=algorithm,
        shared_table=shared_table,
    )


def _differences(plan: AgentsPlan, steps: int) -> tuple[list[str], float]:
    """Return the differences after `steps` steps of all agents, and the chip's simulated steps/s."""
    agents = len(plan.settings)
    world = plan.loaded
    assert not isinstance(world, int)  # no live world
    plain = ActingModel(plan.config, world, plan.settings)
    fast = open_agents("model:", plan.config, world, plan.settings)
    first = steps // _PLAIN // agents
    rest = steps // agents - first
    for _ in plain.run(first):
        pass
    with open_agents("sim:", plan.config, world, plan.settings) as chip:
        chip.run(first, trace=False)
        wrong = [f"plain {what}" for what in differing(chip, plain)]
        begun = time.perf_counter()
        chip.run(rest, trace=False)
        rate = rest * agents / (time.perf_counter() - begun)
        fast.run(first + rest, trace=False)
        wrong += differing(chip, fast)
    return wrong, rate


def main(arguments: Sequence[str]) -> int:
    """Run all comparisons and print one line each; return 1 if anything differs."""
    steps = int(arguments[0]) if arguments else STEPS
    tables = [(world, algorithm, False) for world in WORLDS for algorithm in Algorithm]
    planes = [
        (world, algorithm, shared)
        for world in TILED_WORLDS
        for algorithm in Algorithm
        if algorithm is not Algorithm.DOUBLE_Q_LEARNING
        for shared in (False, True)
    ]
    failed = False
    print(
        "| world | algorithm | tables | steps | million steps/s, simulated "
        "| equal to plain, to compiled |"
    )
    print("|---|---|---|---|---|---|")
    for world, algorithm, shared in tables + planes:
        plan = plan_of(world, algorithm, shared_table=shared)
        wrong, rate = _differences(plan, made := steps // 10 if shared else steps)
        failed |= bool(wrong)
        print(
            f"| {world} | {algorithm.value} | {'shared' if shared else 'own'} | {made:,} "
            f"| {rate / 1e6:.2f} | {', '.join(wrong) or 'yes, yes'} |",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
