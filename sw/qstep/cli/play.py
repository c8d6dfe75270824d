"""``qstep play``: watch a learned table or network act, and score it."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from qstep._io.files import write_atomically
from qstep.cli._options import (
    FILE,
    NEW_FILE,
    FiniteRange,
    agent_option,
    env_kwargs_option,
    network_of,
    option,
    refuse,
    seed_option,
    table_of,
)
from qstep.cli._output import JsonOutput, json_option, room_for
from qstep.errors import DrawingError, EnvironmentSpaceError, TableError, WorldError
from qstep.learn.table import TableWorld, load_table

if TYPE_CHECKING:
    import numpy as np
    from gymnasium import Env
    from numpy.typing import NDArray

    from qstep.mdp.world import World
    from qstep.spec.tiles import Tiles

__all__ = ["command"]


_GIF = ".gif"


class _Game(NamedTuple):
    """A world and its environment; `make_env` makes a copy with a given `render_mode`."""

    name: str
    make_env: Callable[..., Env[Any, Any]]
    env: Env[Any, Any]
    world: World | None
    choose: Callable[[Any], Any]


def _gif(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """Reject a file that is not a GIF before the work starts."""
    if path is not None and path.suffix.lower() != _GIF:
        raise click.BadParameter(f"'{path}' does not end with {_GIF}")
    return path


@click.command(short_help="Watch a learned table or network act, and score it.")
@click.argument("source", metavar="TABLE.npz|FOLDER", type=FILE)
@click.argument("world_name", metavar="[WORLD]", required=False)
@option("--episodes", "Greedy episodes to score.", type=click.IntRange(1, 1_000_000), default=100)
@env_kwargs_option
@agent_option
@seed_option
@option("--watch/--no-watch", "Show one episode first.  [default: on a terminal]", default=None)
@option("--delay", "Seconds between the steps shown.", type=FiniteRange(0, 10), default=0.2)
@option(
    "--gif",
    "Record the first scored episode as an animated picture.",
    "gif_file",
    type=NEW_FILE,
    callback=_gif,
    metavar="FILE.gif",
)
@json_option("the score")
def command(
    source: Path,
    world_name: str | None,
    env_kwargs: dict[str, Any],
    episodes: int,
    agent: int | None,
    seed: int,
    watch: bool | None,
    delay: float,
    gif_file: Path | None,
    json_output: JsonOutput,
) -> None:
    """Act greedily on a learned table or network: show an episode step by step, then score many.

    A network is given by its run's FOLDER. The table's file, or the folder's report, names the world in
    which it was learned; a map or world file must still be in the same place. Give WORLD if the table's
    file names none, or if the world has moved: gridworld, gridworld-8x8, snake, cartpole, a map (.txt),
    a world file (.npz) or a Gymnasium id (module:id if a module registers it, which may be in the
    current folder). A world is rejected if its states, transitions or rewards differ from those of the
    table's world, or if its sizes do not fit the network. The learned values do not change, and no
    action is random.

    \b
    Examples:
      qstep play runs/gridworld/table.npz
      qstep play runs/FrozenLake-v1/table.npz --episodes 1000 --json
      qstep play runs/CartPole-v1/table.npz
      qstep play table.npz FrozenLake-v1
      qstep play runs/dqn-snake --gif snake.gif
    """
    import numpy as np

    from qstep.learn.evaluate import MAX_SEED, evaluate

    if watch is False:
        refuse(["delay"], "needs --watch: it is the time between the steps shown")
    if source.is_dir():
        refuse(["agent"], "is for tables; a run has one network")
        kind, game = "network", _network(source, world_name, env_kwargs)
    else:
        kind, game = "table", _table(source, world_name, env_kwargs, agent, seed % MAX_SEED)
    if sys.stdout.isatty() if watch is None else watch:
        mode = "ansi" if "ansi" in game.env.metadata.get("render_modes", ()) else None
        shown = game.make_env(render_mode=mode)
        _show(shown, game.choose, seed % MAX_SEED, delay, to_stderr=json_output.on_stdout)
    goal = None if game.world is None else game.world.success_reward
    with room_for(json_output.file, gif_file):
        if gif_file is not None:
            _record(gif_file, game, seed)
        found = asdict(evaluate(game.env, game.choose, episodes, np.random.default_rng(seed), goal))
        del found["episode"]
        report = {kind: str(source), "env_id": game.name, "episodes": episodes, "seed": seed}
        rate = "" if found["success"] is None else f"success {found['success']:.0%}, "
        words = (
            f"{game.name}: {episodes} greedy episodes, mean return {found['mean_return']:.2f}, {rate}"
            f"length {found['mean_length']:.1f}"
        )
        json_output.tell({**report, **found}, words)


def _table(
    table_file: Path,
    world_name: str | None,
    env_kwargs: dict[str, Any],
    agent: int | None,
    seed: int,
) -> _Game:
    """Return a table's game; raise TableError or EnvironmentSpaceError for a wrong world."""
    from qstep.envs import make, make_any, table_size
    from qstep.learn.evaluate import chooser
    from qstep.learn.run import check_complete

    check_complete(table_file)
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
            f"{table_file}: names no world; give the one in which it was learned: "
            f"qstep play {table_file} WORLD"
        )
    tiles = None if saved.config.acting is None else saved.config.acting.tiles
    made = partial(make_any, name) if tiles else partial(make, name, seed)
    make_env = partial(made, env_kwargs=env_kwargs)
    env, world = make_env(), None
    if tiles is None:
        world = _world_of(env)
        there = TableWorld.of(name, table_size(env), world, env_kwargs)
        _check_world(there, learnt_in, q, table_file)
    else:
        _check_spaces(env, name, tiles, q, table_file)
    return _Game(name, make_env, env, world, chooser(q, tiles))


def _network(folder: Path, world_name: str | None, env_kwargs: dict[str, Any]) -> _Game:
    """Return a network's game; acting raises EnvironmentSpaceError if the world's sizes do not fit."""
    network = network_of(folder)
    from qstep.deep.algorithms import preset_of  # loads PyTorch, if installed

    name = world_name or network.name
    if not env_kwargs and name == network.name:
        env_kwargs = network.report["env_kwargs"]
    there = replace(network, name=name, report={**network.report, "env_kwargs": env_kwargs})
    make_env = preset_of(name, env_kwargs).make_env
    env = make_env()
    return _Game(name, make_env, env, _world_of(env), there.act)


def _world_of(env: Env[Any, Any]) -> World | None:
    """Return the transition table of an environment; None if it has none."""
    from qstep.mdp.world import World

    with contextlib.suppress(WorldError):
        return World.from_env(env)
    return None


def _check_world(
    world: TableWorld, learnt_in: TableWorld | None, q: NDArray[np.int64], table_file: Path
) -> None:
    """Raise an error unless a world is the one in which a table was learned.

    If the file names no world, only the size is compared. The table may then have extra rows of zeros,
    because the device may have been built for more states.
    """
    if learnt_in is None:
        rows, columns = q.shape
        if not q[world.states :].any():
            rows = min(rows, world.states)
    elif _with_arguments(world) != _with_arguments(learnt_in):
        rows, columns = learnt_in.states, learnt_in.actions
    elif world != learnt_in:
        raise TableError(
            f"{table_file}: {world.name} has changed since the table was learned in it; train it again"
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
            f"{table_file}: the table was learned in {_with_arguments(learnt_in)}; "
            f"{_with_arguments(world)} is another world of the same size: train a table in it"
        )


def _check_spaces(
    env: Env[Any, Any], name: str, tiles: Tiles, q: NDArray[np.int64], table_file: Path
) -> None:
    """Raise EnvironmentSpaceError unless tiles and table fit the sizes of an environment's spaces."""
    wanted = (len(tiles.coordinates),), q.shape[-1]
    found = env.observation_space.shape, getattr(env.action_space, "n", None)
    if found != wanted:
        raise EnvironmentSpaceError(
            f"{name} has observations {env.observation_space} and actions {env.action_space}; "
            f"{table_file} is for {wanted[0][0]} real numbers and {wanted[1]} actions"
        )


def _with_arguments(world: TableWorld) -> str:
    """Return a world's name followed by the arguments of its environment."""
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


def _record(file: Path, game: _Game, seed: int) -> None:
    """Write the first scored episode as an animated GIF; raise DrawingError if it cannot be drawn."""
    import numpy as np
    from gymnasium.error import DependencyNotInstalled
    from gymnasium.wrappers import RenderCollection
    from PIL import Image

    from qstep.envs.rendering import draw_offscreen
    from qstep.learn.evaluate import evaluate

    mode = "rgb_array"
    if mode not in game.env.metadata.get("render_modes", ()):
        raise DrawingError(f"{file} cannot be drawn: {game.name} has no render mode {mode}")
    draw_offscreen()
    try:
        env = RenderCollection(game.make_env(render_mode=mode))
        evaluate(env, game.choose, 1, np.random.default_rng(seed), None)
    except DependencyNotInstalled as cause:
        raise DrawingError(f"{file} cannot be drawn: {cause}") from cause
    first, *others = (Image.fromarray(np.asarray(frame)) for frame in env.render())
    packed, between_ms = io.BytesIO(), 1000 / env.metadata.get("render_fps", 10)
    first.save(packed, "GIF", save_all=True, append_images=others, duration=between_ms, loop=0)
    write_atomically(file, packed.getvalue())
