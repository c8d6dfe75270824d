"""``qstep play``: watch a learnt table act, and score it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
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
    from gymnasium import Env
    from numpy.typing import NDArray

    from qstep.spec.tiles import Tiles

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
      qstep play runs/CartPole-v1/table.npz
      qstep play table.npz FrozenLake-v1
    """
    import numpy as np

    from qstep.envs import make, make_any, table_size
    from qstep.learn.evaluate import MAX_SEED, chooser, evaluate
    from qstep.mdp.world import World

    if watch is False:
        refuse(["delay"], "needs --watch: it is the time between the steps shown")
    saved = load_table(table_file)
    q = table_of(table_file, saved, agent)
    learnt_in = saved.world
    name = world_name
    if learnt_in is not None:
        name = name or learnt_in.name
        if not env_kwargs and name == learnt_in.name:
            env_kwargs = dict(learnt_in.env_kwargs)
    elif name is None:
        raise TableError(
            f"{table_file}: names no world; give the one in which it was learnt: "
            f"qstep play {table_file} WORLD"
        )
    tiles = None if saved.config.acting is None else saved.config.acting.tiles
    make_env = partial(make_any, name) if tiles else partial(make, name, seed % MAX_SEED)
    env, goal = make_env(env_kwargs=env_kwargs), None
    if tiles is None:
        world = None
        with contextlib.suppress(WorldError):
            world = World.from_env(env)
            goal = world.success_reward
        there = TableWorld.of(name, table_size(env), world, env_kwargs)
        _check_world(there, learnt_in, q, table_file)
    else:
        _check_spaces(env, name, tiles, q, table_file)
    choose = chooser(q, tiles)
    if sys.stdout.isatty() if watch is None else watch:
        mode = "ansi" if "ansi" in env.metadata.get("render_modes", ()) else None
        shown = make_env(render_mode=mode, env_kwargs=env_kwargs)
        _show(shown, choose, seed % MAX_SEED, delay, to_stderr=json_output.on_stdout)
    with room_for(json_output.file):
        found = asdict(evaluate(env, choose, episodes, np.random.default_rng(seed), goal))
        del found["episode"]
        report = {"table": str(table_file), "env_id": name, "episodes": episodes, "seed": seed}
        rate = "" if found["success"] is None else f"success {found['success']:.0%}, "
        words = (
            f"{name}: {episodes} greedy episodes, mean return {found['mean_return']:.2f}, {rate}"
            f"length {found['mean_length']:.1f}"
        )
        json_output.tell({**report, **found}, words)


def _check_world(
    world: TableWorld, learnt_in: TableWorld | None, q: NDArray[np.int64], table_file: Path
) -> None:
    """Raise an error unless a world is the one in which a table was learnt.

    If the file names none, only the size is compared. The table may then have further rows, all zero:
    the device may have been built for more states.
    """
    if learnt_in is None:
        rows, columns = q.shape
        if not q[world.states :].any():
            rows = min(rows, world.states)
    elif _with_arguments(world) != _with_arguments(learnt_in):
        rows, columns = learnt_in.states, learnt_in.actions
    elif world != learnt_in:
        raise TableError(
            f"{table_file}: {world.name} has changed since the table was learnt in it; train it again"
        )
    else:
        return
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


def _check_spaces(
    env: Env[Any, Any], name: str, tiles: Tiles, q: NDArray[np.int64], table_file: Path
) -> None:
    """Raise EnvironmentSpaceError unless tiles and table have the sizes of an environment's spaces."""
    wanted = (len(tiles.coordinates),), q.shape[-1]
    found = env.observation_space.shape, getattr(env.action_space, "n", None)
    if found != wanted:
        raise EnvironmentSpaceError(
            f"{name} has observations {env.observation_space} and actions {env.action_space}; "
            f"{table_file} is for {wanted[0][0]} real numbers and {wanted[1]} actions"
        )


def _with_arguments(world: TableWorld) -> str:
    """Return a world's name with the arguments of its environment."""
    return " ".join([world.name, *(f"{key}={value!r}" for key, value in world.env_kwargs.items())])


def _show(
    env: Env[Any, Any], choose: Callable[[Any], int], seed: int, delay: float, to_stderr: bool
) -> None:
    """Print an episode: the environment's own drawing, if it has one, and each action."""
    state, total, steps = env.reset(seed=seed)[0], 0.0, 0
    ended = False
    while not ended:
        action = choose(state)
        said = f"state {state}, action {action}"
        if env.render_mode is not None:
            said = f"{str(env.render()).rstrip()}\n{said}"
        state, reward, terminated, truncated, _ = env.step(action)
        total, steps = total + float(reward), steps + 1
        ended = bool(terminated or truncated)
        click.echo(f"{said}, reward {float(reward):g}", err=to_stderr)
        time.sleep(delay)
    how = "terminated" if terminated else "truncated"
    click.echo(f"{how} in state {state} after {steps} steps, return {total:g}", err=to_stderr)
