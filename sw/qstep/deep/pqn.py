"""PQN: Q-learning with a network, online, on many environments at once; no replay, no target network.

What replay and target network do elsewhere, layer normalisation does here: it keeps the values from
running away when the network learns from its own opinion of the next state. So the transitions of N
environments over H steps can be learnt from as they come and be forgotten. In software it is what a stream of
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

import copy
import time
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep.deep.learner import Ended, NetworkLearner, Policy
from qstep.deep.network import modules
from qstep.deep.pqn_config import PqnConfig
from qstep.deep.ranges import learning_rate_at
from qstep.envs.vector import VectorEnv
from qstep.errors import ConfigError

__all__ = ["Pqn", "lambda_returns"]


def lambda_returns(
    reward: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    value: Tensor,
    gamma: float,
    q_lambda: float,
) -> Tensor:
    """Return what each step was worth: rewards to come, and ever more of the network's opinion.

    ``G[t] = reward[t] + gamma * (q_lambda * G[t + 1] + (1 - q_lambda) * value[t])``, where `value` is
    that of the observation the step led to, 0 counting where it terminated; at the end of an episode,
    and at the last step, ``value[t]`` stands for all that follows.

    Parameters
    ----------
    reward, value : Tensor of float32, shape (H, N)
    terminated, truncated : Tensor of bool, shape (H, N)
    gamma, q_lambda : float
        0..1.
    """
    value = value.masked_fill(terminated, 0.0)
    weight = q_lambda * ~(terminated | truncated)
    returns = torch.empty_like(reward)
    following = value[-1]
    for t in reversed(range(len(reward))):
        torch.lerp(value[t], following, weight[t], out=returns[t])
        following = returns[t].mul_(gamma).add_(reward[t])
    return returns


class Pqn(NetworkLearner):
    """A run of PQN. Call :meth:`step` until :attr:`steps` has reached ``config.total_timesteps``.

    Parameters
    ----------
    envs : VectorEnv
        With observations of one number or more.
    config : PqnConfig
    device : torch.device
        Of the network; the environments are on the CPU.

    Attributes
    ----------
    network : torch.nn.Sequential
        From observations (B, inputs) to values (B, actions), of scaled rewards.

    Raises
    ------
    EnvironmentSpaceError
        The environments' observations are indices into a table.
    ConfigError
        There are more num_minibatches than transitions in a rollout.
    """

    def __init__(self, envs: VectorEnv, config: PqnConfig, device: torch.device) -> None:
        super().__init__(envs, device, config.seed)
        shape = (config.num_steps, envs.num_envs)
        count = config.num_steps * envs.num_envs
        if config.num_minibatches > count:
            raise ConfigError(
                f"num_minibatches is {config.num_minibatches}; a rollout has only {count} transitions"
            )
        self.config = config
        sizes = (envs.inputs, *config.hidden, envs.actions)
        self.network = modules(sizes, config.seed, normalise=True).to(device)
        self.optimiser = torch.optim.RAdam(self.network.parameters(), lr=config.learning_rate)
        self._observation = np.zeros((*shape, envs.inputs), np.float32)
        self._next_observation = np.zeros((*shape, envs.inputs), np.float32)
        self._action = np.zeros(shape, np.int64)
        self._reward = np.zeros(shape, np.float32)
        self._terminated = np.zeros(shape, np.bool_)
        self._truncated = np.zeros(shape, np.bool_)

    def step(self) -> Ended:
        """Take H steps with every environment and learn from them; return what ended."""
        epsilon = self.config.epsilon.at(self.steps, self.config.total_timesteps)
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate_at(self.config, self.steps)
        ended = [self._play(t, epsilon) for t in range(self.config.num_steps)]
        began = time.perf_counter()
        self._learn()
        self.seconds["learn"] += time.perf_counter() - began
        self.steps += self._reward.size
        return Ended(*(np.concatenate(columns) for columns in zip(*ended, strict=True)))

    def greedy(self, observation: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the actions of the highest values, shape (N,)."""
        with torch.inference_mode():
            values = self.network(self._on_device(observation))
            best: NDArray[np.int64] = values.argmax(dim=1).cpu().numpy()
        return best

    def policy(self, num_envs: int) -> Policy:
        """Return :meth:`greedy`: it takes any number of environments."""
        return self.greedy

    def to_modules(self) -> nn.Sequential:
        """Return a copy of :attr:`network`, on the CPU."""
        return copy.deepcopy(self.network).cpu()

    def _play(self, t: int, epsilon: float) -> Ended:
        """Take one step with every environment and write it down."""
        began = time.perf_counter()
        self._observation[t] = self.envs.observation
        self._action[t] = self._explore(self.greedy(self._observation[t]), epsilon)
        selected = time.perf_counter()
        step = self.envs.step(self._action[t])
        stepped = time.perf_counter()
        self._next_observation[t] = step.next_observation
        self._reward[t] = step.reward
        self._terminated[t] = step.terminated
        self._truncated[t] = step.truncated
        ended = self._count(step)
        self.seconds["select"] += selected - began
        self.seconds["step"] += stepped - selected
        self.seconds["store"] += time.perf_counter() - stepped
        return ended

    def _learn(self) -> None:
        """Go through the rollout, `update_epochs` times."""
        config = self.config
        observation = self._on_device(self._observation).flatten(0, 1)
        action = self._on_device(self._action).view(-1, 1)
        with torch.no_grad():
            following = self.network(self._on_device(self._next_observation).flatten(0, 1))
            returns = lambda_returns(
                self._on_device(self._reward) * config.reward_scale,
                self._on_device(self._terminated),
                self._on_device(self._truncated),
                following.amax(dim=1).view(self._reward.shape),
                config.gamma,
                config.q_lambda,
            ).view(-1, 1)
        for _ in range(config.update_epochs):
            order = self._on_device(self.generator.permutation(self._reward.size))
            for piece in order.tensor_split(config.num_minibatches):
                taken = self.network(observation[piece]).gather(1, action[piece])
                loss = F.mse_loss(taken, returns[piece])
                self.optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(self.network.parameters(), config.max_grad_norm)
                self.optimiser.step()
                self.updates += 1

    def _on_device(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _tensors(self) -> dict[str, Tensor]:
        """Return the parameters, and for each the optimiser's means and count."""
        tensors: dict[str, Tensor] = {}
        for name, parameter in self.network.named_parameters():
            tensors[name] = parameter
            had = self.optimiser.state[parameter]
            if not had:  # as the optimiser itself does before its first step
                had["step"] = torch.zeros(())
                had["exp_avg"] = torch.zeros_like(parameter)
                had["exp_avg_sq"] = torch.zeros_like(parameter)
            tensors |= {
                f"radam.{name}.{key}": had[key] for key in ("step", "exp_avg", "exp_avg_sq")
            }
        return tensors
