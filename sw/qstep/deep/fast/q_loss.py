"""A fast Q-loss and its gradient: the same numbers as in `dqn_plain`, at a fraction of the cost.

For networks as small as CartPole's, autograd spends most of its time allocating tensors and recording
operations. Here, s and s' pass through both networks in the same matrix products, memory is allocated
once, and the gradient is coded by hand (docs/deep.md, "The Q-loss").
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qstep._io.compiled import compiled
from qstep.deep.config import VARIANTS, Variant
from qstep.deep.fast.network import Backward, Pass, Stack
from qstep.deep.replay import Batches
from qstep.spec.checks import one_of

__all__ = ["QLoss"]


class QLoss:
    """Loss, TD errors and gradient of batches that are always at the same memory addresses.

    `networks` are the learning network and the target network, in this order. They run on their device,
    and :meth:`load` copies the batches' observations to it. One compiled loop on the host computes the
    loss, the TD errors and `back`, the gradient with respect to the values, from the networks' values.
    The variant defines which network's values are `chooser` and `judge`:

        error = reward + discount * judge[argmax chooser] - value[action]
        slope = clamp(error, -1, 1)
        loss  = sum over weight * slope * (error - slope / 2)      (smooth L1)
        back[action] = -weight * slope, 0 for the other actions    (its gradient)

    ``forward(k)`` sets entry k of `loss`, float32 of shape (K,), and row k of `td_error`, shape (K, B);
    :meth:`backward` sets `gradient`. An unknown variant raises ConfigError.
    """

    def __init__(self, variant: Variant, networks: Stack, batches: Batches) -> None:
        one_of("variant", variant, VARIANTS)
        online, device = networks[0], networks.flat.device
        # On the CPU, the tensors of the device and of the host are the same, so copies do nothing.
        self._sampled = torch.from_numpy(batches.seen)
        self._seen = seen = self._sampled.to(device)
        count, rows, width = seen.shape
        size = rows // 2
        self.loss = torch.zeros(count)
        self.td_error = torch.zeros(count, size)
        # All views are created once: creating a view takes as long as computing with it.
        if variant == "target":  # each network evaluates one half
            self._pass = Pass(networks, size)
            rows_seen = seen.view(count, 2, size, width)
        else:
            self._pass = Pass(online if variant == "single" else networks, rows)
            rows_seen = seen[:, None].expand(-1, len(self._pass.values), -1, -1)
        self._columns = list(rows_seen.transpose(2, 3))
        self._observations = list(seen[:, :size])
        self._back = torch.zeros(online.sizes[-1], size, device=device)
        self._backward = Backward(online, self._pass, size)
        self.gradient = self._backward.gradient
        self._host_values, self._host_back = self._pass.values.cpu(), self._back.cpu()
        now, later = (self._host_values[k].numpy() for k in (0, -1))
        judge = later[:, -size:]
        chooser = now[:, -size:] if variant == "double" else judge
        parts = (*batches[1:], self.td_error.numpy(), self.loss.numpy().reshape(-1, 1))
        self._arguments = [
            (now[:, :size], chooser, judge, *columns, self._host_back.numpy())
            for columns in zip(*parts, strict=True)
        ]

    def load(self) -> None:
        """Copy the changed observations of the batches to the device."""
        self._seen.copy_(self._sampled)

    def forward(self, batch: int = 0) -> Tensor:
        """Compute :attr:`loss` and :attr:`td_error` of a batch; return its loss, shape ()."""
        self._host_values.copy_(self._pass(self._columns[batch]))
        _head(*self._arguments[batch])
        return self.loss[batch]

    def backward(self, batch: int = 0) -> Tensor:
        """Compute :attr:`gradient` for the last :meth:`forward`; return it flat, with shape (1, P)."""
        return self._backward(self._back.copy_(self._host_back), self._observations[batch])


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
    loss[0] = total
