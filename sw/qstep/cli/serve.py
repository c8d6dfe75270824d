"""`qstep serve`: the simulated device as a serial port on this computer."""

from __future__ import annotations

from typing import Any

import click

from qstep.cli._options import config_from, config_options, option, refuse
from qstep.cli._output import JsonOutput, json_option, room_for

__all__ = ["command"]


@click.command()
@config_options
@option(
    "--link",
    "A pseudo-terminal, or a TCP port of 127.0.0.1 for socket://.",
    type=click.Choice(["pty", "tcp"]),
    default="pty",
)
@option("--port", "TCP port.  [default: a free one]", default=0, show_default=False)
@option("--uart", "Also simulate the serial lines, bit by bit, at link.baud.", is_flag=True)
@json_option("the device's address, once it is ready,")
def command(link: str, port: int, uart: bool, json_output: JsonOutput, **geometry: Any) -> None:
    """Offer the simulated device as a serial port until Ctrl-C.

    The table and the counters persist between clients. A TCP port serves one client at a time; the
    next one waits until the first has disconnected or been silent for a second, then replaces it.
    """
    if link != "tcp":
        refuse(["port"], "needs --link tcp: a pseudo-terminal has no TCP port")
    config = config_from(**geometry)
    flags = {parameter.name: parameter.opts[0] for parameter in command.params}
    options = " ".join(f"{flags[name]} {value}" for name, value in geometry.items() if value)

    from qstep_sim.port import SimPort
    from qstep_sim.serve import serve

    def ready(name: str) -> None:
        url = f"serial:{name}"
        words = (
            f"{name} is a device of {config.states} states x {config.actions} actions\n"
            "Try, in another terminal (Ctrl-C here ends the device):\n"
            f"  qstep replay TRANSITIONS.npz --out TABLE.npz {options} --device {url}"
        )
        report = {"url": url, "port": name, "digest": config.digest}
        json_output.tell(report, words, indent=None)

    with room_for(json_output.file):
        serve(SimPort(config, uart=uart), link, port, ready)
