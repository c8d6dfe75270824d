"""Train every algorithm on every kind of world; check the greedy policies against value iteration.

    python -m tools.learning

prints the table in docs/training.md. All runs use eight agents on the compiled model, with seed 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import qstep
from qstep.learn.table_result import TableResult
from qstep.spec.agents import Algorithm
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentSettings

__all__ = ["CASES", "Case", "learnt"]

AGENTS = 8


@dataclass(frozen=True)
class Case:
    """A world, an algorithm and its settings; `steps` is the number of steps per agent."""

    world: str
    algorithm: Algorithm
    number_format: str
    alpha: float
    gamma: float
    epsilon: Epsilon
    steps: int


def _falling(start: float, end: float, over: int) -> Epsilon:
    return Epsilon(start, end, "linear", over)


Q, SARSA, EXPECTED, DOUBLE = Algorithm

CASES = (
    # Slippery: a small alpha averages out slips, and on-policy algorithms need a small, constant final
    # epsilon.
    *(
        Case("FrozenLake-v1", a, "Q2.18", 0.0098, 0.95, _falling(0.5, 0.003, 3_200_000), 8_000_000)
        for a in Algorithm
    ),
    # A cliff: an on-policy algorithm walks along the edge only if it hardly ever explores. An all-zero
    # table is optimistic here, which makes agents explore anyway.
    Case("CliffWalking-v1", Q, "Q9.7", 0.5, 0.9, _falling(1.0, 0.0, 160_000), 200_000),
    Case("CliffWalking-v1", SARSA, "Q9.7", 0.5, 0.9, Epsilon(0.0), 1_000_000),
    Case("CliffWalking-v1", EXPECTED, "Q9.7", 0.5, 0.9, Epsilon(0.001), 1_000_000),
    Case("CliffWalking-v1", DOUBLE, "Q9.7", 0.5, 0.9, _falling(1.0, 0.0, 800_000), 1_000_000),
    # 300 start states.
    *(
        Case("Taxi-v3", a, "Q6.14", 0.05, 0.9, _falling(0.3, 0.0, 8_000_000), 8_000_000)
        for a in Algorithm
    ),
    # 1024 states, and a path of 74 moves.
    Case("gridworld-32x32", Q, "Q8.8", 0.5, 0.98, _falling(0.1, 0.0, 3_200_000), 4_000_000),
    Case("gridworld-32x32", SARSA, "Q8.8", 0.5, 0.98, Epsilon(0.0), 4_000_000),
    Case("gridworld-32x32", EXPECTED, "Q8.8", 0.5, 0.98, _falling(0.1, 0.0, 3_200_000), 4_000_000),
    Case("gridworld-32x32", DOUBLE, "Q8.8", 0.5, 0.98, _falling(1.0, 0.0, 8_000_000), 8_000_000),
)


def learnt(case: Case) -> TableResult:
    """Train the agents of a case, and return the result."""
    return qstep.train(
        case.world,
        steps=case.steps,
        agents=AGENTS,
        algorithm=case.algorithm,
        settings=AgentSettings(case.alpha, case.gamma, case.epsilon),
        number_format=case.number_format,
    )


def main() -> None:
    """Print the table, one line per case."""
    print("| world | algorithm | format | alpha | gamma | epsilon | steps an agent | optimal "
          "| within 1 % | million steps/s |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    for case in CASES:
        found = learnt(case).summary()
        epsilon = case.epsilon
        falls = f"{epsilon.start:g}"
        if epsilon.kind == "linear":
            falls += f" to {epsilon.end:g} in {epsilon.over:,}"
        print(
            f"| {case.world} | {case.algorithm.value} | {case.number_format} | {case.alpha:g} "
            f"| {case.gamma:g} | {falls} | {case.steps:,} | {found['optimal_agents']} of {AGENTS} "
            f"| {found['near_agents']} of {AGENTS} | {found['steps_per_second'] / 1e6:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
