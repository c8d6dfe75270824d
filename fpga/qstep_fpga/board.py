"""Boards: the folder ``boards`` has one small file per board and per additional design for a board."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from qstep.errors import ConfigError
from qstep.spec.config import Config

__all__ = ["Board", "Pin", "load", "names"]

_FOLDER = Path(__file__).parent / "boards"
_UART = "rx", "tx"
_OPTIONAL = "led", "button"
_DIRECTIONS = "in", "out", "inout"


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
    direction : str
        ``in``, ``out`` or ``inout``, seen from the chip; given only for the pins of a link.
    """

    at: str
    active_low: bool = False
    pull: str = ""
    standard: str = ""
    direction: str = "in"


@dataclass(frozen=True, slots=True)
class Board:
    """A board: its chip, its pins, and its default accelerator.

    Attributes
    ----------
    name : str
        Name on the command line; also the name of the board's file, without the suffix.
    title : str
        Human-readable name.
    family : str
        Chip family: a name in :data:`qstep_fpga.families.FAMILIES`.
    part : str
        The chip's full name.
    device : str
        Chip name for place and route and the packer.
    clock_hz : int
        Frequency of the board's oscillator, which feeds the PLL.
    programmer : str
        Name of the board for openFPGALoader.
    pins : dict
        Pins of the clock and, if present, of the LED and the reset button. Also the pins of `link`, or
        of the UART: rx (into the chip) and tx.
    config : Config
        Default configuration; the PLL generates its ``link.clock_hz``.
    package, speed, pll_device : str
        Additional names that some families' tools need.
    high : tuple of str
        Pins that must be driven high.
    header : tuple of str
        Free 3.3 V pins for an external world, in order of use; see :func:`qstep_fpga.pins.led_out`.
    link : Path, optional
        File of the Verilog module ``qs_link``, which connects the link's pins to the device's byte
        streams; by default the link is a UART.
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
    link: Path | None = None


def names() -> list[str]:
    """Return the names of all boards."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load(name: str, folder: Path = _FOLDER) -> Board:
    """Return the board with this name.

    A file with the field ``board`` contains only the differences from the board named there. It
    describes another design for that board, or a similar board.

    Raises
    ------
    ConfigError
        There is no such board, or its file is malformed.
    """
    path = folder / f"{name}.toml"
    if not path.is_file():
        raise ConfigError(f"board is {name!r}; known boards: {', '.join(names())}")
    tree = _whole(name, folder)
    if "config" not in tree:
        raise ConfigError(f"{path}: config is missing")
    try:
        pins = {role: Pin(**pin) for role, pin in tree.get("pins", {}).items()}
        tree["config"] = Config.from_dict(tree["config"])
        lists = {field: tuple(tree.get(field, ())) for field in ("high", "header")}
        link = folder / tree["link"] if "link" in tree else None
        board = Board(name=name, **{**tree, **lists, "pins": pins, "link": link})
    except TypeError as cause:
        raise ConfigError(f"{path}: {cause}") from cause
    return replace(board, pins=_checked(board, path))


def _checked(board: Board, path: Path) -> dict[str, Pin]:
    """Check a board's pins; return them with the directions of LED and UART filled in."""
    needed = ("clock",) if board.link else ("clock", *_UART)
    others = set(board.pins) - {*needed, *_OPTIONAL}
    if not board.pins.keys() >= set(needed) or (others and not board.link):
        raise ConfigError(
            f"{path}: pins are {', '.join(sorted(board.pins))}; they must be {', '.join(needed)}, and "
            f"may include {', '.join(_OPTIONAL)}{' and the pins of the link' * bool(board.link)}"
        )
    if board.link and not board.link.is_file():
        raise ConfigError(
            f"{path}: link is {board.link.name!r}; it was not found next to {path.name}"
        )
    for name, pin in board.pins.items():
        if pin.direction not in _DIRECTIONS:
            raise ConfigError(
                f"{path}: pins.{name}.direction is {pin.direction!r}; it must be "
                f"{', '.join(_DIRECTIONS)}"
            )
    driven = {"led"} if board.link else {"led", "tx"}
    return {
        name: replace(pin, direction="out") if name in driven else pin
        for name, pin in board.pins.items()
    }


def _whole(name: str, folder: Path, on_the_way: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a board's file, including fields inherited from another board."""
    path = folder / f"{name}.toml"
    tree = _read(path)
    known = ["board", *(field.name for field in fields(Board) if field.name != "name")]
    for key in tree:
        if key not in known:
            raise ConfigError(f"{path}: unknown field {key!r}; known fields: {', '.join(known)}")
    if "board" not in tree:
        return tree
    base, passed = tree.pop("board"), (*on_the_way, name)
    if base in passed:
        raise ConfigError(f"{path}: board is {base!r}, which itself inherits from {name!r}")
    return _whole(base, folder, passed) | tree


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as cause:
        raise ConfigError(f"{path}: is not TOML: {cause}") from cause
