"""``qstep pqn``: train a network on an environment, online, without replay."""

from __future__ import annotations

from typing import Any

import click

from qstep.cli._networks import hyperparameter_options, network_options, train
from qstep.deep.config import PqnConfig
from qstep.envs.catalogue import networks_in_words

__all__ = ["command"]


@click.command(
    "pqn",
    short_help="Train a network on an environment, without replay (PQN).",
    epilog=networks_in_words("pqn"),
)
@network_options("pqn")
@hyperparameter_options(PqnConfig)
def command(**options: Any) -> None:
    """Train a network on an environment with parallelised Q-learning (PQN).

    WORLD is as in `qstep dqn`. PQN uses many environments at once, a network with layer normalisation
    and lambda returns, but no replay memory and no target network. The default hyperparameters are
    listed below; the named worlds may have different defaults.

    The run writes network.safetensors, history.json, report.json, learning_curve.png and
    checkpoint.npz. After Ctrl-C, --resume continues from the checkpoint; PyTorch must have the same
    version and use the same device. On the CPU, the result is exactly that of an uninterrupted run. With
    several seeds, finished runs are kept. The saved network is the one with the best greedy evaluation.

    \b
    Examples:
      qstep pqn cartpole
      qstep pqn snake --seeds 5
      qstep pqn FrozenLake-v1 --num-envs 64 --q-lambda 0.8
    """
    train(algorithm="pqn", **options)
