"""``qstep play``: watch a learnt table act, and score it."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qstep.cli._options import (
    FILE,
    FiniteRange,
    agent_option,
    env_kwargs_option,
    option,
    refuse,
    seed_option,
    table_of,
)
from qstep.cli._output import JsonOutput, json_option, room_for
from qstep.errors import EnvironmentSpaceError, TableError, WorldError
from qstep.learn.table import TableWorld, load_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["command"]


@click.command(short_help="Watch a learnt table act, and score it.")
@click.argument("table_file", metavar="TABLE.npz", type=FILE)
@click.argument("world_name", metavar="[WORLD]", required=False)
@option("--episodes", "Greedy episodes to score.", type=click.IntRange(1, 1_000_000), default=100)
@env_kwargs_option
@agent_option
@seed_option
@option("--watch/--no-watch", "Show one episode first.  [default: on a terminal]", default=None)
@option("--delay", "Seconds between the steps shown.", type=FiniteRange(0, 10), default=0.2)
@json_option("the score")
def command(
    table_file: Path,
    world_name: str | None,
    env_kwargs: dict[str, Any],
    episodes: int,
    agent: int,
    seed: int,
    watch: bool | None,
    delay: float,
    json_output: JsonOutput,
) -> None:
    """Act greedily on a learnt table: show an episode step by step, then score many.

    The table's file names the world in which it was learnt; a map or world file must be where it was.
    Give WORLD if the file names none, or if the world has moved: gridworld, gridworld-8x8, snake,
    cartpole, a map (.txt), a world file (.npz) or a Gymnasium id (module:id if a module registers it,
    also one in the current folder). A world with other states, transitions or rewards is refused. The
    table does not change, and no action is random.

    \b
    Examples:
      qstep play runs/gridworld/table.npz
      qstep play runs/FrozenLake-v1/table.npz --episodes 1000 --json
      qstep play table.npz FrozenLake-v1
    """
    import numpy as np

    from qstep.envs import make, table_size
    from qstep.learn.evaluate import MAX_SEED, evaluate
    from qstep.mdp.world import World

    if watch is False:
        refuse(["delay"], "needs --watch: it is the time between the steps shown")
    saved = load_table(table_file)
    q = table_of(table_file, saved, agent)
    learnt_in = saved.world
    name = world_name
    if name is None:
        if learnt_in is None:
            raise TableError(
                f"{table_file}: names no world; give the one in which it was learnt: "
                f"qstep play {table_file} WORLD"
            )
        name = learnt_in.name
    if not env_kwargs and learnt_in is not None and name == learnt_in.name:
        env_kwargs = dict(learnt_in.env_kwargs)
    env = make(name, seed % MAX_SEED, env_kwargs=env_kwargs)
    try:
        world = World.from_env(env)
    except WorldError:
        world = None
    _check_world(TableWorld.of(name, table_size(env), world, env_kwargs), learnt_in, q, table_file)
    if sys.stdout.isatty() if watch is None else watch:
        mode = "ansi" if "ansi" in env.metadata.get("render_modes", ()) else None
        shown = make(name, seed % MAX_SEED, mode, env_kwargs)
        _show(shown, q, seed % MAX_SEED, delay, to_stderr=json_output.on_stdout)
    goal = None if world is None else world.success_reward
    with room_for(json_output.file):
        found = asdict(evaluate(env, q, episodes, np.random.default_rng(seed), goal))
        del found["episode"]
        report = {"table": str(table_file), "env_id": name, "episodes": episodes, "seed": seed}
        rate = "" if found["success"] is None else f"success {found['success']:.0%}, "
        words = (
            f"{name}: {episodes} greedy episodes, mean return {found['mean_return']:.2f}, {rate}"
            f"length {found['mean_length']:.1f}"
        )
        json_output.tell({**report, **found}, lambda: click.echo(words))


def _check_world(
    world: TableWorld, learnt_in: TableWorld | None, q: NDArray[np.int64], table_file: Path
) -> None:
    """Raise an error unless a world is the one in which a table was learnt.

    If the file names none, only the size is compared. The table may then have further rows, all zero:
    the device may have been built for more states.
    """
    if learnt_in is None:
        rows, columns = q.shape
        if world.states < rows and not q[world.states :].any():
            rows = world.states
    elif (world.name, world.env_kwargs) == (learnt_in.name, learnt_in.env_kwargs):
        if world != learnt_in:
            raise TableError(
                f"{table_file}: {world.name} has changed since the table was learnt in it; train it "
                "again"
            )
        return
    else:
        rows, columns = learnt_in.states, learnt_in.actions
    if (world.states, world.actions) != (rows, columns):
        raise EnvironmentSpaceError(
            f"{world.name} has {world.states} states and {world.actions} actions; {table_file} is a "
            f"table of {rows} states and {columns} actions"
        )
    if learnt_in is not None and world.digest != learnt_in.digest:
        raise TableError(
            f"{table_file}: the table was learnt in {_with_arguments(learnt_in)}; "
            f"{_with_arguments(world)} is another world of the same size: train a table in it"
        )


def _with_arguments(world: TableWorld) -> str:
    """Return a world's name with the arguments of its environment."""
    return " ".join([world.name, *(f"{key}={value!r}" for key, value in world.env_kwargs.items())])


def _show(env: Any, q: Any, seed: int, delay: float, to_stderr: bool) -> None:
    """Print an episode: the environment's own drawing, if it has one, and each action."""
    from qstep.learn.evaluate import greedy

    state, total, steps = int(env.reset(seed=seed)[0]), 0.0, 0
    ended = False
    while not ended:
        action = greedy(q, state)
        said = f"state {state}, action {action}"
        if env.render_mode is not None:
            said = f"{env.render().rstrip()}\n{said}"
        following, reward, terminated, truncated, _ = env.step(action)
        state, total, steps = int(following), total + float(reward), steps + 1
        ended = bool(terminated or truncated)
        click.echo(f"{said}, reward {float(reward):g}", err=to_stderr)
        time.sleep(delay)
    how = "terminated" if terminated else "truncated"
    click.echo(f"{how} in state {state} after {steps} steps, return {total:g}", err=to_stderr)
