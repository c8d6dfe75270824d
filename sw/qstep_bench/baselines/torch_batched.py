"""Fast tabular Q-learning with PyTorch: many agents share one table, on any device.

Every agent takes one step, then all learn together: the table is read once, as it was before the step,
and written once. When several agents try the same (state, action) in one step, **the entry moves by
alpha times the mean of their TD errors**. Their order does not matter, and the table cannot overshoot,
however many agents update the same entry. This differs from sequential updates, and needs more updates
for the same result.

It is faster than :mod:`qstep_bench.baselines.torch_plain` for these reasons:

- No data leave the device inside the loop: there is no ``.item()``, and no branch on data. Wins and
  episodes are counted on the device, and read only for a report.
- Finished agents restart at once, inside the batch, so no agent idles.
- Flat indices and ``index_select`` into reused buffers replace masks and pairs of indices.
- The model is deterministic and all agents read the same table, so all agents that try an entry have the
  same TD error: it is computed once per entry, not once per agent.

Values are float32.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qstep.deep import torch_device
from qstep.envs.gridworld import DeterministicModel
from qstep_bench.baselines.learning import (
    AGENTS,
    UNWATCHED,
    AgentsLearning,
    AgentsProgress,
    Watch,
)
from qstep_bench.baselines.problem import winning

__all__ = ["DRAWN_STEPS", "Agents", "learn", "to_array"]

DRAWN_STEPS = 64
"""Number of steps whose random numbers are drawn in one call."""


class Agents:
    """Agents that walk through a model and share a table, all on one device.

    Steps write to reused buffers; random numbers are drawn once every :data:`DRAWN_STEPS` steps.

    Parameters
    ----------
    model : DeterministicModel
    how : AgentsLearning
    device : torch.device

    Attributes
    ----------
    table : Tensor of float32, shape (S, A)
    generator : torch.Generator
    """

    def __init__(
        self, model: DeterministicModel, how: AgentsLearning, device: torch.device
    ) -> None:
        states, self._actions = model.next_state.shape
        self._epsilon = how.epsilon
        self._next = torch.from_numpy(model.next_state).long().reshape(-1).to(device)
        self._reward = torch.from_numpy(model.reward).float().reshape(-1).to(device)
        self._winning = torch.from_numpy(winning(model)).reshape(-1).to(device)
        terminated = torch.from_numpy(model.terminated).reshape(-1).to(device)
        self._discount = torch.where(terminated, 0.0, how.gamma)
        # A terminating step adds the whole cap to the age, so one comparison detects either end.
        self._ageing = torch.where(terminated, how.episode_cap, 1)

        self.table = torch.zeros(states, self._actions, device=device)
        self._q = self.table.reshape(-1)
        self._target, self._rate = torch.empty_like(self._q), torch.empty_like(self._q)
        self._best = torch.empty(states, device=device)
        self._greedy = torch.empty(states, dtype=torch.int64, device=device)

        self.generator = torch.Generator(device).manual_seed(how.seed)
        drawn = (DRAWN_STEPS, how.agents)
        self._chance = torch.empty(drawn, device=device)
        self._explore = torch.empty(drawn, dtype=torch.bool, device=device)
        self._random = torch.empty(drawn, dtype=torch.int64, device=device)
        self._choices = list(zip(self._explore, self._random, strict=True))
        self._used = DRAWN_STEPS  # number of drawn steps already used
        # State and age of the episode are in one tensor, so starting a new episode takes one write.
        self._fresh = torch.tensor([[model.start], [0]], device=device)
        self._walkers = self._fresh.repeat(1, how.agents)
        self._state, self._age = self._walkers.unbind()
        self._action, self._entry, self._older = (torch.empty_like(self._state) for _ in range(3))
        self._over = torch.empty(how.agents, dtype=torch.bool, device=device)
        self._ended = torch.zeros_like(self._state)
        self._visits = torch.zeros_like(self._q, dtype=torch.int32)
        # Converting a Python number to a tensor in every call would take longer than the call itself.
        self._cap = torch.full_like(self._state, how.episode_cap)
        self._alphas = torch.full((how.agents,), how.alpha, device=device)
        self._ones = torch.ones(how.agents, dtype=torch.int32, device=device)

    @torch.inference_mode()
    def walk(self, steps: int) -> None:
        """Run every agent for `steps` steps, and learn from each."""
        for _ in range(steps):
            if self._used == DRAWN_STEPS:
                self._draw()
            self._step(*self._choices[self._used])
            self._used += 1

    def _draw(self) -> None:
        """Draw which agents explore, and with which action, for the next steps."""
        torch.lt(self._chance.uniform_(generator=self.generator), self._epsilon, out=self._explore)
        self._random.random_(self._actions, generator=self.generator)
        self._used = 0

    def _step(self, explore: Tensor, random_action: Tensor) -> None:
        # table.max(1) is avoided, because it uses all threads even for a small table.
        torch.amax(self.table, 1, out=self._best)
        torch.argmax(self.table, 1, out=self._greedy)

        action = torch.index_select(self._greedy, 0, self._state, out=self._action)
        torch.where(explore, random_action, action, out=action)
        entry = torch.add(action, self._state, alpha=self._actions, out=self._entry)

        target = torch.index_select(self._best, 0, self._next, out=self._target)
        torch.addcmul(self._reward, self._discount, target, out=target)
        self._rate.zero_().scatter_(0, entry, self._alphas)
        self._q.lerp_(target, self._rate)

        torch.index_select(self._next, 0, entry, out=self._state)
        self._age.add_(torch.index_select(self._ageing, 0, entry, out=self._older))
        over = torch.ge(self._age, self._cap, out=self._over)
        torch.where(over, self._fresh, self._walkers, out=self._walkers)
        self._ended.add_(over)
        self._visits.index_add_(0, entry, self._ones)

    def progress(self, updates: int) -> AgentsProgress:
        """Return the progress since the last call; this waits for the device.

        Parameters
        ----------
        updates : int
            Number of updates so far, copied into the report.
        """
        episodes, wins = int(self._ended.sum()), int(self._visits[self._winning].sum())
        self._ended.zero_()
        self._visits.zero_()
        return AgentsProgress(updates, episodes, wins, float(self.table[self._fresh[0, 0]].max()))


def to_array(table: Tensor) -> NDArray[np.float64]:
    """Return a copy of a table on the host, shape (S, A)."""
    return table.cpu().double().numpy()


def learn(
    model: DeterministicModel,
    updates: int,
    how: AgentsLearning = AGENTS,
    device: str = "cpu",
    watch: Watch = UNWATCHED,
) -> Tensor:
    """Step many agents through the model; see :class:`~qstep_bench.baselines.learning.LearnTogether`."""
    walkers = Agents(model, how, torch_device.choose(device))
    steps = -(-updates // how.agents)
    between = -(-watch.every // how.agents) if watch.report else max(1, steps)
    for first in range(0, steps, between):
        last = min(first + between, steps)
        walkers.walk(last - first)
        if watch.report:
            watch.report(walkers.progress(last * how.agents))
    return walkers.table
