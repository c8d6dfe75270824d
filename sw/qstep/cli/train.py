"""`qstep train`: learn an environment on a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from qstep.cli._json import JsonOutput, json_option
from qstep.cli._options import device_option, folder_options, hyper_options
from qstep.fixed import Rounding
from qstep.hyperparameters import Hyperparameters

__all__ = ["command"]

_DEFAULTS: dict[str, dict[str, float | int | str]] = {
    # Slippery: outcomes must be averaged, and a reward of 1 many steps ahead must stay above 2^-8.
    "FrozenLake-v1": {"alpha": 0.1, "gamma": 0.99, "episodes": 5000},
    # It has no step limit, so the first walks are long; few episodes are enough.
    "CliffWalking-v1": {"episodes": 500},
    # 11 bits stand for many grids, so values must be averaged; and one random move can end a game.
    "snake": {"alpha": 0.05, "epsilon_end": 0.0, "episodes": 3000},
    # A row stands for many states, so values are means of many small corrections; rounding to the
    # nearest would drop those that are below half of 2^-8.
    "cartpole": {
        "alpha": 0.1,
        "gamma": 0.99,
        "rounding": "stochastic",
        "epsilon_end": 0.0,
        "episodes": 3000,
        "evaluate_every": 500,
    },
}
"""Options that are not given, where they must differ from the command's own for learning to work."""


@click.command("train")
@click.argument("env_id", metavar="ENV_ID")
@device_option
@click.option(
    "--episodes", type=int, default=2000, show_default=True, help="Training episodes, 1 or more."
)
@hyper_options
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="The accelerator as TOML: of a board, what qstep build wrote.  [default: one that fits]",
)
@click.option("--format", "number_format", metavar="Qm.F", help="Number format.  [default: Q8.8]")
@click.option("--epsilon-start", type=float, default=1.0, show_default=True, help="First epsilon.")
@click.option("--epsilon-end", type=float, default=0.05, show_default=True, help="Last epsilon.")
@click.option(
    "--epsilon-share",
    type=float,
    default=0.5,
    show_default=True,
    help="Share of the episodes over which epsilon falls.",
)
@click.option(
    "--epsilon-episodes",
    type=click.IntRange(min=1),
    help="Episodes that this is a share of.  [default: all; with --resume, those of the checkpoint]",
)
@click.option(
    "--evaluate-every",
    type=int,
    default=100,
    show_default=True,
    metavar="K",
    help="Play 100 greedy episodes and save a checkpoint every K episodes.",
)
@click.option(
    "--sync-steps",
    type=int,
    default=64,
    show_default=True,
    help="Transitions between two reads of the table: fewer is fresher, more is faster.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results.  [default: runs/ENV_ID]",
)
@folder_options
@json_option("the summary")
@click.pass_context
def command(ctx: click.Context, /, env_id: str, **options: Any) -> None:
    """Learn the Q-table of an environment on a device.

    ENV_ID is gridworld, gridworld-8x8, gridworld-16x16, snake, cartpole, a map file (.txt), or a
    Gymnasium id with discrete observations and actions. The folder gets table.npz, history.json,
    learning_curve.png, checkpoint.npz and, where there is a map, policy.png. The same seed gives the
    same table on every device. Ctrl-C leaves a checkpoint from which --resume goes on to exactly the
    same result; with more --episodes, for longer.

    \b
    Examples:
      qstep train gridworld
      qstep train gridworld --device sim --out runs/simulated
      qstep train gridworld --device serial:/dev/ttyUSB1 --config build/fpga/icebreaker.toml
      qstep train FrozenLake-v1 --seed 3
      qstep train CliffWalking-v1 --epsilon-start 0.5
      qstep train snake
      qstep train cartpole
      qstep train Taxi-v3 --episodes 3000 --format Q8.16 --json

    Unless given, FrozenLake-v1 takes --alpha 0.1 --gamma 0.99 --episodes 5000, CliffWalking-v1
    --episodes 500, snake --alpha 0.05 --epsilon-end 0 --episodes 3000, and cartpole --alpha 0.1
    --gamma 0.99 --rounding stochastic --epsilon-end 0 --episodes 3000 --evaluate-every 500.
    """
    for name, value in _DEFAULTS.get(env_id, {}).items():
        if ctx.get_parameter_source(name) is ParameterSource.DEFAULT:
            options[name] = value
    _train(env_id, **options)


def _train(
    env_id: str,
    url: str,
    episodes: int,
    alpha: float,
    gamma: float,
    rounding: str | None,
    seed: int,
    config_file: Path | None,
    number_format: str | None,
    epsilon_start: float,
    epsilon_end: float,
    epsilon_share: float,
    epsilon_episodes: int | None,
    evaluate_every: int,
    sync_steps: int,
    out: Path | None,
    resume: bool,
    overwrite: bool,
    json_output: JsonOutput,
) -> None:
    # Gymnasium and Matplotlib take a second to load: only when they are needed.
    from qstep.cli._training import configuration, train
    from qstep.learn.schedule import EpsilonSchedule
    from qstep.learn.train import Plan

    epsilon = EpsilonSchedule(epsilon_start, epsilon_end, epsilon_share)
    mode = None if rounding is None else Rounding.parse(rounding)
    config = configuration(env_id, config_file, number_format, mode)
    train(
        url=url,
        plan=Plan(
            env_id,
            episodes,
            epsilon,
            sync_steps,
            evaluate_every,
            epsilon_episodes=epsilon_episodes or 0,
        ),
        hyper=Hyperparameters(alpha, gamma, mode, seed),
        config=config,
        folder=out or Path("runs") / Path(env_id).stem,
        resume=resume,
        overwrite=overwrite,
        json_output=json_output,
    )
