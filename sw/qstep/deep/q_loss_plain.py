"""The Q-loss in the usual code. Start reading here.

It has separate forward passes for s and s', `gather` for the action taken, a mask for terminated
transitions, and smooth L1 against a detached target. The three variants differ in which network chooses
the action in s' and which gives its value:

===========  ==========================  ====================
variant      chooses the action in s'    gives its value
===========  ==========================  ====================
``single``   the network that learns     the same network
``target``   the target network          the target network
``double``   the network that learns     the target network
===========  ==========================  ====================

References
----------
V. Mnih et al., "Human-level control through deep reinforcement learning", Nature 518, 2015 (target).
H. van Hasselt, A. Guez, D. Silver, "Deep Reinforcement Learning with Double Q-learning", AAAI 2016.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qstep.deep.variants import Variant

__all__ = ["Batch", "q_loss"]


class Batch(NamedTuple):
    """B transitions with observations of D numbers.

    Attributes
    ----------
    observation, next_observation : Tensor of float32, shape (B, D)
    action : Tensor of int64, shape (B,)
    reward : Tensor of float32, shape (B,)
    terminated : Tensor of bool, shape (B,)
    """

    observation: Tensor
    action: Tensor
    reward: Tensor
    next_observation: Tensor
    terminated: Tensor


def q_loss(
    variant: Variant, online: nn.Module, target: nn.Module, batch: Batch, gamma: float
) -> tuple[Tensor, Tensor]:
    """Return the mean smooth L1 loss, to call ``backward`` on, and the TD errors, shape (B,).

    Parameters
    ----------
    variant : {"single", "target", "double"}
    online : Module
        From (B, D) to (B, actions); learns.
    target : Module
        From (B, D) to (B, actions); ``single`` does not use it.
    batch : Batch
    gamma : float
        0..1.
    """
    q_taken = online(batch.observation).gather(1, batch.action.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        if variant == "double":
            best = online(batch.next_observation).argmax(dim=1, keepdim=True)
            q_next = target(batch.next_observation).gather(1, best).squeeze(1)
        else:
            judge = online if variant == "single" else target
            q_next = judge(batch.next_observation).max(dim=1).values
        wanted = batch.reward + gamma * q_next * (~batch.terminated).float()
    return F.smooth_l1_loss(q_taken, wanted), (wanted - q_taken).detach()
