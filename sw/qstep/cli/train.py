"""`qstep train`: learn an environment on a device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from qstep._io.pictures import WritePictures, drawing
from qstep.cli._acting import (
    DEVICE_ONLY,
    acting_options,
    check_config,
    limited,
    only_for,
    use_defaults,
)
from qstep.cli._json import JsonOutput, json_option
from qstep.cli._options import (
    config_from,
    device_option,
    folder_options,
    metrics_option,
)
from qstep.errors import NoTableError
from qstep.spec.agents import CIRCUITS
from qstep.spec.fixed import Rounding
from qstep.spec.settings import Hyperparameters

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = ["command"]

_HOST_ONLY = ("evaluate_every", "num_envs", "sync_steps")


@click.command("train")
@click.argument("env_id", metavar="WORLD")
@device_option
@click.option(
    "--act",
    type=click.Choice(("device", "host")),
    help="Who acts.  [default: the device, in a world that has a transition table]",
)
@click.option(
    "--episodes",
    type=int,
    default=2000,
    show_default=True,
    help="Training episodes, 1 or more, of each agent.",
)
@click.option("--steps", type=int, help="Training steps of each agent, instead of episodes.")
@acting_options
@click.option("--epsilon-start", type=float, default=1.0, show_default=True, help="First epsilon.")
@click.option("--epsilon-end", type=float, default=0.05, show_default=True, help="Last epsilon.")
@click.option(
    "--epsilon-share",
    type=float,
    default=0.5,
    show_default=True,
    help="Share of the run during which epsilon falls.",
)
@click.option(
    "--epsilon-episodes",
    type=click.IntRange(min=1),
    help="Episodes that --epsilon-share refers to.  "
    "[default: the whole run; with --resume, the run as first planned]",
)
@click.option(
    "--evaluate-every",
    type=int,
    default=100,
    show_default=True,
    metavar="K",
    help="Play 100 greedy episodes and save a checkpoint every K episodes, host only.",
)
@click.option(
    "--num-envs",
    type=int,
    default=1,
    show_default=True,
    help="Environments that step in turns, host only: more than 1 for snake and cartpole.",
)
@click.option(
    "--sync-steps",
    type=int,
    default=64,
    show_default=True,
    help="Transitions between reads of the table, host only: fewer is fresher, more is faster.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.npz",
    help="File for every step of the agents on the device.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results.  [default: runs/WORLD]",
)
@folder_options
@metrics_option
@json_option("the summary")
@click.pass_context
def command(ctx: click.Context, /, env_id: str, **options: Any) -> None:
    """Learn the Q-table of a world on a device.

    WORLD is gridworld, gridworld-8x8, gridworld-16x16, gridworld-32x32, snake, cartpole, a map (.txt), a
    world file (.npz), a circuit that is part of the device of --config (.sv, .v, .py), or a Gymnasium id
    with discrete observations and actions: module:id if a module registers it, also one in the current
    folder.

    If the world has a transition table, agents act on the device, beside their tables, and only
    counters and tables come back: several million steps a second or more. Otherwise, and with --act
    host, the host acts and streams the transitions. The folder gets table.npz, history.json,
    learning_curve.png, checkpoint.npz and, for a map, policy.png. The same seed gives the same tables on
    every device. After Ctrl-C, --resume continues from the checkpoint to exactly the same result.

    \b
    Examples:
      qstep train gridworld
      qstep train FrozenLake-v1 --agents 16 --algorithm expected-sarsa
      qstep train Taxi-v3 --steps 1000000 --json
      qstep train gridworld --device sim --out runs/simulated
      qstep train gridworld --act host --device serial:/dev/ttyUSB1 --config build/fpga/icebreaker.toml
      qstep train snake
      qstep train cartpole

    Some worlds have other defaults: gridworld-32x32 takes --gamma 0.99; on the device FrozenLake-v1
    takes --alpha 0.0305 --gamma 0.99 --episodes 20000, CliffWalking-v1 --episodes 500 and Taxi-v3
    --episodes 5000; on the host FrozenLake-v1 takes --alpha 0.1 --gamma 0.99 --episodes 5000,
    CliffWalking-v1 --episodes 500, snake --alpha 0.05 --epsilon-end 0 --episodes 3000 --evaluate-every
    500 --num-envs 8 --sync-steps 1024, and cartpole --alpha 0.1 --gamma 0.99 --rounding stochastic
    --epsilon-end 0 --episodes 3000 --evaluate-every 500 --num-envs 4 --sync-steps 1024.
    """
    options["write_pictures"] = ctx.with_resource(drawing())
    # Gymnasium and Numba take a second to load, so they are imported only when needed.
    from qstep.mdp.world import World

    act = options.pop("act")
    world = None
    is_circuit = env_id.endswith(CIRCUITS) and act != "host"
    if act != "host" and not is_circuit:
        try:
            world = World.named(env_id)
        except NoTableError:
            if act == "device":
                raise
    on_host = world is None and not is_circuit
    others = (*DEVICE_ONLY, "steps", "trace") if on_host else _HOST_ONLY
    only_for("device" if on_host else "host", others)
    for name in others:
        del options[name]
    if not on_host:
        check_config(options["config_file"])
    use_defaults(ctx, options, env_id, on_host)
    if on_host:
        _act_on_host(env_id, **options)
        return
    world = limited(world, options.pop("max_episode_steps"))
    if options["steps"] is not None:
        if ctx.get_parameter_source("episodes") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--steps and --episodes were both given; give one of them")
        options["episodes"] = None
    _act_on_device(env_id, world or env_id, **options)


def _act_on_device(
    name: str,
    world: World | str,
    url: str,
    episodes: int | None,
    steps: int | None,
    agents: int | None,
    lanes: int | None,
    shared_table: bool,
    algorithm: str,
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
    trace: Path | None,
    out: Path | None,
    resume: bool,
    overwrite: bool,
    metrics_target: Path | None,
    json_output: JsonOutput,
    write_pictures: WritePictures,
) -> None:
    from qstep.cli._agents_training import train_agents
    from qstep.learn.agents import Budget
    from qstep.learn.plan import AgentsPlan, falling_epsilon, planned
    from qstep.spec.settings import AgentSettings

    budget = Budget(steps, episodes)
    config = None
    if config_file is not None:
        config = config_from(config_file, None, None, number_format, None)

    def plan(horizon: Budget) -> AgentsPlan:
        epsilon = falling_epsilon(horizon, epsilon_start, epsilon_end, epsilon_share)
        return planned(
            world,
            budget=budget,
            agents=agents,
            algorithm=algorithm,
            shared_table=shared_table,
            settings=AgentSettings(alpha, gamma, epsilon, seed),
            number_format=number_format,
            rounding=rounding or Rounding.NEAREST,
            lanes=lanes,
            config=config,
        )

    folder = out or Path("runs") / Path(name).stem
    train_agents(
        url,
        name,
        plan,
        budget,
        None if epsilon_episodes is None else Budget(episodes=epsilon_episodes),
        folder,
        resume,
        overwrite,
        json_output,
        trace,
        write_pictures,
        metrics_target,
    )


def _act_on_host(
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
    num_envs: int,
    sync_steps: int,
    out: Path | None,
    resume: bool,
    overwrite: bool,
    metrics_target: Path | None,
    json_output: JsonOutput,
    write_pictures: WritePictures,
) -> None:
    from qstep.cli._training import configuration, train
    from qstep.learn.host import Plan
    from qstep.spec.epsilon import EpsilonSchedule

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
            num_envs=num_envs,
        ),
        hyper=Hyperparameters(alpha, gamma, mode, seed),
        config=config,
        folder=out or Path("runs") / Path(env_id).stem,
        resume=resume,
        overwrite=overwrite,
        json_output=json_output,
        write_pictures=write_pictures,
        metrics_target=metrics_target,
    )
