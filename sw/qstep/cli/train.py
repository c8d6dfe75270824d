"""`qstep train`: learn an environment on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from qstep._io.pictures import drawing
from qstep.cli._acting import ActingOptions, acting_world
from qstep.cli._drive import Job, MakeRun, RunOptions, drive, metrics_option, run_options
from qstep.cli._options import NEW_FILE, POSITIVE, option, options_of, typed
from qstep.device import is_model
from qstep.envs.catalogue import in_words
from qstep.errors import ConfigError
from qstep.learn.result import Result
from qstep.learn.table_result import TableResult, optimum_in_words
from qstep.spec.discount import discount_in_words
from qstep.spec.epsilon import Epsilon

if TYPE_CHECKING:
    from qstep.learn.agents import AgentsRun
    from qstep.learn.host import HostRun
    from qstep.mdp.world import World

__all__ = ["command"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions(ActingOptions):
    """What was typed, with the defaults of the world; the fields are the options."""

    epsilon_start: float = typed("--epsilon-start", "First epsilon.", default=1.0)
    epsilon_end: float = typed("--epsilon-end", "Last epsilon.", default=0.05)
    epsilon_share: float = typed(
        "--epsilon-share", "Share of the run during which epsilon falls.", default=0.5
    )
    epsilon_episodes: int | None = typed(
        "--epsilon-episodes",
        "Episodes that --epsilon-share refers to.  "
        "[default: the whole run; with --resume, the run as first planned]",
        type=POSITIVE,
    )
    evaluate_every: int = typed(
        "--evaluate-every",
        "Play 100 greedy episodes every K episodes, host only.",
        default=100,
        metavar="K",
    )
    num_envs: int = typed(
        "--num-envs",
        "Environments that step in turns, host only: more than 1 for snake and cartpole.",
        default=1,
    )
    sync_steps: int = typed(
        "--sync-steps",
        "Transitions between reads of the table, host only: fewer is fresher, more is faster.",
        default=64,
    )
    trace: Path | None = typed(
        "--trace",
        "File for every step of the agents on the device.",
        type=NEW_FILE,
        metavar="FILE.npz",
    )
    episodes: int | None
    steps: int | None


@click.command("train", epilog=in_words())
@click.argument("env_id", metavar="WORLD")
@option(
    "--act",
    "Who acts.  [default: the device, in a world that has a transition table]",
    type=click.Choice(("device", "host")),
)
@option("--episodes", "Training episodes, 1 or more, of each agent.", default=2000)
@option("--steps", "Training steps of each agent, instead of episodes.", type=int)
@options_of(TrainOptions)
@run_options("runs/WORLD", "the summary", metrics_option)
@click.pass_context
def command(ctx: click.Context, /, env_id: str, act: str | None, **options: Any) -> None:
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
    how = replace(RunOptions.taken(options), write_pictures=ctx.with_resource(drawing()))
    world = acting_world(env_id, options, act)
    if options["steps"] is not None:
        if ctx.get_parameter_source("episodes") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--steps and --episodes were both given; give one of them")
        options["episodes"] = None
    chosen = TrainOptions(**options)
    if chosen.trace is not None and how.resume:
        raise ConfigError("--trace and --resume were both given; a trace covers a whole run")
    if world is None:
        make: MakeRun = partial(_host_run, env_id, chosen)
    else:
        make = partial(_agents_run, env_id, world, chosen)
    drive([Job(make, how.folder(Path(env_id).stem))], how, _in_words)


def _epsilon(chosen: TrainOptions) -> Epsilon:
    start, end, share = chosen.epsilon_start, chosen.epsilon_end, chosen.epsilon_share
    return Epsilon(start, end, "linear", share, "run")


def _agents_run(
    name: str, world: World | str, chosen: TrainOptions, there: Mapping[str, Any]
) -> AgentsRun:
    """Return the run in which agents act on the device; `there` is the checkpoint's identity."""
    from qstep.learn.agents import HORIZON, AgentsRun
    from qstep.learn.plan import Budget

    if chosen.trace is not None and not is_model(chosen.url):
        raise ConfigError(
            f"--trace was given and device is {chosen.url!r}; only the model keeps every step"
        )
    budget = Budget(chosen.steps, chosen.episodes)
    horizon = Budget(**there.get(HORIZON, asdict(budget)))
    if chosen.epsilon_episodes is not None:
        horizon = Budget(episodes=chosen.epsilon_episodes)
    plan = chosen.plan(world, budget, _epsilon(chosen).counted(horizon.length, horizon.unit))
    return AgentsRun(name, chosen.url, plan, horizon, chosen.trace, chosen.env_kwargs)


def _host_run(env_id: str, chosen: TrainOptions, there: Mapping[str, Any]) -> HostRun:
    """Return the run in which the host acts; `there` is the checkpoint's identity."""
    from qstep.learn.host import HostRun, Plan

    assert chosen.episodes is not None  # --steps is refused
    plan = Plan(
        env_id,
        chosen.episodes,
        _epsilon(chosen),
        chosen.sync_steps,
        chosen.evaluate_every,
        epsilon_episodes=chosen.epsilon_episodes or there.get("epsilon_episodes", 0),
        num_envs=chosen.num_envs,
        env_kwargs=chosen.env_kwargs,
    )
    return HostRun(chosen.url, plan, chosen.hyper, chosen.host_config(env_id))


def _in_words(report: dict[str, Any], result: Result) -> str:
    """Return a report as text."""
    assert isinstance(result, TableResult)
    agents = report["agents"]
    who = "1 agent" if agents == 1 else f"{agents} agents"
    if report["episodes"]:
        outcome = f"{report['episodes']} episodes"
    else:
        outcome = f"no episode ended; reward of a step, lately: {report['step_reward']:.4g}"
    if report["greedy_return"] is not None:
        outcome += f"; greedy: return {report['greedy_return']:.3f}"
    if report["greedy_success"] is not None:
        outcome += f", success {report['greedy_success']:.1%}"
    lines = [
        f"{report['world']} on {report['device']}: {who}, {report['algorithm']}, {report['format']}: "
        + _speed_in_words(report),
        outcome,
    ]
    lines += [result.saturated] if result.saturated else []
    lines += discount_in_words(report["alpha"], report["gamma"])
    if report["optimum"] and report["engine"] == "agents":
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


def _speed_in_words(report: dict[str, Any]) -> str:
    rate = report["steps_per_second"]
    if rate is None:
        return "the run was complete, so no step was made"
    speed = f"{rate / 1e6:.3g} million steps/s" if rate >= 1e6 else f"{rate:,.0f} steps/s"
    return f"{report['steps']} steps in {report['seconds']:.3g} s, {speed}"
