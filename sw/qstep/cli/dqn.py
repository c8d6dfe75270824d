"""``qstep dqn``: learn CartPole or Snake with a network, as people write it or fast."""

from __future__ import annotations

from typing import Any

import click

from qstep import extras
from qstep.cli._options import network_options

__all__ = ["command"]


@click.command("dqn", short_help="Learn CartPole or Snake with a network (DQN).")
@network_options("dqn")
@click.option(
    "--form",
    type=click.Choice(("plain", "fast")),
    default="fast",
    show_default=True,
    help="As people write it, or fast.",
)
@click.option(
    "--variant",
    type=click.Choice(("single", "target", "double")),
    help="Of the loss.  [default: the environment's own]",
)
@click.option("--prioritised", is_flag=True, help="Replay what the network is wrong about.")
def command(resume: bool, torch_device: str, **options: Any) -> None:
    """Learn CartPole or Snake with a deep Q-network.

    ENVIRONMENT is cartpole, snake (with the flood fill) or snake-features (without). The folder gets
    network.safetensors, history.json, learning_curve.png and, with the fast form, checkpoint.npz.
    Ctrl-C leaves a checkpoint from which --resume goes on with the same device and version of PyTorch,
    on the CPU to exactly the same result; of several seeds the finished ones are kept. The score is
    that of the last network, not of the best one on the way.

    \b
    Examples:
      qstep dqn cartpole
      qstep dqn cartpole --form plain --total-timesteps 50000
      qstep dqn cartpole --seeds 10
      qstep dqn snake --seeds 5
      qstep dqn snake-features --form plain --episodes 1000
    """
    if resume and options["form"] == "plain":
        raise click.UsageError(
            "--resume goes with the fast form: a Gymnasium environment cannot say its state"
        )
    # PyTorch and Matplotlib take seconds to load: only when they are needed.
    train = extras.load("qstep.cli._networks", "torch").train
    train(
        resume=resume,
        torch_device_name=torch_device,
        **options,
    )
