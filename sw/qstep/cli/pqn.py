"""``qstep pqn``: learn CartPole or Snake with a network, online, without replay."""

from __future__ import annotations

from typing import Any

import click

from qstep import extras
from qstep.cli._options import network_options

__all__ = ["command"]


@click.command("pqn", short_help="Learn CartPole or Snake with a network, without replay (PQN).")
@network_options("pqn")
def command(torch_device: str, **options: Any) -> None:
    """Learn CartPole or Snake with parallelised Q-learning.

    ENVIRONMENT is cartpole, snake (with the flood fill) or snake-features (without). Many of them at
    once, a network with layer normalisation, lambda returns; no replay, no target network. The folder
    gets network.safetensors, history.json, learning_curve.png and checkpoint.npz. Ctrl-C leaves a
    checkpoint from which --resume goes on with the same device and version of PyTorch, on the CPU to
    exactly the same result; of several seeds the finished ones are kept.

    \b
    Examples:
      qstep pqn cartpole
      qstep pqn snake --seeds 5
    """
    # PyTorch and Matplotlib take seconds to load: only when they are needed.
    train = extras.load("qstep.cli._networks", "torch").train
    train(
        form="pqn",
        variant=None,
        prioritised=False,
        torch_device_name=torch_device,
        **options,
    )
