"""The demonstration: agents learn CartPole, which needs tile coding, on the simulated chip."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from qstep.device.agents import LinkAgents
from qstep.envs.catalogue import record_of
from qstep.golden.agents import ActingModel
from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import AgentsResult
from qstep.learn.evaluate import Evaluation, played_by_tiles
from qstep.learn.plan import AgentsPlan, Budget, planned, usual_settings
from qstep.learn.run import finished
from qstep.learn.table import policy_table
from qstep.spec.config import Config
from qstep.spec.integer_worlds import CART_POLE

__all__ = [
    "AGENTS",
    "STEPS",
    "OnChip",
    "is_solved",
    "on_chip",
    "on_model",
    "plain_rate",
    "plan",
    "play",
]

AGENTS = 16
STEPS = 100_000
"""Steps per agent."""

_PIECES = 4
_EPISODES = 100
_PLAIN_TURNS = 100
"""Steps per agent for timing the model in plain Python."""


@dataclass(frozen=True, slots=True)
class OnChip:
    """Result of the agents' run.

    Attributes
    ----------
    clocks : int
        Clocks that the steps took on the simulated device, including communication over the link.
    seconds : float
        Processor time of the simulation on this machine.
    table : ndarray of int32, shape (AGENTS, T, S, A)
        Weights of the simulated device.
    model : AgentsResult
        The same run on the compiled model.
    played : list of Evaluation
        Evaluation in Gymnasium's CartPole-v1 of each agent's policy, which uses the device's weights.
    """

    clocks: int
    seconds: float
    table: NDArray[np.int32]
    model: AgentsResult
    played: list[Evaluation]

    @property
    def differing(self) -> int:
        """Number of the device's weights that differ from the model's."""
        return int(np.count_nonzero(self.table != self.model.table))

    @property
    def returns(self) -> NDArray[np.float64]:
        """Mean return of each agent's episodes."""
        return np.array([own.mean_return for own in self.played])

    @property
    def solved(self) -> int:
        """Number of agents that solve CartPole."""
        return sum(map(is_solved, self.played))

    @property
    def middle(self) -> int:
        """Index of the agent with the median return."""
        return int(np.argsort(self.returns, kind="stable")[(AGENTS - 1) // 2])


def plan() -> AgentsPlan:
    """Return the plan: :data:`AGENTS` agents with separate weights, and CartPole's usual settings."""
    settings = usual_settings(CART_POLE.env_id)
    return planned(CART_POLE, budget=Budget(STEPS), agents=AGENTS, settings=settings)


def plain_rate() -> float:
    """Return the steps per second of processor time of the model in plain Python."""
    own = plan()
    assert not isinstance(own.loaded, int)
    model, begun = ActingModel(own.config, own.loaded, own.settings), time.process_time()
    deque(model.run(_PLAIN_TURNS), maxlen=0)
    return AGENTS * _PLAIN_TURNS / (time.process_time() - begun)


def on_model() -> AgentsResult:
    """Train the agents on the compiled model."""
    result = finished(AgentsRun(CART_POLE.env_id, "model", plan()))
    assert isinstance(result, AgentsResult)
    return result


def on_chip(progress: Callable[[int], object]) -> OnChip:
    """Train on the model and the simulated chip; call `progress` with the steps per agent so far."""
    from qstep_sim.port import SimPort

    model = on_model()
    own, port = model.plan, SimPort(model.config)
    with LinkAgents(port, own.config, own.loaded, own.settings) as device:
        clocks, begun = port.clocks, time.process_time()
        for piece in range(_PIECES):
            device.run(STEPS // _PIECES)
            progress((piece + 1) * (STEPS // _PIECES))
        clocks, seconds = port.clocks - clocks, time.process_time() - begun
        table = device.table
    return OnChip(clocks, seconds, table, model, play(own.config, table))


def play(config: Config, table: NDArray[np.int32]) -> list[Evaluation]:
    """Play 100 episodes of Gymnasium's CartPole-v1 with each agent's policy, given its raw weights."""
    weights = config.format.to_float(policy_table(config, table))
    envs = gym.make_vec(CART_POLE.env_id, num_envs=len(weights) * _EPISODES)
    return played_by_tiles(envs, weights, CART_POLE.tiles, seed=0)


def is_solved(played: Evaluation) -> bool:
    """Return whether a policy reaches the mean return that counts as solved."""
    record = record_of(CART_POLE.env_id)
    assert record is not None
    assert record.reward_threshold is not None
    return played.mean_return >= record.reward_threshold
