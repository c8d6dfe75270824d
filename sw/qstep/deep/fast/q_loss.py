"""The Q-loss and its gradient, fast: the same numbers as `dqn_plain` with a fraction of the work.

On networks as small as CartPole's, autograd spends most of its time allocating tensors and recording
operations. Here s and s' go through both networks in the same matrix products, memory is allocated once,
and the gradient is written by hand (docs/deep.md, "The Q-loss").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qstep._io.compiled import compiled
from qstep.deep.config import VARIANTS, Variant
from qstep.deep.fast.network import Backward, Pass, Stack
from qstep.spec.checks import one_of

__all__ = ["Batches", "CompiledHead", "QLoss", "TorchHead", "head"]


class Batches(NamedTuple):
    """K batches of B transitions, as :class:`~qstep.deep.replay.Replay` samples them."""

    seen: Tensor  # float32 (K, 2 B, D + 1): observations, then next ones; the last column is 1
    action: Tensor  # int64 (K, B)
    reward: Tensor  # float32 (K, B)
    discount: (
        Tensor  # float32 (K, B), of the next value: gamma, or 0 where the transition terminated
    )
    weight: Tensor  # float32 (K, B), of the transition in the loss: 1/B, times an importance weight


class QLoss:
    """Loss, TD errors and gradient for batches that always lie in the same memory.

    `networks` are the learning network and the target network, in this order. `loss`, float32 of shape
    (K,), is the weighted sum of smooth L1 of each batch, and `td_error`, shape (K, B), its target minus
    its value, both from the batch's last :meth:`forward`; `gradient` is that of the last
    :meth:`backward`. A variant that does not exist raises ConfigError.
    """

    def __init__(self, variant: Variant, networks: Stack, batches: Batches) -> None:
        one_of("variant", variant, VARIANTS)
        online, seen, device = networks[0], batches.seen, networks.flat.device
        count, rows, width = seen.shape
        size = rows // 2
        self.loss = torch.zeros(count, device=device)
        self.td_error = torch.zeros(count, size, device=device)
        # All views are made once: making one takes as long as computing with it.
        if variant == "target":  # each network has its own half
            self._pass = Pass(networks, size)
            rows_seen = seen.view(count, 2, size, width)
        else:
            self._pass = Pass(online if variant == "single" else networks, rows)
            rows_seen = seen[:, None].expand(-1, len(self._pass.values), -1, -1)
        self._columns = list(rows_seen.transpose(2, 3))
        self._observations = list(seen[:, :size])
        now, later = self._pass.values[0], self._pass.values[-1]
        values = Values(now[:, :size], now[:, -size:], later[:, -size:])
        if variant != "double":
            values = values._replace(chooser=values.judge)
        self._back = torch.zeros(online.sizes[-1], size, device=device)
        parts = (*batches[1:], self.td_error, self.loss)
        self._head = head(values, [Columns(*part) for part in zip(*parts, strict=True)], self._back)
        self._backward = Backward(online, self._pass, size)
        self.gradient = self._backward.gradient

    def forward(self, batch: int = 0) -> Tensor:
        """Compute :attr:`loss` and :attr:`td_error` of a batch; return its loss, shape ()."""
        self._pass(self._columns[batch])
        self._head(batch)
        return self.loss[batch]

    def backward(self, batch: int = 0) -> Tensor:
        """Compute :attr:`gradient` for the last :meth:`forward`; return it flat, shape (1, P)."""
        return self._backward(self._back, self._observations[batch])


class Values(NamedTuple):
    """The networks' values for B transitions, as views of shape (actions, B)."""

    value: Tensor  # of the observations
    chooser: Tensor  # of the next observations: chooses the best action
    judge: Tensor  # of the next observations: gives that action's value; the same tensor if both are one


class Columns(NamedTuple):
    """B transitions and what is computed from them, each of shape (B,) except the loss."""

    action: Tensor
    reward: Tensor
    discount: Tensor
    weight: Tensor
    td_error: Tensor
    loss: Tensor


class TorchHead:
    """The head of the loss in PyTorch's operations, for any device.

    The head turns the networks' values into loss, TD errors and the gradient with respect to the values,
    `back`, float32 of shape (actions, B). For the transition of each column,

        error = reward + discount * judge[argmax chooser] - value[action]
        slope = clamp(error, -1, 1)
        loss  = sum over weight * slope * (error - slope / 2)      (smooth L1)
        back[action] = -weight * slope, 0 for the other actions    (its gradient)
    """

    def __init__(self, values: Values, batches: list[Columns], back: Tensor) -> None:
        self._values, self._back = values, back
        self._batches = [
            Columns(*(tensor.view(1, -1) for tensor in columns))._replace(loss=columns.loss)
            for columns in batches
        ]
        row = back[:1]
        self._taken, self._best, self._slope, self._rest = (torch.empty_like(row) for _ in range(4))
        self._choice = torch.empty_like(row, dtype=torch.int64)

    def __call__(self, batch: int) -> None:
        """Compute TD errors and loss of a batch, and `back`."""
        action, reward, discount, weight, error, loss = self._batches[batch]
        value, chooser, judge = self._values
        torch.gather(value, 0, action, out=self._taken)
        if chooser is judge:
            torch.amax(judge, 0, keepdim=True, out=self._best)
        else:
            torch.argmax(chooser, 0, keepdim=True, out=self._choice)
            torch.gather(judge, 0, self._choice, out=self._best)
        torch.addcmul(reward, discount, self._best, out=error)
        error.sub_(self._taken)
        torch.clamp(error, -1, 1, out=self._slope)
        torch.sub(error, self._slope, alpha=0.5, out=self._rest)
        self._slope.mul_(weight)
        torch.dot(self._slope[0], self._rest[0], out=loss)
        self._back.zero_().scatter_(0, action, self._slope.neg_())


class CompiledHead:
    """The head as one compiled loop, for the CPU."""

    def __init__(self, values: Values, batches: list[Columns], back: Tensor) -> None:
        shared = [tensor.numpy() for tensor in values]
        self._arguments = [
            (*shared, *(part.numpy() for part in columns), back.numpy()) for columns in batches
        ]

    def __call__(self, batch: int) -> None:
        """Compute TD errors and loss of a batch, and `back`."""
        _head(*self._arguments[batch])


def head(values: Values, batches: list[Columns], back: Tensor) -> TorchHead | CompiledHead:
    """Return the head for the device of the tensors."""
    kind = CompiledHead if back.device.type == "cpu" else TorchHead
    return kind(values, batches, back)


@compiled
def _head(
    value: NDArray[np.float32],
    chooser: NDArray[np.float32],
    judge: NDArray[np.float32],
    action: NDArray[np.int64],
    reward: NDArray[np.float32],
    discount: NDArray[np.float32],
    weight: NDArray[np.float32],
    td_error: NDArray[np.float32],
    loss: NDArray[np.float32],
    back: NDArray[np.float32],
) -> None:
    actions = len(value)
    back[:] = 0
    total = np.float32(0)
    for j in range(len(action)):
        best = 0
        for a in range(1, actions):
            if chooser[a, j] > chooser[best, j]:
                best = a
        error = reward[j] + discount[j] * judge[best, j] - value[action[j], j]
        slope = min(max(error, np.float32(-1)), np.float32(1))
        total += weight[j] * slope * (error - np.float32(0.5) * slope)
        back[action[j], j] = -weight[j] * slope
        td_error[j] = error
    loss[()] = total
