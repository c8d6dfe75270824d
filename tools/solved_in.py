"""Count the simulated chip's clocks until CartPole is solved, with separate and shared weights.

    python -m tools.solved_in

prints the table in docs/features.md. Sixteen agents learn in the integer version of CartPole. The
compiled model finds the number of steps after which a greedy policy first returns 475 on average in 100
episodes of Gymnasium's CartPole-v1. The simulated device then runs the same number of steps in a single
run, and must end with the same weights.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tb.equal_agents import differing

from qstep.device.agents import LinkAgents
from qstep.golden.tiled_fast import FastTiledModel
from qstep.learn.plan import AgentsPlan, Budget, planned
from qstep.mdp.tiled import TiledWorld
from qstep.spec.epsilon import Epsilon
from qstep.spec.integer_worlds import CART_POLE
from qstep.spec.settings import AgentSettings
from qstep_bench.demo import AGENTS, is_solved, play
from qstep_sim.port import SimPort


@dataclass(frozen=True)
class Case:
    """Runs of at most `most` steps per agent; the policies are evaluated every `piece` steps.

    `megahertz` is the post-route clock frequency of ulx3s-12f-cartpole with these weights, for the best
    of three seeds.
    """

    weights: str
    most: int
    piece: int
    runs: int
    megahertz: float


CASES = (Case("own", 30_000, 500, 1, 194.1), Case("shared", 3_000, 25, 16, 125.9))
RATE, GAMMA, EPSILON = 0.2, 0.99, 0.3
"""Learning rate, discount and epsilon, chosen with other seeds."""


def _plan(case: Case, seed: int) -> AgentsPlan:
    return planned(
        CART_POLE,
        budget=Budget(case.most),
        settings=[AgentSettings(RATE, GAMMA, Epsilon(EPSILON), seed + n) for n in range(AGENTS)],
        shared_table=case.weights == "shared",
        number_format="Q8.8",
    )


def _model(plan: AgentsPlan) -> FastTiledModel:
    assert isinstance(plan.loaded, TiledWorld)
    return FastTiledModel(plan.config, plan.loaded, plan.settings)


def _steps(case: Case, plan: AgentsPlan) -> list[int]:
    """Return the steps per agent after which each set of weights solves CartPole, sorted."""
    model = _model(plan)
    found: dict[int, int] = {}
    for steps in range(case.piece, case.most + 1, case.piece):
        model.run(case.piece)
        policies = play(plan.config, model.table)
        for own, played in enumerate(policies):
            if is_solved(played):
                found.setdefault(own, steps)
        if len(found) == len(policies):
            return sorted(found.values())
    sys.exit(f"{len(found)} of {len(policies)} solved CartPole within {steps} steps")


def _clocks(plan: AgentsPlan, steps: int) -> int:
    """Return the clocks of a run, including the few thousand until a request detects its end."""
    model = _model(plan)
    model.run(steps)
    port = SimPort(plan.config)
    with LinkAgents(port, plan.config, plan.loaded, plan.settings) as device:
        begun = port.clocks
        device.start(steps)
        while device.running:
            pass
        clocks = port.clocks - begun
        if wrong := differing(device, model):
            sys.exit(f"device and model differ in {wrong}")
    return clocks


def main() -> None:
    """Print the table."""
    print("| weights | steps of each agent | clocks | ms |")
    print("|---|---|---|---|")
    for case in CASES:
        solved = sorted(
            (steps, seed)
            for seed in range(10_000, 10_000 + case.runs * AGENTS, AGENTS)
            for steps in _steps(case, _plan(case, seed))
        )
        for name, at in (("first", 0), ("median", len(solved) // 2), ("last", -1)):
            steps, seed = solved[at]
            clocks = _clocks(_plan(case, seed), steps)
            print(
                f"| {case.weights}, the {name} of {len(solved)} | {steps:,} | {clocks:,} "
                f"| {clocks / case.megahertz / 1e3:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
