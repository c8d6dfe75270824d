"""Tabular Q-learning with PyTorch: many agents at once share one table, on any device.

Every agent takes one step, then all learn together: the table is read once, as it was before the
step, and written once. When several agents try the same (state, action) in one step, **the entry
moves by alpha times the mean of their TD errors**: it does not matter which comes first, and the
table cannot overshoot however many agents meet. This is another algorithm than one update after
the other, and it needs more updates for the same result.

Nothing leaves the device inside the loop: no ``.item()``, no branch on data, flat indices. Values
are float32.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qstep.baselines.problem import Stream, World

__all__ = ["learn", "replay", "to_array", "upload", "zeros"]

_DRAWN_STEPS = 64  # steps whose random numbers are drawn in one call


def zeros(states: int, actions: int, device: str = "cpu") -> Tensor:
    """Return a table of zeros on a device."""
    return torch.zeros(states, actions, device=device)


def to_array(table: Tensor) -> NDArray[np.float64]:
    """Return a copy of a table on the host, shape (S, A)."""
    return table.double().cpu().numpy()


class _Averager:
    """Adds TD errors to a flat table, averaged over equal entries, in buffers that are kept."""

    def __init__(self, q: Tensor, batch: int, alpha: float) -> None:
        self._q, self._alpha = q, alpha
        self._total, self._count = torch.empty_like(q), torch.empty_like(q)
        self._ones = torch.ones(batch, device=q.device)

    def add(self, entry: Tensor, error: Tensor) -> None:
        self._total.zero_().index_add_(0, entry, error)
        self._count.zero_().index_add_(0, entry, self._ones[: len(entry)])
        self._q.add_(self._total.div_(self._count.clamp_(min=1.0)), alpha=self._alpha)


@torch.inference_mode()
def learn(
    world: World,
    updates: int,
    *,
    alpha: float = 0.5,
    gamma: float = 0.9,
    epsilon: float = 0.1,
    seed: int = 0,
    agents: int = 512,
    episode_cap: int = 50,
    device: str = "cpu",
) -> Tensor:
    """Let many agents walk through `world` epsilon-greedily and return their table.

    Parameters
    ----------
    world : World
        The environment.
    updates : int
        Steps over all agents; rounded up to whole rounds of `agents` steps.
    alpha, gamma, epsilon : float
        Learning rate, discount and share of random actions, each 0..1.
    seed : int
        Seed of the random numbers, which are drawn on the device.
    agents : int
        Agents that step together.
    episode_cap : int
        Steps after which an episode is cut off (truncated, so its last step still bootstraps).
    device : str
        ``cpu``, ``cuda`` or ``mps``.

    Returns
    -------
    Tensor of float32, shape (S, A), on `device`
    """
    states, actions = world.next_state.shape
    next_state = torch.from_numpy(world.next_state).long().reshape(-1).to(device)
    reward = torch.from_numpy(world.reward).float().reshape(-1).to(device)
    terminated = torch.from_numpy(world.terminated).reshape(-1).to(device)
    discount = torch.where(terminated, 0.0, gamma)

    table = zeros(states, actions, device)
    q = table.reshape(-1)
    averager = _Averager(q, agents, alpha)
    generator = torch.Generator(device).manual_seed(seed)
    start = torch.tensor(world.start, device=device)
    state = start.expand(agents)
    age = torch.zeros(agents, dtype=torch.int32, device=device)

    for step in range(-(-updates // agents)):
        drawn = step % _DRAWN_STEPS
        if drawn == 0:
            shape = (_DRAWN_STEPS, agents)
            explore = torch.rand(shape, generator=generator, device=device) < epsilon
            random_action = torch.randint(actions, shape, generator=generator, device=device)

        # Not table.max(1), which wakes all threads for a table of any size.
        best, greedy = table.amax(1), table.argmax(1)
        action = torch.where(explore[drawn], random_action[drawn], greedy.index_select(0, state))
        entry = torch.add(action, state, alpha=actions)
        following = next_state.index_select(0, entry)
        target = torch.addcmul(
            reward.index_select(0, entry),
            discount.index_select(0, entry),
            best.index_select(0, following),
        )
        averager.add(entry, target - q.index_select(0, entry))

        age = age + 1
        over = terminated.index_select(0, entry) | (age >= episode_cap)
        state = torch.where(over, start, following)
        age = torch.where(over, 0, age)
    return table


def upload(stream: Stream, device: str = "cpu") -> tuple[Tensor, ...]:
    """Copy a stream to a device, as int64 indices, float32 rewards and bool terminations."""
    state, action, reward, next_state, terminated = (torch.from_numpy(part) for part in stream)
    return (
        state.to(device, torch.int64),
        action.to(device, torch.int64),
        reward.to(device, torch.float32),
        next_state.to(device, torch.int64),
        terminated.to(device),
    )


@torch.inference_mode()
def replay(
    table: Tensor,
    stream: tuple[Tensor, ...],
    *,
    alpha: float = 0.5,
    gamma: float = 0.9,
    batch: int = 512,
) -> None:
    """Apply an uploaded stream to `table`, `batch` transitions at a time.

    The rule for duplicates inside a batch is that of the module; a batch of 1 is exact Q-learning.
    """
    q = table.reshape(-1)
    averager = _Averager(q, batch, alpha)
    for state, action, reward, next_state, terminated in zip(
        *(torch.split(part, batch) for part in stream), strict=True
    ):
        entry = torch.add(action, state, alpha=table.shape[1])
        best = torch.where(terminated, 0.0, table.index_select(0, next_state).amax(1))
        averager.add(entry, reward + gamma * best - q.index_select(0, entry))
