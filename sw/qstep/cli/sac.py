"""``qstep sac``: train a network on an environment with continuous actions."""

from __future__ import annotations

from typing import Any

import click

from qstep.cli._networks import hyperparameter_options, network_options, train
from qstep.deep.config import SacConfig
from qstep.envs.catalogue import networks_in_words

__all__ = ["command"]


@click.command(
    "sac",
    short_help="Train a network on an environment with continuous actions (SAC).",
    epilog=networks_in_words("sac"),
)
@network_options("sac")
@hyperparameter_options(SacConfig)
def command(**options: Any) -> None:
    """Train a policy on an environment with soft actor-critic.

    WORLD is a Gymnasium id (module:id if a module registers it, which may be in the current folder).
    Its observation space must be a Discrete or a Box of floats, and its action space a Box of floats
    with finite bounds. The default hyperparameters are listed below; the named worlds have different
    defaults. HalfCheetah-v5 needs the extra `mujoco`.

    The run writes network.safetensors, history.json, report.json, learning_curve.png and
    checkpoint.npz. After Ctrl-C, --resume continues from the checkpoint; PyTorch must have the same
    version and use the same device. On the CPU, the result is exactly that of an uninterrupted run. With
    several seeds, finished runs are kept. The saved network is the one with the best greedy evaluation.

    \b
    Examples:
      qstep sac Pendulum-v1
      qstep sac MountainCarContinuous-v0 --seeds 3
      qstep sac Pendulum-v1 --num-envs 4 --gradient-steps 4
    """
    train(algorithm="sac", **options)
