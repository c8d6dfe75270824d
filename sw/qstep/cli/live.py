"""`qstep live`: watch agents learn, on a page of this computer's browser."""

from __future__ import annotations

import contextlib
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qstep._io import extras
from qstep.cli._acting import (
    DEVICE_ONLY,
    acting_options,
    check_config,
    host_config,
    limited,
    only_for,
    use_defaults,
)
from qstep.cli._options import config_from, device_option
from qstep.errors import NoTableError
from qstep.spec.agents import CIRCUITS
from qstep.spec.fixed import Rounding
from qstep.spec.protocol import MOST_STEPS

if TYPE_CHECKING:
    from qstep.live.run import Watched
    from qstep.mdp.world import World

__all__ = ["command"]


@click.command("live")
@click.argument("name", metavar="WORLD")
@device_option
@acting_options
@click.option(
    "--epsilon", type=float, default=0.2, show_default=True, help="How much to explore, 0..1."
)
@click.option(
    "--speed",
    type=int,
    default=1000,
    show_default=True,
    help="Steps a second of each agent, 1..1000000; 0 for full speed.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="TCP port of 127.0.0.1.  [default: a free one]",
)
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    name: str,
    url: str,
    speed: int,
    port: int,
    no_browser: bool,
    **options: Any,
) -> None:
    """Watch agents learn WORLD, on a page of this computer's browser.

    The page shows the table as a heat map, the map of the world with arrows (or the game's own picture),
    the curves of all agents, and counters. It plays, pauses, steps and resets the run; its sliders
    change alpha, gamma and epsilon at once. Another gamma can make another policy optimal: from 0.93 on,
    gridworld prefers the pit beside the start, which costs 5 but ends the episode after one step. WORLD
    and DEVICE are those of `qstep train`. The host acts in worlds without a transition table, such as
    snake. Only this computer can open the page, and only with the token in its address. Ctrl-C ends it.

    \b
    Examples:
      qstep live gridworld
      qstep live FrozenLake-v1 --agents 16 --speed 0
      qstep live gridworld --device sim --port 8000 --no-browser
      qstep live cartpole
    """
    server = extras.load("qstep.live.server", "live")
    from qstep.live.controller import Controller

    with contextlib.ExitStack() as held:
        world = _world(name, options.pop("max_episode_steps"))
        if world is not None:
            check_config(options["config_file"])
        use_defaults(ctx, options, name, on_host=world is None)
        if world is None:
            run, what = _host_run(held, ctx, name, url, **options)
        else:
            run, what = _agents_run(held, world, url, **options)
        headline = f"{name} on {url}: {what}"

        def ready(address: str) -> None:
            click.echo(f"{headline}\nopen {address}\nCtrl-C ends it")
            if not no_browser:
                webbrowser.open(address)

        controller = held.enter_context(Controller(run, speed))
        controller.play()
        from qstep.learn.table_result import grid_named

        grid = grid_named(name)
        drawn = None if grid or name.endswith((".npz", *CIRCUITS)) else name
        server.serve(controller, grid, headline, drawn, port, ready)


def _world(name: str, max_episode_steps: int | None) -> World | str | None:
    """Return a world with the requested limit, a circuit's name, or None if the host acts."""
    from qstep.mdp.world import World

    if name.endswith(CIRCUITS):
        return limited(name, max_episode_steps)
    world = None
    with contextlib.suppress(NoTableError):
        world = World.named(name)
    return limited(world, max_episode_steps)


def _agents_run(
    held: contextlib.ExitStack,
    world: World | str,
    url: str,
    agents: int | None,
    lanes: int | None,
    shared_table: bool,
    algorithm: str,
    alpha: float,
    gamma: float,
    epsilon: float,
    rounding: str | None,
    seed: int,
    config_file: Path | None,
    number_format: str | None,
    **_: Any,
) -> tuple[Watched, str]:
    """Open a device on which agents act; return their run and its description."""
    from qstep.device.acting import open_agents
    from qstep.learn.plan import Budget, planned
    from qstep.live.run import WatchedAgents
    from qstep.spec.epsilon import Epsilon
    from qstep.spec.settings import AgentSettings

    plan = planned(
        world,
        budget=Budget(MOST_STEPS),
        agents=agents,
        algorithm=algorithm,
        shared_table=shared_table,
        settings=AgentSettings(alpha, gamma, Epsilon(epsilon), seed),
        number_format=number_format,
        rounding=rounding or Rounding.NEAREST,
        lanes=lanes,
        config=None
        if config_file is None
        else config_from(config_file, None, None, number_format, None),
    )
    device = open_agents(url, plan.config, plan.loaded, plan.settings)
    held.callback(device.close)
    acting = plan.config.acting
    assert acting is not None
    who = "1 agent" if acting.agents == 1 else f"{acting.agents} agents"
    what = f"{who}, {acting.algorithm.value}, {plan.config.format}"
    return WatchedAgents(device, plan), what


def _host_run(
    held: contextlib.ExitStack,
    ctx: click.Context,
    name: str,
    url: str,
    alpha: float,
    gamma: float,
    epsilon: float,
    rounding: str | None,
    seed: int,
    config_file: Path | None,
    number_format: str | None,
    num_envs: int = 1,
    sync_steps: int = 64,
    **_: Any,
) -> tuple[Watched, str]:
    """Open a device for which the host acts; return its run and its description."""
    from qstep.device import open_device
    from qstep.learn.host import Plan
    from qstep.live.run import WatchedHost
    from qstep.spec.settings import Hyperparameters

    only_for("device", DEVICE_ONLY)
    mode = None if rounding is None else Rounding.parse(rounding)
    config = host_config(name, config_file, number_format, mode)
    device = held.enter_context(open_device(url, config))
    plan = Plan(name, sync_steps=sync_steps, num_envs=num_envs)
    run = WatchedHost(device, plan, Hyperparameters(alpha, gamma, mode, seed), epsilon)
    return run, f"the host acts, {config.format}"
