"""Functions that open devices by name. The code of a device is imported only when it is needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from qstep.device.base import Counters, Device, Status
from qstep.errors import ConfigError
from qstep.golden.contract import checked_agents
from qstep.mdp.memory import WorldTable
from qstep.mdp.tiled import TiledWorld
from qstep.spec.checks import shown
from qstep.spec.config import Config, checked_config
from qstep.spec.discount import warn_of_discounts
from qstep.spec.settings import AgentSettings

if TYPE_CHECKING:
    from qstep.device.agents import LinkAgents
    from qstep.device.link.ports import Port
    from qstep.device.live import LiveDevice
    from qstep.golden.agents_fast import FastActingModel
    from qstep.golden.tiled_fast import FastTiledModel

__all__ = [
    "AgentsDevice",
    "Counters",
    "Device",
    "Status",
    "is_model",
    "open_agents",
    "open_device",
    "open_live",
]

AgentsDevice: TypeAlias = "FastActingModel | FastTiledModel | LinkAgents"
"""A device with agents: a compiled model, a simulation or a board."""

_FORMS = "model:, sim:, sim:uart, serial:PORT or serial:PORT?baud=N&build=ID"
_OPTIONS = {
    "baud": (re.compile(r"[1-9][0-9]{0,8}"), "from 1 to 999999999 bits per second"),
    "build": (re.compile(r"[0-9a-f]{16}"), "16 lower-case hexadecimal digits"),
}
_SERIAL = re.compile(rf"(?P<port>.+?)(?P<options>([?&]({'|'.join(_OPTIONS)})=[^?&]*)*)")


def open_device(url: str, config: Config) -> Device:
    """Open a device by name.

    Parameters
    ----------
    url : str
        ``model:`` is the golden model, ``sim:`` the simulated hardware; ``sim:uart`` also simulates its
        serial line. ``serial:PORT`` is a board, a pty or a socket, where PORT is /dev/ttyUSB1, COM3 or
        socket://HOST:PORT. ``?baud=N`` gives the device's current rate if it is not
        ``config.link.baud``. ``?build=ID``, or ``&build=ID`` after a rate, accepts only the device with
        this build ID: the 16 hexadecimal digits in a bitstream's report. A trailing colon may be
        omitted.
    config : Config
        The device's configuration, from which a board must have been built. Its ``acting`` is None.

    Returns
    -------
    Device
        The device, ready to use, with the hyperparameters of :meth:`Hyperparameters.first_for`. A model
        or a simulation starts with a table of zeros; a board keeps its current table.

    Raises
    ------
    ConfigError
        The name or its rate, build or socket is malformed, or `config` is not a Config or has agents.
    DeviceError
        The device cannot be reached, or was not built from `config`.
    ToolMissingError
        The simulator is not installed.

    Examples
    --------
    >>> with open_device("model:", Config(states=25, actions=4)) as device:
    ...     device.read().shape
    (25, 4)
    """
    acting = checked_config(config).acting
    if acting is not None:
        raise ConfigError(
            f"config.acting is {shown(acting)}; a device with agents takes no transitions from the "
            "host. Use qstep.train (without --act host), qstep.sweep, or qstep.open_live where "
            "acting.world is 'live'"
        )
    if is_model(url):
        from qstep.device.model import ModelDevice

        return ModelDevice(config)
    from qstep.device.lane import LinkDevice

    port, build = _open_port(url, config)
    return LinkDevice(port, config, build=build)


def open_agents(
    url: str,
    config: Config,
    world: WorldTable | TiledWorld | int,
    settings: Sequence[AgentSettings],
) -> AgentsDevice:
    """Open a device with agents by name; all tables are zero, and no agent has taken a step.

    Parameters
    ----------
    url : str
        As for :func:`qstep.open`.
    config : Config
        A configuration whose ``acting`` is not None.
    world : WorldTable, TiledWorld or int
        A world made for `config`. If the world is a circuit or is connected to the device's pins, which
        only hardware supports, its step limit, or 0 for none.
    settings : sequence of AgentSettings
        One per agent.

    Raises
    ------
    ConfigError
        The name is malformed, `config` has no agents or lacks schedules or a step limit that `settings`
        or `world` need, `world` does not fit, or `settings` has the wrong length. Errors that concern
        only `config` or `settings` are raised before anything is opened.
    DeviceError, ToolMissingError
        As for :func:`qstep.open`.

    Warns
    -----
    PrecisionWarning
        The learned discount differs from gamma (:mod:`qstep.spec.discount`).
    """
    _check_agents(config, settings)
    if is_model(url):
        model = _agents_model(url, config, world, settings)
        model.run(0)  # load the machine code now instead of in the first step
        return model
    from qstep.device.agents import LinkAgents

    port, build = _open_port(url, config)
    return LinkAgents(port, config, world, settings, build=build)


def _agents_model(
    url: str,
    config: Config,
    world: WorldTable | TiledWorld | int,
    settings: Sequence[AgentSettings],
) -> FastActingModel | FastTiledModel:
    if isinstance(world, TiledWorld):
        from qstep.golden.tiled_fast import FastTiledModel

        return FastTiledModel(config, world, settings)
    from qstep.golden.agents_fast import FastActingModel

    if not isinstance(world, WorldTable):
        raise ConfigError(
            f"device is {url!r}, which supports only worlds from tables; circuits need sim: or a "
            "board"
        )
    return FastActingModel(config, world, settings)


def open_live(url: str, config: Config, settings: Sequence[AgentSettings]) -> LiveDevice:
    """Open a device with the caller as its world; all tables are zero, and no agent has taken a step.

    Parameters
    ----------
    url : str
        As for :func:`qstep.open`.
    config : Config
        A configuration whose ``acting.world`` is ``live``.
    settings : sequence of AgentSettings
        One per agent.

    Raises
    ------
    ConfigError
        The name is malformed, the world of `config` is not live, `settings` has the wrong length, the
        agents do not fit in hardware, alpha does not fit the coefficients, or the learned discount would
        be rounded to 0 or 1.
    DeviceError, ToolMissingError
        As for :func:`qstep.open`.

    Examples
    --------
    >>> from qstep.spec.agents import Acting
    >>> config = Config(4, 2, acting=Acting(world="live"))
    >>> with open_live("model:", config, [AgentSettings()]) as device:
    ...     actions = [device.begin(0), device.act(1.0, 3, terminated=False)]
    """
    from qstep.device.live import LinkLive, LiveModel, check_live

    check_live(config)
    _check_agents(config, settings)
    if is_model(url):
        return LiveModel(config, settings)
    port, build = _open_port(url, config)
    return LinkLive(port, config, settings, build=build)


def _check_agents(config: Config, settings: Sequence[AgentSettings]) -> None:
    checked_agents(config, settings, 0)
    pairs = ((own.alpha, own.gamma) for own in settings)
    warn_of_discounts(pairs, config.coefficient_bits, config.planes)


def is_model(url: str) -> bool:
    """Return whether a name means the model; raise ConfigError if it is not a string."""
    if not isinstance(url, str):
        raise ConfigError(f"device is {shown(url)}; it must be {_FORMS}")
    return url.removesuffix(":") == "model"


def _open_port(url: str, config: Config) -> tuple[Port, str | None]:
    """Open a simulated or serial port; return it and the build that the name requires, or None."""
    kind, _, rest = url.partition(":")
    if kind == "sim" and rest in ("", "uart"):
        from qstep_sim.port import SimPort

        return SimPort(config, uart=rest == "uart"), None
    serial = _SERIAL.fullmatch(rest)
    if kind == "serial" and serial is not None:
        from qstep.device.link.ports import SerialPort

        options = _options(url, serial["options"])
        if serial["port"].startswith("socket:") and not _is_socket(serial["port"]):
            raise ConfigError(
                f"device is {url!r}; its socket must be socket://HOST:PORT, PORT from 0 to 65535"
            )
        baud = int(options.get("baud", config.link.baud))
        return SerialPort(serial["port"], baud), options.get("build")
    raise ConfigError(f"device is {url!r}; it must be {_FORMS}")


def _is_socket(port: str) -> bool:
    """Return whether the URL `port` contains a host and a port number."""
    try:
        parts = urlsplit(port)
        return bool(parts.hostname) and parts.port is not None
    except ValueError:  # the port number is out of range
        return False


def _options(url: str, text: str) -> dict[str, str]:
    """Check the options in ``?baud=N&build=ID``; return their values by name."""
    options = dict(re.findall(r"[?&](\w+)=([^?&]*)", text))
    for name, value in options.items():
        pattern, form = _OPTIONS[name]
        if not pattern.fullmatch(value):
            raise ConfigError(f"device is {url!r}; its {name} is {value!r} and must be {form}")
    return options
