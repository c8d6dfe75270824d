"""The Q-loss, fast: the same numbers as `q_loss_plain` with a fraction of the work around them.

With a batch and a network as small as CartPole's, the plain form spends little time on arithmetic. Most
goes into some thirty calls, each of which allocates a tensor and records how to differentiate it. Here

- s and s' go through the network together, and the target network runs in the same matrix products, so
  a pass is five operations for every variant, and no network runs twice;
- memory for every result is allocated once; the gradient is written by hand into one flat vector, with
  two matrix products per layer;
- nothing becomes a Python number: loss and TD errors stay tensors until somebody reads them;
- several batches are held at once, so a learner samples and prioritises them together.

It is still PyTorch, and works where PyTorch does.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from qstep.deep.backward import Backward
from qstep.deep.network import Pass, Stack
from qstep.deep.q_head import Columns, Values, head
from qstep.deep.variants import VARIANTS, Variant
from qstep.errors import ConfigError

__all__ = ["Batches", "QLoss"]


class Batches(NamedTuple):
    """K batches of B transitions with observations of D numbers, as `deep.replay` samples them.

    Attributes
    ----------
    seen : Tensor of float32, shape (K, 2 B, D + 1)
        In each batch the observations, then the next observations; the last column is 1.
    action : Tensor of int64, shape (K, B)
    reward : Tensor of float32, shape (K, B)
    discount : Tensor of float32, shape (K, B)
        For the next value: gamma, or 0 where the transition terminated.
    weight : Tensor of float32, shape (K, B)
        A transition's share of the loss: 1/B, or 1/B times an importance weight.
    """

    seen: Tensor
    action: Tensor
    reward: Tensor
    discount: Tensor
    weight: Tensor


class QLoss:
    """Loss, TD errors and gradient for batches that always lie in the same place.

    Parameters
    ----------
    variant : {"single", "target", "double"}
        See `q_loss_plain`.
    networks : Stack
        The learning network and the target network, in this order; ``single`` uses the first only.
        Read at each call.
    batches : Batches
        Read at each call.

    Attributes
    ----------
    loss : Tensor of float32, shape (K,)
        The weighted sum of smooth L1 for each batch, from its last :meth:`forward`.
    td_error : Tensor of float32, shape (K, B)
        Target minus value, from the same call.
    gradient : Stack
        Result of the last :meth:`backward`; a single network.

    Raises
    ------
    ConfigError
        There is no such variant.
    """

    def __init__(self, variant: Variant, networks: Stack, batches: Batches) -> None:
        if variant not in VARIANTS:
            raise ConfigError(f"variant is {variant!r}; it must be one of {', '.join(VARIANTS)}")
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
