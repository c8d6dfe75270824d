"""Soft actor-critic (SAC): continuous actions from a network that also learns how random they are.

Two critics estimate the soft value of an action: the discounted rewards after it, plus a *temperature*
times the entropy of the later actions. The policy, a Gaussian squashed by tanh, maximises the lower of
the two estimates plus its own entropy. The temperature rises while the policy's entropy is below its
target, minus the number of action dimensions. This is the second version of the algorithm, without a
value network and with a learned temperature, as in CleanRL's ``sac_continuous_action.py`` and
Stable-Baselines3.

In this module, actions and bounded observations are scaled to -1..1, and log-probabilities refer to
these units. The target at the end of a truncated episode includes the value of the last observation.

These measures make the code fast, and change the results only by rounding:

- Both critics are one network of stacked matrices.
- A network's parameters are one vector, and so are their gradients, so Adam and the update of the
  targets are one operation each.
- The policy's gradient is computed through the critics without computing their own gradients.
- No tensor is converted to a Python number.

References
----------
T. Haarnoja et al., "Soft Actor-Critic Algorithms and Applications", arXiv 1812.05905, 2018.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep.deep.config import SacConfig
from qstep.deep.fast.network import Adam
from qstep.deep.learner import Ended, Stored, VectorLearner
from qstep.deep.network import BoxSpaces, Envs, Policy, greedy, modules
from qstep.deep.replay import Replay
from qstep.errors import ConfigError

__all__ = ["Critics", "Drawn", "Sac", "draw"]

_LOG_STD_MIDDLE, _LOG_STD_HALF = -1.5, 3.5
"""The logarithm of the standard deviation before tanh ranges from -5 to 2, as in CleanRL."""


class Drawn(NamedTuple):
    """Actions of a policy for B observations."""

    action: Tensor  # (B, A), each number -1..1
    log_probability: Tensor  # (B,), the log-density of the scaled action


def draw(policy: nn.Module, observation: Tensor, noise: Tensor) -> Drawn:
    """Draw differentiable actions from a policy.

    The policy outputs A means, and A numbers whose tanh is scaled to the range of the logarithm of the
    standard deviation. `noise`, shape (B, A), is standard normal.
    """
    mean, spread = policy(observation).chunk(2, -1)
    log_std = torch.tanh(spread) * _LOG_STD_HALF + _LOG_STD_MIDDLE
    raw = torch.addcmul(mean, log_std.exp(), noise)
    # log(1 - tanh(x)^2) is 2 log 2 - 2 (x + softplus(-2 x)), exact even if tanh rounds to 1.
    squashing = raw + F.softplus(-2.0 * raw)
    varying = torch.sub(log_std + 0.5 * noise.square(), squashing, alpha=2.0).sum(-1)
    constant = noise.shape[-1] * (2.0 * math.log(2.0) + 0.5 * math.log(2.0 * math.pi))
    return Drawn(torch.tanh(raw), -constant - varying)


class Critics(nn.Module):
    """Two networks in one; they map B observations and actions to values of shape (2, B)."""

    def __init__(self, sizes: Sequence[int], seeds: Sequence[int]) -> None:
        super().__init__()
        both = [
            [own for own in modules(sizes, seed) if isinstance(own, nn.Linear)] for seed in seeds
        ]
        pairs = list(zip(*both, strict=True))
        self.weights = nn.ParameterList(
            torch.stack([own.weight.t() for own in pair]) for pair in pairs
        )
        self.biases = nn.ParameterList(
            torch.stack([own.bias[None] for own in pair]) for pair in pairs
        )

    def forward(self, observation: Tensor, action: Tensor) -> Tensor:
        values = torch.cat((observation, action), -1).expand(2, -1, -1)
        *inner, last = zip(self.biases, self.weights, strict=True)
        for bias, weight in inner:
            values = torch.baddbmm(bias, values, weight).relu_()
        bias, weight = last
        values = torch.baddbmm(bias, values, weight)
        return values.squeeze(-1)


def _joined(parts: Sequence[nn.Parameter]) -> Tensor:
    """Return parameters as one vector, of which they become views."""
    flat = nn.utils.parameters_to_vector(parts).detach()
    nn.utils.vector_to_parameters(flat, parts)
    return flat


class _Trained:
    """A network's parameters and their gradients, each as one vector, and Adam."""

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self._parts = list(parameters)
        self.flat = _joined(self._parts)
        self.gradient = torch.zeros_like(self.flat)
        self.adam = Adam(self.flat, self.gradient)
        gradients = torch.split(self.gradient, [part.numel() for part in self._parts])
        for part, gradient in zip(self._parts, gradients, strict=True):
            part.grad = gradient.view_as(part)

    def descend(self, loss: Tensor, rate: float) -> None:
        """Take a gradient step on the loss for these parameters; compute no other gradients."""
        self.gradient.zero_()
        loss.backward(inputs=self._parts)  # type: ignore[no-untyped-call]  # PyTorch has no types for it
        self.adam.step(rate)


class Sac(VectorLearner):
    """A run of SAC; `actor` is the policy network and reads scaled observations; see :func:`draw`."""

    SPACES = BoxSpaces
    spaces: BoxSpaces
    config: SacConfig

    def __init__(self, envs: Envs, config: SacConfig, device: torch.device) -> None:
        super().__init__(envs, config, device)
        capacity = min(config.buffer_size, config.total_timesteps + envs.num_envs)
        if envs.num_envs > capacity:
            raise ConfigError(
                f"num_envs is {envs.num_envs}; it must be from 1 to buffer_size, {capacity}"
            )
        inputs, width = self.spaces.inputs, self.spaces.actions
        self.replay = Replay(capacity, inputs, config.gradient_steps, config.batch_size, width)
        seed, *seeds = self.generator.integers(1 << 63, size=3).tolist()
        self.actor = modules((inputs, *config.hidden, 2 * width), seed).to(device)
        sizes = (inputs + width, *config.hidden, 1)
        self.critics, self.targets = (Critics(sizes, seeds).to(device) for _ in range(2))
        first = torch.tensor(math.log(config.temperature), device=device)
        self.log_temperature = nn.Parameter(first)
        self._trained = {
            "actor": _Trained(self.actor.parameters()),
            "critics": _Trained(self.critics.parameters()),
            "temperature": _Trained([self.log_temperature]),
        }
        self._moving = _joined(list(self.targets.parameters()))
        self._held = np.zeros((envs.num_envs, width), np.float32)
        self._losses = [torch.zeros((), device=device)] * 2
        # After a block of this size has been freed, Linux's C library reuses the memory that an update
        # frees. Otherwise, with 256 units, obtaining cleared memory takes a sixth of the time.
        torch.empty(31 << 20, dtype=torch.uint8)

    def step(self) -> Ended:
        config, now = self.config, time.perf_counter()
        scaled = self.spaces.observed.inside
        seen = scaled(self.observation)
        action = self._random() if self.epsilon else self._drawn(seen)
        now = self._spend("select", now)
        step = self._move(self.spaces.chosen(self.spaces.acted.outside(action)))
        now = self._spend("step", now)
        discount = np.where(step.terminated, np.float32(0), np.float32(config.gamma))
        reward = step.reward * np.float32(config.reward_scale)
        self.replay.push_batch(seen, action, reward, scaled(step.next_observation), discount)
        self.steps += len(seen)
        ended = self._count(step)
        now = self._spend("store", now)
        if self.steps >= config.learning_starts:
            self._learn()
        self._spend("learn", now)
        return ended

    def _random(self) -> NDArray[np.float32]:
        """Return uniformly random actions, which change every `action_hold` steps of an environment."""
        if self.steps // self.num_envs % self.config.action_hold == 0:
            self._held[:] = self.generator.uniform(-1.0, 1.0, self._held.shape)
        return self._held.copy()

    def _drawn(self, seen: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return actions drawn from the policy."""
        noise = self.generator.standard_normal(self._held.shape, np.float32)
        with torch.no_grad():
            drawn = draw(self.actor, self._on_device(seen), self._on_device(noise))
        action: NDArray[np.float32] = drawn.action.cpu().numpy()
        return action

    def _learn(self) -> None:
        config, size = self.config, self.config.batch_size
        batches = self.replay.uniform(self.generator)
        frequency = config.policy_frequency
        shape = (config.gradient_steps, 1 + frequency, size, self.spaces.actions)
        noise = self._on_device(self.generator.standard_normal(shape, np.float32))
        seen = self._on_device(batches.seen)[..., :-1]
        action, reward, discount = map(self._on_device, batches[1:4])
        for k in range(config.gradient_steps):
            before, after = torch.split(seen[k], size)
            self._learn_values(before, action[k], reward[k], discount[k], after, noise[k, 0])
            if self.updates % frequency == 0:
                for drawn in noise[k, 1:]:
                    self._learn_actions(before, drawn)
            self._moving.lerp_(self._trained["critics"].flat, config.tau)
            self.updates += 1

    def _learn_values(
        self,
        seen: Tensor,
        action: Tensor,
        reward: Tensor,
        discount: Tensor,
        reached: Tensor,
        noise: Tensor,
    ) -> None:
        """Move both critics towards the reward plus the lower target soft value of the next state."""
        with torch.no_grad():
            following = draw(self.actor, reached, noise)
            value = self.targets(reached, following.action).amin(0)
            value -= self.log_temperature.exp() * following.log_probability
            target = torch.addcmul(reward, discount, value)
        loss = 2.0 * F.mse_loss(self.critics(seen, action), target.expand(2, -1))  # the sum of both
        self._trained["critics"].descend(loss, self.config.critic_learning_rate)
        self._losses[0] = loss.detach()

    def _learn_actions(self, seen: Tensor, noise: Tensor) -> None:
        """Increase the policy's soft values, then adjust the temperature to the target entropy."""
        drawn = draw(self.actor, seen, noise)
        value = self.critics(seen, drawn.action).amin(0)
        temperature = self.log_temperature.detach().exp()
        loss = (temperature * drawn.log_probability - value).mean()
        self._trained["actor"].descend(loss, self.learning_rate)
        self._losses[1] = loss.detach()
        if self.config.learn_temperature:
            excess = self.spaces.actions - drawn.log_probability.detach().mean()  # over the target
            loss = self.log_temperature.exp() * excess
            self._trained["temperature"].descend(loss, self.config.critic_learning_rate)

    def policy(self, num_envs: int) -> Policy:
        return greedy(self.to_modules(), self.spaces)

    def to_modules(self) -> nn.Sequential:
        """Return a network that maps observations to the policy's mean actions, both unscaled."""
        observed, acted = self.spaces.observed, self.spaces.acted
        width = self.spaces.actions
        sizes = (self.spaces.inputs, *self.config.hidden, width, width)
        made = modules(sizes, seed=0, squash=True)
        *layers, last = (layer for layer in made if isinstance(layer, nn.Linear))
        own = [layer for layer in self.actor if isinstance(layer, nn.Linear)]
        with torch.no_grad():
            for layer, source in zip(layers, own, strict=True):
                layer.weight.copy_(source.weight[: len(layer.weight)])
                layer.bias.copy_(source.bias[: len(layer.bias)])
            layers[0].weight.div_(torch.tensor(observed.half))
            shift = torch.tensor(observed.middle, dtype=torch.float32)
            layers[0].bias.sub_(layers[0].weight @ shift)
            last.weight.copy_(torch.diag(torch.tensor(acted.half)))
            last.bias.copy_(torch.tensor(acted.middle))
        return made

    def monitored(self) -> Iterable[Tensor]:
        return *(part.flat for part in self._trained.values()), *self._losses

    def _on_device(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _stored(self) -> dict[str, Stored]:
        return {**super()._stored(), "replay": self.replay}

    def _tensors(self) -> dict[str, Tensor]:
        tensors = {"targets": self._moving, "held": torch.from_numpy(self._held)}
        for name, part in self._trained.items():
            adam = part.adam
            tensors |= {
                name: part.flat,
                f"{name}.mean": adam.mean,
                f"{name}.square": adam.square,
                f"{name}.count": adam.count,
            }
        return tensors
