"""``qstep play``: watch a learnt table act, and score it."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qstep.cli._options import (
    FiniteRange,
    agent_option,
    env_kwargs_option,
    refuse,
    seed_option,
    table_of,
)
from qstep.cli._output import JsonOutput, json_option, room_for
from qstep.errors import EnvironmentSpaceError, TableError, WorldError
from qstep.learn.table import TableWorld, load_table, table_config, table_world

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["command"]


@click.command(short_help="Watch a learnt table act, and score it.")
@click.argument("table_file", metavar="TABLE.npz", type=click.Path(path_type=Path))
@click.argument("world_name", metavar="[WORLD]", required=False)
@click.option(
    "--episodes",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="Greedy episodes to score.",
)
@env_kwargs_option
@agent_option
@seed_option
@click.option(
    "--watch/--no-watch", default=None, help="Show one episode first.  [default: on a terminal]"
)
@click.option(
    "--delay",
    type=FiniteRange(0, 10),
    default=0.2,
    show_default=True,
    help="Seconds between the steps shown.",
)
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

    WORLD is by default the one in which the table was learnt, which its file names; a map or world file
    must be where it was. Another WORLD is one that `qstep train` accepts, except a circuit: gridworld,
    gridworld-8x8, snake, cartpole, a map (.txt), a world file (.npz) or a Gymnasium id (module:id if a
    module registers it, also one in the current folder). The table does not change, and no action is
    random.

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
    config = table_config(table_file)
    q = table_of(config, load_table(table_file, config), agent, table_file)
    learnt_in = table_world(table_file)
    env_id = world_name or _named(learnt_in, table_file)
    if not env_kwargs and learnt_in is not None and world_name is None:
        env_kwargs = dict(learnt_in.env_kwargs)
    env = make(env_id, seed % MAX_SEED, env_kwargs=env_kwargs)
    size = table_size(env)
    try:
        world = World.from_env(env)
    except WorldError:
        world = None
    if world_name is not None:
        _check_size(size, env_id, learnt_in, q, table_file)
    elif TableWorld.of(env_id, size, world, env_kwargs) != learnt_in:
        raise TableError(
            f"{table_file}: {env_id} has changed since the table was learnt in it; train it again, or "
            f"name the world to play it as it is: qstep play {table_file} {env_id}"
        )
    if sys.stdout.isatty() if watch is None else watch:
        mode = "ansi" if "ansi" in env.metadata.get("render_modes", ()) else None
        shown = make(env_id, seed % MAX_SEED, mode, env_kwargs)
        _show(shown, q, seed % MAX_SEED, delay, to_stderr=json_output.on_stdout)
    goal = None if world is None else world.success_reward
    with room_for(json_output.file):
        found = asdict(evaluate(env, q, episodes, np.random.default_rng(seed), goal))
        del found["episode"]
        report = {"table": str(table_file), "env_id": env_id, "episodes": episodes, "seed": seed}
        rate = "" if found["success"] is None else f"success {found['success']:.0%}, "
        words = (
            f"{env_id}: {episodes} greedy episodes, mean return {found['mean_return']:.2f}, {rate}"
            f"length {found['mean_length']:.1f}"
        )
        json_output.tell({**report, **found}, lambda: click.echo(words))


def _named(learnt_in: TableWorld | None, table_file: Path) -> str:
    """Return the name of the world in which a table was learnt; raise TableError without one."""
    if learnt_in is None:
        raise TableError(
            f"{table_file}: names no world; give the one in which it was learnt: "
            f"qstep play {table_file} WORLD"
        )
    return learnt_in.name


def _check_size(
    size: tuple[int, int],
    env_id: str,
    learnt_in: TableWorld | None,
    q: NDArray[np.int64],
    table_file: Path,
) -> None:
    """Raise EnvironmentSpaceError unless a world has the size of the one that a table was learnt in.

    A file that names no world may have further rows, of a device with room for them, if they are zero.
    """
    states, actions = size
    rows, columns = q.shape
    if learnt_in is not None:
        rows, columns = learnt_in.states, learnt_in.actions
    elif states < rows and not q[states:].any():
        rows = states
    if size != (rows, columns):
        raise EnvironmentSpaceError(
            f"{env_id} has {states} states and {actions} actions; {table_file} is a table of {rows} "
            f"states and {columns} actions"
        )


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
