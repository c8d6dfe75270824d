"""`qstep train`: train agents on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.core import ParameterSource

from qstep._io.pictures import drawing
from qstep.cli._acting import ActingOptions, acting_world
from qstep.cli._drive import (
    Job,
    RunOptions,
    drive,
    files_in_words,
    metrics_option,
    run_options,
)
from qstep.cli._options import (
    NEW_FILE,
    POSITIVE,
    CommaList,
    folder_of,
    option,
    options_of,
    typed,
)
from qstep.device import is_model
from qstep.envs.catalogue import in_words
from qstep.errors import ConfigError
from qstep.learn.table_result import TableResult, optimum_in_words
from qstep.spec.discount import discount_in_words
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import Hyperparameters

if TYPE_CHECKING:
    from qstep.learn.plan import AgentsWorld
    from qstep.learn.run import Run

__all__ = ["command"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions(ActingOptions):
    """The options as typed; options that were not given take the world's defaults."""

    epsilon_start: float = typed("--epsilon-start", "Initial epsilon.", default=1.0)
    epsilon_end: float = typed("--epsilon-end", "Final epsilon.", default=0.05)
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
        "Environments that take turns, host only; more than 1 only for snake and cartpole.",
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
    tiles: Any = typed(
        "--tiles",
        "Tiles per observed number: one N for all, or one per number; the host steps WORLD.",
        type=CommaList(int, "whole numbers"),
        metavar="N[,N...]",
    )
    episodes: int | None
    steps: int | None

    def run(self, name: str, world: AgentsWorld | str | None, there: Mapping[str, Any]) -> Run:
        """Return a run in `world` (None if the host acts); `there` is the checkpoint's identity."""
        start, end, share = self.epsilon_start, self.epsilon_end, self.epsilon_share
        epsilon = Epsilon(start, end, "linear", share, "run")
        if world is None:
            return self.host_run(
                name,
                epsilon,
                episodes=self.episodes,
                evaluate_every=self.evaluate_every,
                epsilon_episodes=self.epsilon_episodes or there.get("epsilon_episodes", 0),
            )
        from qstep.learn.agents import HORIZON
        from qstep.learn.plan import Budget

        if self.trace is not None and not is_model(self.url):
            raise ConfigError(
                f"--trace was given and device is {self.url!r}; only the model records every step"
            )
        budget = Budget(self.steps, self.episodes)
        horizon = Budget(**there.get(HORIZON, asdict(budget)))
        if self.epsilon_episodes is not None:
            horizon = Budget(episodes=self.epsilon_episodes)
        epsilon = epsilon.counted(horizon.length, horizon.unit)
        return self.agents_run(name, world, budget, epsilon, horizon=horizon, trace=self.trace)


@click.command("train", epilog=in_words())
@click.argument("env_id", metavar="WORLD")
@option(
    "--act",
    "Who acts.  [default: the device, in a world with a transition table]",
    type=click.Choice(("device", "host")),
)
@option(
    "--episodes",
    "Training episodes per agent, 1 or more. Agents act in lockstep, so a run overshoots a little.",
    default=2000,
)
@option("--steps", "Training steps per agent, instead of episodes.", type=int)
@options_of(TrainOptions)
@run_options("runs/WORLD", "the summary", metrics_option)
@click.pass_context
def command(ctx: click.Context, /, env_id: str, act: str | None, **options: Any) -> None:
    """Train the Q-table of a world on a device.

    WORLD is one of the worlds named below, a map (.txt), a world file (.npz), the file of a circuit that
    is part of the device of --config (.sv, .v, .py), or a Gymnasium id with discrete observations and
    actions (module:id if a module registers it, which may be in the current folder).

    Agents act on the device if the world has a transition table. The host reads only counters and
    tables, so the model takes up to hundreds of millions of steps per second. In CartPole-v1 and
    MountainCar-v0 they also act on the device, by tile coding. With --tiles, agents of the model learn
    any environment with real-valued observations. Otherwise, and with --act host, the host acts and
    streams the transitions to the device.

    The run writes table.npz, history.json, report.json, learning_curve.png, checkpoint.npz and, for a
    map or tiles, policy.png. The same seed gives the same tables on every device. After Ctrl-C, --resume
    continues from the checkpoint; the result is exactly that of an uninterrupted run.

    \b
    Examples:
      qstep train gridworld
      qstep train FrozenLake-v1 --agents 16 --algorithm expected-sarsa
      qstep train Taxi-v3 --steps 1000000 --json
      qstep train CartPole-v1
      qstep train Acrobot-v1 --tiles 8 --alpha 0.2 --gamma 1 --epsilon-start 0.1
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
    drive([Job(partial(chosen.run, env_id, world), how.folder(folder_of(env_id)))], how, _in_words)


def _in_words(report: dict[str, Any], result: TableResult) -> list[str]:
    """Return a report as text."""
    agents = report["agents"]
    who = "1 agent" if agents == 1 else f"{agents} agents"
    if report["episodes"]:
        outcome = f"{report['episodes']} episodes"
    else:
        outcome = f"no episode ended; recent reward per step: {report['step_reward']:.4g}"
    if report["greedy_return"] is not None:
        several = agents > 1 and not report["shared_table"]
        greedy = f"greedy (median of {agents} agents)" if several else "greedy"
        outcome += f"; {greedy}: return {report['greedy_return']:.3f}"
    if report["greedy_success"] is not None:
        outcome += f", success {report['greedy_success']:.1%}"
    lines = [
        f"{report['world']} on {report['device']}: {who}, {report['algorithm']}, {report['format']}: "
        + _speed_in_words(report),
        outcome,
    ]
    lines += [result.saturated] if result.saturated else []
    bits = result.config.coefficient_bits
    learned = result.learned_with
    for own in {learned} if isinstance(learned, Hyperparameters) else set(learned):
        lines += discount_in_words(own.alpha, own.gamma, bits)
    if report["optimum"] and report["engine"] == "agents":
        reached = [at for at in report["near_after"] if at is not None]
        when = f", the first after {min(reached):,} steps" if reached else ""
        lines.append(
            f"policy value within 1 % of the optimum (value iteration): {report['near_agents']} of "
            f"{who}{when}; exactly optimal: {report['optimal_agents']} of {agents}"
        )
    elif report["optimum"]:
        lines.append(optimum_in_words(report["optimum"]))
    elif _has_table(result) and 1 in np.atleast_1d(report["discount"]):
        lines.append("not compared with value iteration: gamma is 1")
    lines += [report["hint"]] if report["hint"] else []
    return lines + files_in_words(report)


def _has_table(result: TableResult) -> bool:
    """Return whether the transition table of a result's world is known."""
    return result.tiles is None and result.world is not None and result.world.digest is not None


def _speed_in_words(report: dict[str, Any]) -> str:
    rate = report["steps_per_second"]
    if rate is None:
        return "the run was already complete; no steps were taken"
    speed = f"{rate / 1e6:.3g} million steps/s" if rate >= 1e6 else f"{rate:,.0f} steps/s"
    return f"{report['steps']} steps in {report['seconds']:.3g} s, {speed}"
