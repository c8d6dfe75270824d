"""PQN: Q-learning with a network, online, on many boards at once; no replay, no target network.

What replay and target network do elsewhere, layer normalisation does here: it keeps the values from
running away when the network learns from its own opinion of the next state. So the transitions of N
boards over H steps can be learnt from as they come and be forgotten. In software it is what a stream of
transitions into an accelerator is in hardware.

Where it differs from the paper (Algorithm 1 and its appendix, and the authors' code):

- A truncated episode goes on in the value of the observation that it was cut off at; the authors'
  code takes it for terminated.
- The values of the next observations that the returns need are computed at once when the H steps are
  over; nothing has been learnt in between, so they are the same numbers.
- Linear layers start as PyTorch's do, not as Flax's.

References
----------
M. Gallici et al., "Simplifying Deep Temporal Difference Learning", ICLR 2025 (arXiv 2407.04811).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep.envs.boards import Boards
from qstep.errors import ConfigError

__all__ = ["Pqn", "PqnPlan", "Rollout", "lambda_returns", "normalised"]


@dataclass(frozen=True, slots=True)
class PqnPlan:
    """What a run is to do.

    Parameters
    ----------
    steps : int
        Steps of a board, all boards together; rounded up to whole rollouts.
    horizon : int
        H, steps of each board in a rollout.
    epochs : int
        How often a rollout is gone through.
    minibatches : int
        Pieces of a rollout, one update each; at most N * H.
    hidden : tuple of int
        Units of the hidden layers.
    learning_rate : float
        First one, above 0; it falls linearly to 0 over the run.
    gamma, decay : float
        Discount and the lambda of the returns, each 0..1; lambda 0 is one-step Q-learning.
    epsilon_start, epsilon_end, epsilon_share : float
        Exploration falls linearly from the first to the second over that share of the steps, each 0..1.
    reward_scale : float
        Rewards are learnt multiplied by it, so that values stay of the order of 1.
    gradient_norm : float
        A longer gradient is shortened to it.

    Raises
    ------
    ConfigError
        A value is out of range.
    """

    steps: int = 500_000
    horizon: int = 64
    epochs: int = 4
    minibatches: int = 16
    hidden: tuple[int, ...] = (128, 128)
    learning_rate: float = 1e-3
    gamma: float = 0.99
    decay: float = 0.95
    epsilon_start: float = 1.0
    epsilon_end: float = 0.05
    epsilon_share: float = 0.2
    reward_scale: float = 0.1
    gradient_norm: float = 10.0

    def __post_init__(self) -> None:
        for name in ("steps", "horizon", "epochs", "minibatches"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        for name in ("gamma", "decay", "epsilon_start", "epsilon_end", "epsilon_share"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be from 0 to 1")
        for name in ("learning_rate", "reward_scale", "gradient_norm"):
            if not getattr(self, name) > 0.0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be above 0")
        if not self.hidden or min(self.hidden) < 1:
            raise ConfigError(f"hidden is {self.hidden}; it must be one or more sizes, 1 or more")


class Rollout(NamedTuple):
    """What one rollout was.

    Attributes
    ----------
    steps : int
        Steps of a board since the run began.
    epsilon, loss : float
        Exploration in it, and the mean loss of its updates.
    scores : ndarray of int32, shape (K,)
        Of the episodes that ended in it, by time and then by board.
    """

    steps: int
    epsilon: float
    loss: float
    scores: NDArray[np.int32]


def normalised(sizes: Sequence[int], seed: int) -> nn.Sequential:
    """Make linear layers with layer normalisation and ReLU between them.

    The global generator is left as it was.
    """
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs), nn.LayerNorm(outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-2])


def lambda_returns(
    reward: Tensor, terminated: Tensor, truncated: Tensor, value: Tensor, gamma: float, decay: float
) -> Tensor:
    """Return what each step was worth: rewards to come, and ever more of the network's opinion.

    ``G[t] = reward[t] + gamma * (decay * G[t + 1] + (1 - decay) * value[t])``, where `value` is that
    of the observation the step led to, 0 counting where it terminated; at the end of an episode, and
    at the last step, ``value[t]`` stands for all that follows.

    Parameters
    ----------
    reward, value : Tensor of float32, shape (H, N)
    terminated, truncated : Tensor of bool, shape (H, N)
    gamma, decay : float
        0..1.
    """
    value = value.masked_fill(terminated, 0.0)
    weight = decay * ~(terminated | truncated)
    returns = torch.empty_like(reward)
    following = value[-1]
    for t in reversed(range(len(reward))):
        torch.lerp(value[t], following, weight[t], out=returns[t])
        following = returns[t].mul_(gamma).add_(reward[t])
    return returns


class Pqn:
    """Trains a network on boards; iterate over it to run, one rollout an iteration.

    Parameters
    ----------
    boards : Boards
        With observations of numbers; from then on used by this learner alone.
    plan : PqnPlan
    seed : int
        Of the network, of exploration and of the order in which a rollout is learnt.
    device : torch.device
        Of the network.

    Attributes
    ----------
    network : Sequential
        From observations (B, inputs) to values (B, actions), in units of scaled rewards.
    steps : int
        Steps of a board that are done.

    Raises
    ------
    ConfigError
        There are more minibatches than transitions in a rollout.
    """

    def __init__(self, boards: Boards, plan: PqnPlan, seed: int, device: torch.device) -> None:
        shape = (plan.horizon, len(boards))
        self._count = plan.horizon * len(boards)
        if plan.minibatches > self._count:
            raise ConfigError(
                f"minibatches is {plan.minibatches}; a rollout has only {self._count} transitions"
            )
        self.boards, self.plan, self.device = boards, plan, device
        self.network = normalised((boards.inputs, *plan.hidden, boards.actions), seed).to(device)
        self.optimiser = torch.optim.RAdam(self.network.parameters(), lr=plan.learning_rate)
        self.chance = np.random.default_rng(seed)
        self.steps = 0
        self._observation = np.zeros((*shape, boards.inputs), np.float32)
        self._next_observation = np.zeros((*shape, boards.inputs), np.float32)
        self._action = np.zeros(shape, np.int64)
        self._reward = np.zeros(shape, np.float32)
        self._terminated = np.zeros(shape, np.bool_)
        self._truncated = np.zeros(shape, np.bool_)

    def __iter__(self) -> Iterator[Rollout]:
        """Run the rollouts that are left."""
        while self.steps < self.plan.steps:
            epsilon, rate = self._schedules()
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            scores = self._collect(epsilon)
            self.steps += self._count
            yield Rollout(self.steps, epsilon, self._learn(), scores)

    def greedy(self, observation: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the actions of the highest values, shape (N,)."""
        with torch.inference_mode():
            best: NDArray[np.int64] = (
                self.network(self._on_device(observation)).argmax(1).cpu().numpy()
            )
        return best

    def _schedules(self) -> tuple[float, float]:
        """Return epsilon and the learning rate of the rollout that begins."""
        plan, done = self.plan, self.steps / self.plan.steps
        fallen = min(1.0, done / plan.epsilon_share) if plan.epsilon_share else 1.0
        epsilon = plan.epsilon_start + (plan.epsilon_end - plan.epsilon_start) * fallen
        return epsilon, plan.learning_rate * (1.0 - done)

    def _collect(self, epsilon: float) -> NDArray[np.int32]:
        """Play H steps on every board, write them down, and return the scores of what ended."""
        boards, scores = self.boards, []
        for t in range(self.plan.horizon):
            self._observation[t] = boards.observation
            self._action[t] = self._act(self._observation[t], epsilon)
            step = boards.step(self._action[t])
            self._next_observation[t] = step.next_observation
            self._reward[t] = step.reward
            self._terminated[t] = step.terminated
            self._truncated[t] = step.truncated
            scores.append(step.score[step.terminated | step.truncated])
        return np.concatenate(scores)

    def _act(self, observation: NDArray[np.float32], epsilon: float) -> NDArray[np.int64]:
        greedy = self.greedy(observation)
        random = self.chance.integers(self.boards.actions, size=len(greedy))
        return np.where(self.chance.random(len(greedy)) < epsilon, random, greedy)

    def _learn(self) -> float:
        """Go through the rollout; return the mean loss."""
        plan = self.plan
        observation = self._on_device(self._observation).flatten(0, 1)
        action = self._on_device(self._action).view(-1, 1)
        with torch.no_grad():
            following = self.network(self._on_device(self._next_observation).flatten(0, 1))
            returns = lambda_returns(
                self._on_device(self._reward) * plan.reward_scale,
                self._on_device(self._terminated),
                self._on_device(self._truncated),
                following.amax(dim=1).view(self._reward.shape),
                plan.gamma,
                plan.decay,
            ).view(-1, 1)
        total = torch.zeros((), device=self.device)
        for _ in range(plan.epochs):
            order = self._on_device(self.chance.permutation(self._count))
            for piece in order.tensor_split(plan.minibatches):
                taken = self.network(observation[piece]).gather(1, action[piece])
                loss = F.mse_loss(taken, returns[piece])
                self.optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(self.network.parameters(), plan.gradient_norm)
                self.optimiser.step()
                total += loss.detach()
        return float(total) / (plan.epochs * plan.minibatches)

    def _on_device(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(self.device)
