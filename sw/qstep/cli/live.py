"""`qstep live`: watch agents learn, on a page in this computer's browser."""

from __future__ import annotations

import contextlib
import webbrowser
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import click

from qstep._io import extras
from qstep.cli._acting import ActingOptions, acting_world
from qstep.cli._options import options_of, typed
from qstep.spec.protocol import MOST_STEPS

__all__ = ["command"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions(ActingOptions):
    """The options as typed; options that were not given take the world's defaults."""

    epsilon: float = typed("--epsilon", "Share of random actions, 0..1.", default=0.2)
    speed: int = typed(
        "--speed", "Steps per second per agent, 1..1000000; 0 for full speed.", default=1000
    )
    port: int = typed(
        "--port",
        "TCP port of 127.0.0.1.  [default: a free one]",
        type=click.IntRange(0, 65535),
        default=0,
        show_default=False,
    )
    no_browser: bool = typed(
        "--no-browser", "Print the address without opening a browser.", is_flag=True
    )
    num_envs: int = 1
    sync_steps: int = 64


@click.command("live")
@click.argument("name", metavar="WORLD")
@options_of(LiveOptions)
def command(name: str, **options: Any) -> None:
    """Watch agents learn WORLD in your browser.

    The page shows the table as a heat map, the map of the world with arrows (or the game's own
    picture), the curves of all agents, and counters. Buttons play, pause, step and reset the run;
    sliders change alpha, gamma and epsilon immediately. A different gamma can make a different policy
    optimal: in gridworld, from 0.93 on, the best policy enters the pit next to the start, which costs
    5 but ends the episode after one step. WORLD and DEVICE are as in `qstep train`. The host acts in
    worlds without a transition table, such as snake. Only this computer can open the page, and only
    with the token in its address. Ctrl-C stops the server.

    \b
    Examples:
      qstep live gridworld
      qstep live FrozenLake-v1 --agents 16 --speed 0
      qstep live gridworld --device sim --port 8000 --no-browser
      qstep live cartpole
      qstep live CartPole-v1 --epsilon 0.05
    """
    server = extras.load("qstep.live.server", "live")
    world = acting_world(name, options)
    known = {field.name for field in fields(LiveOptions)}  # others are for `qstep train`
    chosen = LiveOptions(**{given: options[given] for given in known & options.keys()})

    from qstep.learn.plan import Budget
    from qstep.learn.table_result import grid_named
    from qstep.live.controller import Controller
    from qstep.live.game import Game
    from qstep.live.run import Watched, WatchedAgents, WatchedHost
    from qstep.spec.epsilon import Epsilon

    epsilon = Epsilon(chosen.epsilon)
    with contextlib.ExitStack() as held:
        if world is None:
            host = held.enter_context(contextlib.closing(chosen.host_run(name, epsilon)))
            watched: Watched = WatchedHost(host)
            who = "the host acts"
        else:
            agents = chosen.agents_run(name, world, Budget(MOST_STEPS), epsilon)
            watched = WatchedAgents(held.enter_context(contextlib.closing(agents)))
            acting = watched.config.acting
            assert acting is not None
            many = "s" if acting.agents > 1 else ""
            who = f"{acting.agents} agent{many}, {acting.algorithm.value}"
        headline = f"{name} on {chosen.url}: {who}, {watched.config.format}"

        def ready(address: str) -> None:
            click.echo(f"{headline}\nopen {address}\nCtrl-C ends it")
            if not chosen.no_browser:
                webbrowser.open(address)

        controller = held.enter_context(Controller(watched, chosen.speed))
        controller.play()
        acting = watched.config.acting
        tiles = None if acting is None else acting.tiles
        grid = None if tiles else grid_named(name, chosen.env_kwargs)
        game = None if grid else partial(Game.of, name, chosen.env_kwargs, tiles)
        server.serve(controller, grid, tiles, headline, game, chosen.port, ready)
