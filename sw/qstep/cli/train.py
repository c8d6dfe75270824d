"""`qstep train`: learn an environment on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from qstep._io.pictures import drawing
from qstep.cli._acting import ActingOptions, acting_options, acting_world
from qstep.cli._drive import Job, MakeRun, RunOptions, drive
from qstep.cli._options import folder_options, metrics_option
from qstep.cli._output import JsonOutput, json_option
from qstep.device import is_model
from qstep.envs.catalogue import in_words
from qstep.errors import ConfigError
from qstep.learn.result import Result
from qstep.learn.table_result import TableResult, optimum_in_words
from qstep.spec.discount import discount_in_words
from qstep.spec.epsilon import Epsilon

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = ["command"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions(ActingOptions):
    """What was typed, with the defaults of the world; the fields are the options."""

    episodes: int | None
    steps: int | None
    epsilon_start: float
    epsilon_end: float
    epsilon_share: float
    epsilon_episodes: int | None
    evaluate_every: int
    trace: Path | None
    out: Path | None
    resume: bool
    overwrite: bool
    metrics_target: Path | None
    json_output: JsonOutput


@click.command("train", epilog=in_words())
@click.argument("env_id", metavar="WORLD")
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
    help="Play 100 greedy episodes every K episodes, host only.",
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

    WORLD is one of those named below, a map (.txt), a world file (.npz), a circuit that is part of the
    device of --config (.sv, .v, .py), or a Gymnasium id with discrete observations and actions:
    module:id if a module registers it, also one in the current folder.

    If the world has a transition table, agents act on the device, beside their tables, and only
    counters and tables come back: several million steps a second or more. Otherwise, and with --act
    host, the host acts and streams the transitions. The folder gets table.npz, history.json,
    report.json, learning_curve.png, checkpoint.npz and, for a map, policy.png. The same seed gives the
    same tables on every device. After Ctrl-C, --resume continues from the checkpoint to exactly the same
    result.

    \b
    Examples:
      qstep train gridworld
      qstep train FrozenLake-v1 --agents 16 --algorithm expected-sarsa
      qstep train Taxi-v3 --steps 1000000 --json
      qstep train gridworld --device sim --out runs/simulated
      qstep train gridworld --act host --device serial:/dev/ttyUSB1 --config build/fpga/icebreaker.toml
      qstep train snake
      qstep train cartpole
    """
    pictures = ctx.with_resource(drawing())
    world = acting_world(env_id, options)
    if options["steps"] is not None:
        if ctx.get_parameter_source("episodes") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--steps and --episodes were both given; give one of them")
        options["episodes"] = None
    typed = TrainOptions(**options)
    job = Job(
        _host_job(env_id, typed) if world is None else _agents_job(env_id, world, typed),
        typed.out or Path("runs") / Path(env_id).stem,
    )
    how = RunOptions(
        typed.resume, typed.overwrite, typed.json_output, typed.metrics_target, pictures
    )
    drive([job], how, _in_words)


def _agents_job(name: str, world: World | str, typed: TrainOptions) -> MakeRun:
    """Return what makes the run in which agents act on the device."""
    from qstep.learn.agents import HORIZON, AgentsRun
    from qstep.learn.plan import Budget

    if typed.trace is not None and typed.resume:
        raise ConfigError("--trace and --resume were both given; a trace covers a whole run")
    if typed.trace is not None and not is_model(typed.url):
        raise ConfigError(
            f"--trace was given and device is {typed.url!r}; only the model keeps every step"
        )
    budget = Budget(typed.steps, typed.episodes)

    def make(there: Mapping[str, Any]) -> AgentsRun:
        horizon = Budget(**there.get(HORIZON, asdict(budget)))
        if typed.epsilon_episodes is not None:
            horizon = Budget(episodes=typed.epsilon_episodes)
        plan = typed.plan(world, budget, _epsilon(typed).counted(horizon.length, horizon.unit))
        return AgentsRun(name, typed.url, plan, horizon, typed.trace, typed.env_kwargs)

    return make


def _epsilon(typed: TrainOptions) -> Epsilon:
    start, end, share = typed.epsilon_start, typed.epsilon_end, typed.epsilon_share
    return Epsilon(start, end, "linear", share, "run")


def _host_job(env_id: str, typed: TrainOptions) -> MakeRun:
    """Return what makes the run in which the host acts."""
    from qstep.learn.host import HostRun, Plan

    config = typed.host_config(env_id)
    epsilon = _epsilon(typed)
    episodes = typed.episodes
    assert episodes is not None  # --steps is refused

    def make(there: Mapping[str, Any]) -> HostRun:
        plan = Plan(
            env_id,
            episodes,
            epsilon,
            typed.sync_steps,
            typed.evaluate_every,
            epsilon_episodes=typed.epsilon_episodes or there.get("epsilon_episodes", 0),
            num_envs=typed.num_envs,
            env_kwargs=typed.env_kwargs,
        )
        return HostRun(typed.url, plan, typed.hyper, config)

    return make


def _in_words(report: dict[str, Any], result: Result) -> str:
    """Return a report as text."""
    assert isinstance(result, TableResult)
    on_device, rate = report["engine"] == "agents", report["steps_per_second"]
    agents = report["agents"]
    who = "1 agent" if agents == 1 else f"{agents} agents"
    made = (
        "the run was complete, so no step was made"
        if rate is None
        else f"{report['steps']} steps in {report['seconds']:.3g} s, "
        + (f"{rate / 1e6:.3g} million steps/s" if rate >= 1e6 else f"{rate:,.0f} steps/s")
    )
    lines = [
        f"{report['world']} on {report['device']}: {who}, {report['algorithm']}, {report['format']}: "
        + made,
        (
            f"{report['episodes']} episodes"
            if report["episodes"]
            else f"no episode ended; reward of a step, lately: {report['step_reward']:.4g}"
        )
        + (
            ""
            if report["greedy_return"] is None
            else f"; greedy: return {report['greedy_return']:.3f}"
        )
        + ("" if report["greedy_success"] is None else f", success {report['greedy_success']:.1%}"),
    ]
    lines += [result.saturated] if result.saturated else []
    lines += discount_in_words(report["alpha"], report["gamma"])
    if report["optimum"] and on_device:
        reached = [at for at in report["near_after"] if at is not None]
        when = f", the first after {min(reached)} steps" if reached else ""
        lines.append(
            f"policy worth within 1 % of the optimum (value iteration): {report['near_agents']} of "
            f"{agents}{when}; optimal: {report['optimal_agents']} of {agents}"
        )
    elif report["optimum"]:
        lines.append(optimum_in_words(report["optimum"]))
    lines += [report["hint"]] if report["hint"] else []
    lines += [f"{name}: {path}" for name, path in report["files"].items()]
    return "\n".join(lines)
