"""``qstep dqn``: train a network on an environment, in plain or fast code."""

from __future__ import annotations

from typing import Any

import click

from qstep.cli._networks import hyperparameter_options, network_options, train
from qstep.cli._options import option
from qstep.deep.config import DqnConfig
from qstep.envs.catalogue import networks_in_words

__all__ = ["command"]


@click.command(
    "dqn",
    short_help="Train a network on an environment (DQN).",
    epilog=networks_in_words("dqn"),
)
@network_options("dqn")
@option(
    "--code",
    "DQN as people usually write it, or fast code.",
    type=click.Choice(("plain", "fast")),
    default="fast",
)
@hyperparameter_options(DqnConfig)
def command(code: str, **options: Any) -> None:
    """Train a deep Q-network (DQN) on an environment.

    WORLD is one of the worlds named below, a grid world by its name or map (.txt), a world file (.npz),
    or a Gymnasium id (module:id if a module registers it, which may be in the current folder). Its
    observation space must be a Discrete or a Box of floats, and its action space a Discrete. The
    default hyperparameters are listed below; the named worlds have different defaults.

    The run writes network.safetensors, history.json, report.json, learning_curve.png and, with fast
    code, checkpoint.npz. After Ctrl-C, --resume continues from the checkpoint; PyTorch must have the
    same version and use the same device. On the CPU, the result is exactly that of an uninterrupted
    run. With several seeds, finished runs are kept. The saved network is the one with the best greedy
    evaluation; its score is measured on 100 separate episodes.

    \b
    Examples:
      qstep dqn cartpole
      qstep dqn cartpole --code plain --total-timesteps 50000
      qstep dqn cartpole --seeds 10
      qstep dqn Acrobot-v1 --learning-rate 0.0005 --gamma 0.98 --hidden 128,128
      qstep dqn snake --seeds 5
      qstep dqn snake-features --code plain --episodes 1000
    """
    train(algorithm="dqn plain" if code == "plain" else "dqn", **options)
