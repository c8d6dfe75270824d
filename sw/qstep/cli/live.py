"""`qstep live`: watch agents learn, on a page of this computer's browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from qstep import extras
from qstep.acting.config import CIRCUITS
from qstep.cli._acting import DEVICE_DEFAULTS, acting_options, grid_named
from qstep.cli._options import config_from, device_option
from qstep.errors import NoTableError
from qstep.fixed import Rounding
from qstep.protocol import MOST_STEPS

if TYPE_CHECKING:
    from qstep.acting.world import World

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
    help="Steps a second of each agent, 1..1000000; 0 for as fast as it goes.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="TCP port of 127.0.0.1.  [default: a free one]",
)
@click.option("--no-browser", is_flag=True, help="Say the address, and open no browser.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    name: str,
    url: str,
    agents: int | None,
    max_episode_steps: int | None,
    lanes: int | None,
    shared_table: bool,
    algorithm: str,
    alpha: float,
    gamma: float,
    rounding: str | None,
    seed: int,
    config_file: Path | None,
    number_format: str | None,
    epsilon: float,
    speed: int,
    port: int,
    no_browser: bool,
) -> None:
    """Watch agents learn WORLD, on a page of this computer's browser.

    The page shows the table as a heat map (with arrows on the map of the world, if it has one), the
    curves of all agents, and counters. It plays, pauses, steps and resets the run; its sliders change
    alpha, gamma and epsilon at once. WORLD and DEVICE are those of `qstep train` with --act device. Only
    this computer can open the page, and only with the token in its address. Ctrl-C ends it.

    \b
    Examples:
      qstep live gridworld
      qstep live FrozenLake-v1 --agents 16 --speed 0
      qstep live gridworld --device sim --port 8000 --no-browser
    """
    server = extras.load("qstep.watch.server", "live")
    from qstep.acting.agent import AgentSettings
    from qstep.acting.device import open_agents
    from qstep.acting.epsilon import Epsilon
    from qstep.acting.plan import planned
    from qstep.acting.training import Budget
    from qstep.watch.controller import Controller
    from qstep.watch.run import WatchedRun

    given = {"alpha": alpha, "gamma": gamma}
    for option, value in DEVICE_DEFAULTS.get(name, {}).items():
        if option in given and ctx.get_parameter_source(option) is ParameterSource.DEFAULT:
            given[option] = float(value)
    plan = planned(
        _world(name, max_episode_steps),
        budget=Budget(MOST_STEPS),
        agents=agents,
        algorithm=algorithm,
        shared_table=shared_table,
        settings=AgentSettings(**given, epsilon=Epsilon(epsilon), seed=seed),
        number_format=number_format,
        rounding=rounding or Rounding.NEAREST,
        lanes=lanes,
        config=None
        if config_file is None
        else config_from(config_file, None, None, number_format, None),
    )
    device = open_agents(url, plan.config, plan.loaded, plan.settings)
    try:
        with Controller(WatchedRun(device, plan), speed) as controller:
            headline = (
                f"{name} on {url}: {len(plan.settings)} agents, {algorithm}, {plan.config.format}"
            )

            def ready(address: str) -> None:
                click.echo(f"{headline}\nopen {address}\nCtrl-C ends it")
                if not no_browser:
                    webbrowser.open(address)

            controller.play()
            server.serve(controller, grid_named(name), headline, port, ready)
    finally:
        device.close()


def _world(name: str, max_episode_steps: int | None) -> World | str:
    """Return a world with the limit that was asked for; of a circuit its name."""
    from qstep.acting.world import World

    if name.endswith(CIRCUITS):
        if max_episode_steps is not None:
            raise click.UsageError("--max-episode-steps is for worlds that have a table")
        return name
    try:
        world = World.named(name)
    except NoTableError as cause:
        raise NoTableError(f"{cause}; qstep live shows worlds in which the device acts") from cause
    return world if max_episode_steps is None else world.limited(max_episode_steps)
