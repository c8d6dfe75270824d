"""`Config`: the single object that describes an accelerator.

The golden model, RTL, simulated device, driver, benchmark and report are all built from it. It is
immutable and complete: all other settings can change at run time
(:class:`~qstep.spec.settings.Hyperparameters`).
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w
from numpy.typing import NDArray

from qstep._io.files import read_text
from qstep.errors import ConfigError, FileFormatError, TableError
from qstep.spec.agents import CLOCKS_HZ, MOST_LANES, SWITCHES, Acting, Algorithm
from qstep.spec.checks import assign, instance, integer, power_of_two, shown
from qstep.spec.fixed import COEFFICIENT_BITS, MOST_COEFFICIENT_BITS, QFormat, Rounding
from qstep.spec.planes import PlanesConfig
from qstep.spec.protocol import LEAST_BAUD, LEAST_DIVISOR
from qstep.spec.tiles import MOST_PLANES, Tiles

__all__ = ["Config", "Link", "TableType", "checked_config", "checked_table"]

_MOST_BYTES = 1 << 16
"""Maximum size of a TOML file in bytes, enough for about a hundred configurations."""


@dataclass(frozen=True, slots=True)
class Link:
    """The connection between host and device.

    Parameters
    ----------
    clock_hz : int
        Clock of the device in hertz, 1,000,000..500,000,000.
    baud : int
        Line rate after reset in baud, 9,600..clock_hz / 8; it can be changed at run time.
    buffer_bytes : int
        Size of the receive buffer, and therefore the maximum number of bytes in flight from the host; a
        power of two, 512..65536.
    """

    clock_hz: int = 48_000_000
    baud: int = 3_000_000
    buffer_bytes: int = 4096

    def __post_init__(self) -> None:
        clock_hz = integer("link.clock_hz", self.clock_hz, *CLOCKS_HZ)
        baud = integer("link.baud", self.baud, LEAST_BAUD, clock_hz // LEAST_DIVISOR)
        buffer_bytes = power_of_two("link.buffer_bytes", self.buffer_bytes, 512, 65536)
        assign(self, clock_hz=clock_hz, baud=baud, buffer_bytes=buffer_bytes)
        error = abs(self.clock_hz / self.divisor / self.baud - 1)
        if error > 0.02:
            raise ConfigError(
                f"link.baud is {self.baud}; a clock of {self.clock_hz} Hz divided by {self.divisor} "
                f"misses it by {error:.1%}, and a UART tolerates 2 %"
            )

    @property
    def divisor(self) -> int:
        """Clocks per bit after reset, nearest to ``clock_hz / baud``."""
        return (2 * self.clock_hz + self.baud) // (2 * self.baud)


_LINK = Link()


def _known_fields(kind: type[Any], tree: object, name: str, prefix: str) -> dict[str, Any]:
    """Return a copy of a dict of dataclass fields; raise ConfigError for any other object or key."""
    if not isinstance(tree, dict):
        raise ConfigError(f"{name} is {shown(tree)}; it must be a table")
    known = [entry.name for entry in fields(kind)]
    for key in tree:
        if key not in known:
            raise ConfigError(
                f"unknown field '{prefix}{str(key)[:40]}'; known fields: {', '.join(known)}"
            )
    return dict(tree)


def _plain(values: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return values in TOML's types; omit None, which TOML cannot represent."""
    return {
        name: value.value if isinstance(value, Enum) else value
        for name, value in values
        if value is not None
    }


class TableType(NamedTuple):
    """The type of a Q-table: its rows, its columns and the number format of its entries."""

    states: int
    actions: int
    format: QFormat

    def __str__(self) -> str:
        return f"{self.states} states x {self.actions} actions, {self.format}"


@dataclass(frozen=True, slots=True, init=False)
class Config:
    """The description of an accelerator: tables, number formats, default rounding, loop depth, link.

    Parameters
    ----------
    states : int
        S, the number of rows of the Q-table, 2..65536.
    actions : int
        A, the number of columns of the Q-table, 2..64; it need not be a power of two.
    format : QFormat or str
        Number format of values and rewards, 8..32 bits wide; the default is Q8.8.
    rounding : Rounding or str
        Default rounding mode of :class:`~qstep.spec.settings.Hyperparameters`.
    loop_depth : int
        Depth of the dependence loop in clocks, 1..3: an update that needs another update's result enters
        at least `loop_depth` clocks after it. A deeper loop allows a faster clock, but transitions are
        held more often.
    link : Link
        Connection between host and device.
    acting : Acting, optional
        Agents that act on the device; without agents, the host acts and streams transitions.
    lanes : int
        Hardware lanes that step agents in parallel, 1..128 (docs/farm.md), each with the same number of
        agents, up to 16. Several lanes require separate tables, and a world that is a table or
        tile-coded. The number of lanes does not affect what agents learn.
    coefficient_bits : int
        f, the number of fractional bits of alpha and of alpha times gamma, 15..24. Both have a total of
        16 bits. More fractional bits represent a small learning rate and its discount more precisely,
        but reduce the greatest alpha, which is (2^16 - 1) / 2^f, or 1 with the default of 15.
    planes : int
        T, the number of planes, 1..16: an agent's values are sums over T planes of S rows
        (docs/features.md).

    Raises
    ------
    ConfigError
        A value is illegal; the message names it and the legal range.

    Examples
    --------
    >>> Config(states=25, actions=4).format.width
    16
    """

    states: int
    actions: int
    format: QFormat
    rounding: Rounding
    loop_depth: int
    link: Link
    acting: Acting | None
    lanes: int
    coefficient_bits: int
    planes: int

    def __init__(
        self,
        states: int,
        actions: int,
        format: QFormat | str = "Q8.8",
        rounding: Rounding | str = Rounding.NEAREST,
        loop_depth: int = 1,
        link: Link = _LINK,
        acting: Acting | None = None,
        lanes: int = 1,
        coefficient_bits: int = COEFFICIENT_BITS,
        planes: int = 1,
    ) -> None:
        assign(
            self,
            states=integer("states", states, 2, 65536),
            actions=integer("actions", actions, 2, 64),
            loop_depth=integer("loop_depth", loop_depth, 1, 3),
            format=QFormat.parse(format),
            rounding=Rounding.parse(rounding),
            link=instance("link", link, Link),
            acting=None if acting is None else instance("acting", acting, Acting),
            lanes=integer("lanes", lanes, 1, MOST_LANES),
            coefficient_bits=integer(
                "coefficient_bits", coefficient_bits, COEFFICIENT_BITS, MOST_COEFFICIENT_BITS
            ),
            planes=integer("planes", planes, 1, MOST_PLANES),
        )
        if self.lanes > 1:
            self._check_lanes()
        if self.planes > 1:
            self._check_planes()
        if self.acting is not None and self.acting.tiles is not None:
            self._check_tiles(self.acting, self.acting.tiles)

    def _check_planes(self) -> None:
        """Raise ConfigError if the agents do not support several planes."""
        acting, planes = self.acting, f"planes is {self.planes}"
        if acting is None:
            raise ConfigError(f"{planes}; it must be 1 without agents")
        if acting.algorithm is Algorithm.DOUBLE_Q_LEARNING:
            raise ConfigError(f"{planes}; it must be 1 where acting.algorithm is 'double-q'")

    def _check_tiles(self, acting: Acting, tiles: Tiles) -> None:
        """Raise ConfigError if the rows of the world's tiles do not fit the tables."""
        world = acting.world
        if acting.is_tiled and acting.algorithm is Algorithm.DOUBLE_Q_LEARNING:
            raise ConfigError(f"acting.algorithm is 'double-q'; {world} needs another algorithm")
        actions = acting.integer_world.actions if acting.is_tiled else self.actions
        for name, found, wanted in (
            ("actions", self.actions, actions),
            ("planes", self.planes, tiles.planes),
        ):
            if found != wanted:
                raise ConfigError(f"{name} is {found}; {world} and its tiles need {wanted}")
        if self.states < tiles.rows:
            raise ConfigError(
                f"states is {self.states}; the tiles of {world} need {tiles.rows} rows in each plane, "
                f"{tiles.rows - self.states} more"
            )

    def _check_lanes(self) -> None:
        """Raise ConfigError if the agents cannot be distributed over the lanes."""
        acting, lanes = self.acting, f"lanes is {self.lanes}"
        if acting is None:
            raise ConfigError(f"{lanes}; it must be 1 without agents")
        if not (acting.is_table or acting.is_tiled):
            raise ConfigError(f"{lanes}; it must be 1 where acting.world is {acting.world!r}")
        if acting.shared_table:
            raise ConfigError(f"{lanes}; it must be 1 where acting.shared_table is true")
        if acting.agents % self.lanes:
            raise ConfigError(
                f"acting.agents is {acting.agents}; it must be a multiple of lanes, {self.lanes}"
            )

    @property
    def table_type(self) -> TableType:
        """The type that transitions and tables must have."""
        return TableType(self.states, self.actions, self.format)

    @property
    def table_shape(self) -> tuple[int, ...]:
        """Shape of all tables: (S, A), preceded by the axes of agents and of several planes, if any."""
        before = () if self.acting is None else self.acting.tables
        planes = () if self.planes == 1 else (self.planes,)
        return (*before, *planes, self.states, self.actions)

    @property
    def lane_agents(self) -> int:
        """Number of agents per lane, or 0 without agents; lane 0 has the first agents."""
        return 0 if self.acting is None else self.acting.agents // self.lanes

    @property
    def agent_tables(self) -> int:
        """Number of tables per agent: two for Double Q-learning, otherwise one per plane."""
        is_double = self.acting is not None and self.acting.algorithm is Algorithm.DOUBLE_Q_LEARNING
        return 2 if is_double else self.planes

    @property
    def lane_clock_hz(self) -> int:
        """Clock of the lanes in hertz: the link's clock, unless the lanes have a separate clock."""
        own = None if self.acting is None else self.acting.clock_hz
        return self.link.clock_hz if own is None else own

    @property
    def state_bits(self) -> int:
        """Bits of a state number, ceil(log2(states))."""
        return (self.states - 1).bit_length()

    @property
    def action_bits(self) -> int:
        """Bits of an action number, ceil(log2(actions))."""
        return (self.actions - 1).bit_length()

    @property
    def value_bytes(self) -> int:
        """Bytes per value on the link."""
        return (self.format.width + 7) // 8

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON text, as 64 hexadecimal digits.

        The first 16 digits are built into the device and checked when the driver connects.
        """
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain values for TOML and JSON."""
        tree = {**asdict(self, dict_factory=_plain), "format": str(self.format)}
        # Defaults are omitted, so that devices older than these options keep their digests.
        defaults = {"lanes": 1, "coefficient_bits": COEFFICIENT_BITS, "planes": 1}
        for name, value in defaults.items():
            if tree[name] == value:
                del tree[name]
        if self.acting is not None:
            acting = tree["acting"]
            for name in SWITCHES:
                if acting[name]:
                    del acting[name]
            if self.acting.tiles is not None:
                acting["tiles"] = self.acting.tiles.to_dict()
        return tree

    @classmethod
    def from_dict(cls, tree: dict[str, Any]) -> Config:
        """Build a configuration from the result of :meth:`to_dict`; reject unknown keys."""
        tree = _known_fields(cls, tree, "configuration", "")
        for key in ("states", "actions"):
            if key not in tree:
                raise ConfigError(f"{key} is missing; a configuration needs states and actions")
        parts: tuple[tuple[str, type[Link | Acting]], ...] = (("link", Link), ("acting", Acting))
        for name, kind in parts:
            if name in tree:
                given = _known_fields(kind, tree[name], name, f"{name}.")
                if "tiles" in given:
                    given["tiles"] = Tiles.from_dict(given["tiles"])
                tree[name] = kind(**given)
        return cls(**tree)

    def to_json(self) -> str:
        """Return the canonical JSON text: sorted keys, no spaces."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    def to_toml(self) -> str:
        """Return the configuration as TOML text."""
        return tomli_w.dumps(self.to_dict())

    @classmethod
    def from_toml(cls, path: str | Path) -> Config:
        """Read a configuration from a TOML file.

        Raises
        ------
        FileFormatError
            The file is absent, too long, or not TOML.
        ConfigError
            A value is illegal or unknown.
        """
        try:
            tree = tomllib.loads(read_text(path, _MOST_BYTES))
        except FileNotFoundError as cause:
            raise FileFormatError(f"{path}: no such file") from cause
        except (OSError, ValueError, TypeError, RecursionError) as cause:
            raise FileFormatError(
                f"{path}: cannot be read as a TOML configuration: {cause}"
            ) from cause
        return cls.from_dict(tree)


def checked_config(config: Config) -> Config:
    """Return `config` if it is a configuration; otherwise raise ConfigError."""
    return instance("configuration", config, Config, ", as returned by Config.from_dict")


def checked_table(config: Config | PlanesConfig, q_raw: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a table as a contiguous int32 array; raise TableError if it does not fit `config`."""
    try:
        array = np.asarray(q_raw)
    except ValueError as cause:  # its rows differ in length
        raise TableError(f"table is not an array: {cause}") from cause
    if array.shape != config.table_shape:
        raise TableError(
            f"table has shape {array.shape}; this configuration needs {config.table_shape}"
        )
    if array.dtype.kind not in "iu":
        raise TableError(f"table has dtype {array.dtype}; raw values are integers")
    low, high = config.format.minimum, config.format.maximum
    bad = (array < low) | (array > high)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        place = ", ".join(map(str, at))
        raise TableError(f"table[{place}] is {array[at]}; {config.format} holds {low} to {high}")
    return np.ascontiguousarray(array, dtype=np.int32)
