"""Boards: one small file each in the folder ``boards``, also for a second design of a board."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from qstep.errors import ConfigError
from qstep.spec.config import Config

__all__ = ["PINS", "Board", "Pin", "load", "names"]

_FOLDER = Path(__file__).parent / "boards"
PINS = ("clock", "rx", "tx", "led", "button")
"""Signals for which every board has pins."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A pin of the chip.

    Attributes
    ----------
    at : str
        The pin or ball.
    active_low : bool
        The signal is inverted on the board.
    pull : str
        ``up``, ``down``, or empty for none.
    standard : str
        Electrical standard; empty for 3.3 V CMOS.
    """

    at: str
    active_low: bool = False
    pull: str = ""
    standard: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """A board: its chip, its pins, and its default accelerator.

    Attributes
    ----------
    name : str
        Name on the command line: that of its file.
    title : str
        Name for people.
    family : str
        The tools: a name in :data:`qstep_fpga.families.FAMILIES`.
    part : str
        The chip's full name.
    device : str
        Name of the chip for place and route and the packer.
    clock_hz : int
        The oscillator on the board, which feeds the PLL.
    programmer : str
        Name of the board for openFPGALoader.
    pins : dict
        Pin of each of clock, rx (into the chip), tx, led and button.
    config : Config
        The PLL makes its ``link.clock_hz``.
    package, speed, pll_device : str
        Further names that the tools of some families need.
    high : tuple of str
        Pins that the board needs to be driven high.
    header : tuple of str
        Free 3.3 V pins for a world there, in order; see :func:`qstep_fpga.pins.led_out`.
    """

    name: str
    title: str
    family: str
    part: str
    device: str
    clock_hz: int
    programmer: str
    pins: dict[str, Pin]
    config: Config
    package: str = ""
    speed: str = ""
    pll_device: str = ""
    high: tuple[str, ...] = ()
    header: tuple[str, ...] = ()


def names() -> list[str]:
    """Return the names of all boards."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load(name: str, folder: Path = _FOLDER) -> Board:
    """Return the board with this name.

    A file with the field ``board`` contains only the fields in which it differs from the board that it
    names: a second design for it, or a similar board.

    Raises
    ------
    ConfigError
        There is no such board, or its file is malformed.
    """
    path = folder / f"{name}.toml"
    if not path.is_file():
        raise ConfigError(f"board is {name!r}; known are {', '.join(names())}")
    tree = _whole(name, folder)
    given = tree.get("pins", {})
    if set(given) != set(PINS):
        raise ConfigError(
            f"{path}: pins are {', '.join(sorted(given))}; they must be {', '.join(PINS)}"
        )
    if "config" not in tree:
        raise ConfigError(f"{path}: config is missing")
    try:
        tree["pins"] = {role: Pin(**pin) for role, pin in given.items()}
        tree["config"] = Config.from_dict(tree["config"])
        lists = {field: tuple(tree.get(field, ())) for field in ("high", "header")}
        return Board(name=name, **{**tree, **lists})
    except TypeError as cause:
        raise ConfigError(f"{path}: {cause}") from cause


def _whole(name: str, folder: Path, on_the_way: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a board's file, including those taken from another board."""
    path = folder / f"{name}.toml"
    tree = _read(path)
    known = ["board", *(field.name for field in fields(Board) if field.name != "name")]
    for key in tree:
        if key not in known:
            raise ConfigError(f"{path}: unknown field {key}; known are {', '.join(known)}")
    if "board" not in tree:
        return tree
    base, passed = tree.pop("board"), (*on_the_way, name)
    if base in passed:
        raise ConfigError(f"{path}: board is {base!r}, which takes its own fields from {name!r}")
    return _whole(base, folder, passed) | tree


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as cause:
        raise ConfigError(f"{path}: is not TOML: {cause}") from cause
