"""Replays recorded transitions into one table with PyTorch, batch by batch, on any device.

The update rule is the same as in :mod:`qstep_bench.baselines.torch_batched`: the table is read once per
batch, as it was before the batch, and an entry that occurs several times moves by alpha times the mean
of its TD errors. A batch of 1 is exact Q-learning. Values are float32.
"""

from __future__ import annotations

import torch
from torch import Tensor

from qstep_bench.baselines.problem import Stream

__all__ = ["replay", "upload", "zeros"]


def zeros(states: int, actions: int, device: str = "cpu") -> Tensor:
    """Return a table of zeros on a device."""
    return torch.zeros(states, actions, device=device)


class _Averager:
    """Adds TD errors, averaged per entry, to a flat table; buffers are reused."""

    def __init__(self, q: Tensor, batch: int, alpha: float) -> None:
        self._q, self._alpha = q, alpha
        self._total, self._count = torch.empty_like(q), torch.empty_like(q)
        self._ones = torch.ones(batch, device=q.device)

    def add(self, entry: Tensor, error: Tensor) -> None:
        self._total.zero_().index_add_(0, entry, error)
        self._count.zero_().index_add_(0, entry, self._ones[: len(entry)])
        self._q.add_(self._total.div_(self._count.clamp_(min=1.0)), alpha=self._alpha)


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
    """Apply an uploaded stream to `table`, `batch` transitions at a time."""
    q = table.reshape(-1)
    averager = _Averager(q, batch, alpha)
    for state, action, reward, next_state, terminated in zip(
        *(torch.split(part, batch) for part in stream), strict=True
    ):
        entry = torch.add(action, state, alpha=table.shape[1])
        best = torch.where(terminated, 0.0, table.index_select(0, next_state).amax(1))
        averager.add(entry, reward + gamma * best - q.index_select(0, entry))
