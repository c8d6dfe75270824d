"""An update of PQN in the usual code: autograd, and PyTorch's RAdam. Start reading here.

The loss and the clipping of the gradient are the authors'. The loss is half of the mean squared error,
so its gradient by a value is the error.

References
----------
M. Gallici et al., "Simplifying Deep Temporal Difference Learning", ICLR 2025 (arXiv 2407.04811).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["pqn_loss", "update"]


def pqn_loss(network: nn.Module, observation: Tensor, action: Tensor, returns: Tensor) -> Tensor:
    """Return half of the mean squared error, to call ``backward`` on.

    Parameters
    ----------
    network : Module
        From (B, inputs) to (B, actions).
    observation : Tensor of float32, shape (B, inputs)
    action : Tensor of int64, shape (B,)
    returns : Tensor of float32, shape (B,)
        Target value of the action.
    """
    taken = network(observation).gather(1, action.unsqueeze(1)).squeeze(1)
    return 0.5 * F.mse_loss(taken, returns)


def update(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    observation: Tensor,
    action: Tensor,
    returns: Tensor,
    max_grad_norm: float,
) -> None:
    """Learn once from a minibatch; parameters as for :func:`pqn_loss`.

    A gradient longer than `max_grad_norm` is shortened to it.
    """
    optimiser.zero_grad(set_to_none=True)
    pqn_loss(network, observation, action, returns).backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(network.parameters(), max_grad_norm)
    optimiser.step()
