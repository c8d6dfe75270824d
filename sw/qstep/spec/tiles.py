"""Tile coding: integer arithmetic maps a real observation to one row number per plane.

This file is the definition that all other implementations and circuits reproduce bit for bit.
docs/features.md describes it. Reference: Sutton and Barto, 2018, section 9.5.4.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep.errors import ConfigError, TransitionError
from qstep.spec.checks import assign, integer, power_of_two, shown
from qstep.spec.random import WEYL

__all__ = ["MOST_PLANES", "MOST_ROWS", "SCALE_BITS", "Coordinate", "Tiles", "hashed"]

MOST_PLANES = 16
"""Maximum number of planes per learner."""

MOST_ROWS = 1 << 16
"""Maximum number of rows per plane."""

SCALE_BITS = 16
"""Width of the factor that turns raw units into fractions of a tile."""

_MOST_TILES = 255
_MOST_HASHED = 1 << 32
_MASK32 = _MOST_HASHED - 1
_RAW_BITS = 31

_Word = TypeVar("_Word", int, NDArray[np.int64])


class Coordinate(NamedTuple):
    """The integer parameters for one number of the observation.

    Attributes
    ----------
    low, high : int
        Bounds in raw units, ``-2^31 <= low < high < 2^31``.
    tiles : int
        n, the number of tiles between the bounds, 1..255.
    scale, shift : int
        ``((raw - low) * scale) >> shift`` is the position in units of 1/T of a tile: `scale` is
        ``ceil(n T 2^shift / (high - low))``, and `shift` is the largest one for which `scale` fits in
        16 bits.
    """

    low: int
    high: int
    tiles: int
    scale: int
    shift: int

    def unit(self, raw: int, tilings: int) -> int:
        """Return the position of a number in units of 1/T of a tile, 0..n T."""
        return max(0, min(self.tiles * tilings, ((raw - self.low) * self.scale) >> self.shift))


@dataclass(frozen=True, slots=True, init=False)
class Tiles:
    """Tile coding of an observation of C real numbers, in one or more groups of coordinates.

    A group has T tilings, each of which is a plane; planes are numbered group by group. In tiling t,
    coordinate d of its group has the index

        u = clip(((raw - low) * scale) >> shift, 0, n T)
        index = (u + (t (2 d + 1)) mod T) div T                    0..n

    and the row is the mixed-radix number of these indices, with the first coordinate as the most
    significant digit. If a plane has fewer rows, that number is :func:`hashed` to a row with the
    constant ``t * 0x9E3779B9 mod 2^32``.

    Parameters
    ----------
    low, high : sequence of float, length C
        Finite bounds of each number, low below high. Numbers outside the bounds are clipped.
    tiles : int or sequence of int
        n, the number of tiles between the bounds, 1..255: one for all numbers, or one per number.
    tilings : int
        T, a power of two, 1..16.
    groups : sequence of sequences of int, optional
        Coordinates, 0..C-1, that are tiled together; the default is one group of all coordinates.
    units : float or sequence of float
        Raw units per 1.0, above 0: one for all numbers, or one per number. 2^F means F fractional bits.
    rows : int, optional
        R, the number of rows per plane: a power of two, 2..65536; larger row numbers are hashed. The
        default is the largest product of n + 1 over a group, which needs no hashing.

    Attributes
    ----------
    coordinates : tuple of Coordinate
        One per number of the observation.

    Raises
    ------
    ConfigError
        A value is illegal, there are more than 16 planes, or a plane without hashing needs more than
        65536 rows.

    Examples
    --------
    >>> tiles = Tiles(low=[-1.2, -0.07], high=[0.6, 0.07], tiles=8, tilings=4)
    >>> tiles.planes, tiles.rows
    (4, 81)
    >>> tiles.of(tiles.raw([-0.5, 0.0]).tolist())
    (31, 31, 31, 31)
    """

    coordinates: tuple[Coordinate, ...]
    groups: tuple[tuple[int, ...], ...]
    tilings: int
    units: tuple[float, ...]
    rows: int

    def __init__(
        self,
        low: Sequence[float],
        high: Sequence[float],
        tiles: int | Sequence[int] = 8,
        tilings: int = 8,
        groups: Sequence[Sequence[int]] | None = None,
        units: float | Sequence[float] = 1 << 16,
        rows: int | None = None,
    ) -> None:
        tilings = power_of_two("tilings", tilings, 1, MOST_PLANES)
        low_list, high_list = _listed("low", low), _listed("high", high)
        size = len(low_list)
        if not size or len(high_list) != size:
            raise ConfigError(
                f"low has {size} numbers and high has {len(high_list)}; both need one for each number "
                "of the observation"
            )
        tiles_list, units_list = _each("tiles", tiles, size), _each("units", units, size)
        coordinates = tuple(
            _coordinate(k, *given, tilings)
            for k, given in enumerate(zip(low_list, high_list, tiles_list, units_list, strict=True))
        )
        chosen = _groups([range(size)] if groups is None else groups, size, tilings)
        units_tuple = tuple(float(unit) for unit in units_list)
        assign(self, coordinates=coordinates, groups=chosen, tilings=tilings, units=units_tuple)
        assign(self, rows=_rows(rows, self.most_rows))

    @property
    def planes(self) -> int:
        """The number of planes, 1..16."""
        return self.tilings * len(self.groups)

    @classmethod
    def from_dict(cls, tree: object) -> Self:
        """Build tiles from the result of :meth:`to_dict`; reject unknown keys."""
        known = inspect.signature(cls).parameters
        if not isinstance(tree, dict):
            raise ConfigError(f"tiles are {shown(tree)}; they must be a table")
        for key in tree:
            if key not in known:
                raise ConfigError(
                    f"unknown field 'tiles.{str(key)[:40]}'; known fields: {', '.join(known)}"
                )
        for key in ("low", "high"):
            if key not in tree:
                raise ConfigError(f"tiles.{key} is missing; tiles need low and high")
        return cls(**tree)

    def to_dict(self) -> dict[str, Any]:
        """Return arguments that build equal tiles, as plain values for TOML and JSON."""
        bounds = {
            name: [
                getattr(own, name) / unit
                for own, unit in zip(self.coordinates, self.units, strict=True)
            ]
            for name in ("low", "high")
        }
        return {
            **bounds,
            "tiles": [own.tiles for own in self.coordinates],
            "tilings": self.tilings,
            "groups": [list(group) for group in self.groups],
            "units": list(self.units),
            **({"rows": self.rows} if self.hashes else {}),
        }

    @property
    def hashes(self) -> bool:
        """Whether any plane hashes its row numbers."""
        return self.rows < self.most_rows

    @property
    def most_rows(self) -> int:
        """Number of rows that a plane needs without hashing."""
        return max(_count(self.coordinates, group) for group in self.groups)

    def raw(self, observations: ArrayLike) -> NDArray[np.int32]:
        """Return observations in raw units: ``floor(x * units + 0.5)`` in float64.

        Parameters
        ----------
        observations : array_like of float, shape (..., C)

        Returns
        -------
        ndarray of int32, shape (..., C)
            Numbers that do not fit in 32 bits are clipped; they are outside all bounds.

        Raises
        ------
        TransitionError
            The last axis has the wrong length, or a number is not finite.
        """
        try:
            given = np.asarray(observations, np.float64)
        except (TypeError, ValueError, OverflowError) as cause:
            raise TransitionError(
                f"observation is {shown(observations)}; it must be real numbers"
            ) from cause
        if given.ndim == 0 or given.shape[-1] != len(self.coordinates):
            raise TransitionError(
                f"observation has shape {given.shape}; its last axis must be {len(self.coordinates)}"
            )
        if not np.isfinite(given).all():
            raise TransitionError(f"observation is {shown(observations)}; it must be finite")
        most = float(1 << _RAW_BITS)
        scaled = np.clip(given, -most, most) * np.array(self.units)
        whole: NDArray[np.float64] = np.clip(np.floor(scaled + 0.5), -most, most - 1)
        return whole.astype(np.int32)

    def clipped(self, raw: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which observations have a number outside its bounds.

        Parameters
        ----------
        raw : ndarray of int32, shape (..., C)

        Returns
        -------
        ndarray of bool, shape (...)
        """
        low, high = (
            np.array([getattr(own, name) for own in self.coordinates]) for name in ("low", "high")
        )
        return np.asarray(((raw < low) | (raw > high)).any(axis=-1))

    def of(self, raw: Sequence[int]) -> tuple[int, ...]:
        """Return the row in each plane for an observation in raw units: the reference definition.

        Raises TransitionError if `raw` does not have one number for each coordinate.
        """
        if len(raw) != len(self.coordinates):
            raise TransitionError(
                f"observation has {len(raw)} numbers; it must have {len(self.coordinates)}"
            )
        rows = []
        for group in self.groups:
            own = [self.coordinates[k] for k in group]
            units = [each.unit(raw[k], self.tilings) for k, each in zip(group, own, strict=True)]
            count = _count(self.coordinates, group)
            for t in range(self.tilings):
                word = 0
                for d, u in enumerate(units):
                    index = (u + t * (2 * d + 1) % self.tilings) // self.tilings
                    word = word * (own[d].tiles + 1) + index
                rows.append(word if count <= self.rows else hashed(word, t * WEYL, self.rows))
        return tuple(rows)

    def many(self, raw: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the rows of N observations: :meth:`of` for arrays.

        Parameters
        ----------
        raw : ndarray of int32, shape (N, C)

        Returns
        -------
        ndarray of int32, shape (N, planes)
        """
        t = np.arange(self.tilings)
        rows = []
        for group in self.groups:
            word: NDArray[np.int64] = np.zeros((len(raw), self.tilings), np.int64)
            for d, k in enumerate(group):
                low, _, n, scale, shift = self.coordinates[k]
                u = np.clip(((raw[:, k].astype(np.int64) - low) * scale) >> shift, 0, n * len(t))
                word = word * (n + 1) + (u[:, None] + t * (2 * d + 1) % len(t)) // len(t)
            fits = _count(self.coordinates, group) <= self.rows
            rows.append(word if fits else hashed(word, t * WEYL, self.rows))
        return np.concatenate(rows, axis=1).astype(np.int32)


def hashed(word: _Word, constant: _Word | int, rows: int) -> _Word:
    """Return the row to which a feature word hashes in a plane of `rows` rows.

    The word is 0..2^63-1, and `rows` is a power of two. The word's upper half and the plane's constant
    are XORed into its lower half. Its 32 bits are then mixed, modulo 2^32: ``k += k << 12; k ^= k >> 22;
    k += k << 4; k ^= k >> 9; k += k << 10; k ^= k >> 2; k += k << 7; k ^= k >> 12``. The row is given by
    the low bits. Pythia (Bera et al., MICRO 2021) uses the same mixing.
    """
    k = ((word >> 32) ^ word ^ constant) & _MASK32
    for left, right in ((12, 22), (4, 9), (10, 2), (7, 12)):
        k = (k + (k << left)) & _MASK32
        k = k ^ (k >> right)
    return k & (rows - 1)


T = TypeVar("T")


def _listed(name: str, values: Iterable[T]) -> list[T]:
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | dict):
        try:
            return list(values)
        except TypeError:  # a zero-dimensional array
            pass
    raise ConfigError(f"{name} is {shown(values)}; it must be a sequence")


def _each(name: str, values: T | Sequence[T], size: int) -> list[T]:
    """Return one value per number of an observation."""
    if isinstance(values, Real):
        return [values] * size
    listed = _listed(name, values)  # type: ignore[arg-type]
    if len(listed) != size:
        raise ConfigError(f"{name} has {len(listed)} numbers; it must have 1 or {size}")
    return listed


def _number(name: str, value: object) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise ConfigError(f"{name} is {shown(value)}; it must be a finite number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ConfigError(f"{name} is {shown(value)}; it must be a finite number")
    return number


def _coordinate(
    k: int, low: object, high: object, tiles: object, unit: object, tilings: int
) -> Coordinate:
    names = f"low[{k}]", f"high[{k}]"
    bounds = [_number(name, value) for name, value in zip(names, (low, high), strict=True)]
    if not bounds[0] < bounds[1]:
        raise ConfigError(
            f"low[{k}] is {bounds[0]} and high[{k}] is {bounds[1]}; low must be below high"
        )
    n = integer(f"tiles[{k}]", tiles, 1, _MOST_TILES)
    per_one = _number(f"units[{k}]", unit)
    if per_one <= 0:
        raise ConfigError(f"units[{k}] is {per_one}; it must be above 0")
    most = 1 << _RAW_BITS
    scaled = [bound * per_one for bound in bounds]
    for name, value in zip(names, scaled, strict=True):
        if not -most <= value <= most - 1:
            raise ConfigError(
                f"{name} is {value:.6g} in raw units; it must be from -2^31 to 2^31-1"
            )
    least, greatest = (math.floor(value + 0.5) for value in scaled)
    if least == greatest:
        raise ConfigError(
            f"low[{k}] and high[{k}] are both {least} in raw units; use more than {per_one:g} units "
            "in 1.0"
        )
    span, parts = greatest - least, n * tilings
    shift = SCALE_BITS - 1 + span.bit_length()
    while -(-(parts << shift) // span) >> SCALE_BITS:
        shift -= 1
    return Coordinate(least, greatest, n, -(-(parts << shift) // span), shift)


def _groups(groups: object, size: int, tilings: int) -> tuple[tuple[int, ...], ...]:
    chosen = []
    for g, group in enumerate(_listed("groups", groups)):  # type: ignore[arg-type, var-annotated]
        own = tuple(
            integer(f"groups[{g}][{d}]", k, 0, size - 1)
            for d, k in enumerate(_listed(f"groups[{g}]", group))
        )
        if not own or len(set(own)) < len(own):
            raise ConfigError(
                f"groups[{g}] is {own}; it must name at least one coordinate, and each only once"
            )
        chosen.append(own)
    if not chosen or len(chosen) * tilings > MOST_PLANES:
        raise ConfigError(
            f"{tilings} tilings of {len(chosen)} groups are {len(chosen) * tilings} planes; there must "
            f"be from 1 to {MOST_PLANES}"
        )
    return tuple(chosen)


def _count(coordinates: Sequence[Coordinate], group: Sequence[int]) -> int:
    """Return the number of mixed-radix values of a group."""
    return math.prod(coordinates[k].tiles + 1 for k in group)


def _rows(rows: object, count: int) -> int:
    if rows is None:
        if count > MOST_ROWS:
            raise ConfigError(
                f"a tiling has {count} rows, {count - MOST_ROWS} more than the {MOST_ROWS} of a plane; "
                "use fewer tiles or smaller groups, or set rows to hash them"
            )
        return count
    number = power_of_two("rows", rows, 2, MOST_ROWS)
    if count > _MOST_HASHED:
        raise ConfigError(f"a tiling has {count} rows; at most 2^32 can be hashed")
    return number
