"""Mountain Car and CartPole in integers: the reference that circuits reproduce bit for bit.

A state is a tuple of integers. A step needs additions, shifts and, for CartPole, three multiplications.
It also needs a table that is indexed by an angle or a position, with 1024 16-bit entries per column.
`>>` is an arithmetic shift. Every number has a fixed width and never overflows, for the reasons given in
the functions. Numba compiles the same functions.

docs/features.md compares these worlds with Gymnasium's environments.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from qstep.errors import ConfigError
from qstep.spec.checks import instance, integer
from qstep.spec.tiles import Tiles

__all__ = ["CART_POLE", "ENGINE", "INTEGER_WORLDS", "MOUNTAIN_CAR", "IntegerWorld", "State"]

State: TypeAlias = tuple[int, ...]
_Columns: TypeAlias = Sequence[Sequence[int]]

_ENTRIES = 1024


@dataclass(frozen=True)
class IntegerWorld:
    """A world whose state is a tuple of integers.

    Attributes
    ----------
    env_id : str
        Gymnasium's environment, which defines the observation, actions, termination and step limit.
    names : tuple of str
        Names of the numbers in Gymnasium's observation.
    actions : int
    reward : float
        Reward of every step.
    max_episode_steps : int
    limits : tuple of (int, int)
        Minimum and maximum of each coordinate at the start of a step.
    units : tuple of float
        Raw units in the result of :attr:`observe` per 1.0 of each number in Gymnasium's observation.
    columns : tuple of tuples of int
        The table: 1024 signed 16-bit entries per column.
    start : function of a draw, 0..65535
        Returns an episode's start state.
    move : function of `columns`, a state and an action
        Returns the next state, and whether the episode terminates there.
    observe : function of a state
        Returns the learner's observation: the state's numbers shifted to signed 16-bit numbers.
    tiles : Tiles
        Tile coding of the observation, in the world's units; by default the tiles that
        docs/features.md uses for the world.

    Raises
    ------
    ConfigError
        The units of `tiles` differ from the world's.
    """

    env_id: str
    names: tuple[str, ...]
    actions: int
    reward: float
    max_episode_steps: int
    limits: tuple[tuple[int, int], ...]
    units: tuple[float, ...]
    columns: tuple[tuple[int, ...], ...]
    start: Callable[[int], State]
    move: Callable[[_Columns, State, int], tuple[State, bool]]
    observe: Callable[[State], State]
    tiles: Tiles

    def __post_init__(self) -> None:
        if instance("tiles", self.tiles, Tiles).units != self.units:
            raise ConfigError(
                f"units of tiles are {self.tiles.units}; those of {self.env_id} are {self.units}"
            )

    @property
    def digest(self) -> str:
        """SHA-256 of the world's id, tiles and step limit, 64 hexadecimal digits."""
        parts = self.env_id, self.max_episode_steps, self.tiles.to_dict()
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def limited(self, max_episode_steps: int) -> IntegerWorld:
        """Return the world with another step limit, 0..65535; 0 for no limit."""
        limit = integer("max_episode_steps", max_episode_steps, 0, (1 << 16) - 1)
        return replace(self, max_episode_steps=limit)

    def rows(self, state: State) -> tuple[int, ...]:
        """Return a state's row in each plane."""
        return self.tiles.of(self.observe(state))


def _column(bits: int, angles: list[float], value: Callable[[float], float]) -> tuple[int, ...]:
    """Return the values at the centres of the cells, with `bits` fractional bits."""
    return tuple(math.floor(value(angle) * (1 << bits) + 0.5) for angle in angles)


_CAR = 1 << 23
"""Raw units per 1.0 of Mountain Car's position and velocity."""
_WALL, _GOAL = math.floor(-1.2 * _CAR + 0.5), math.ceil(0.5 * _CAR)
_FASTEST = math.floor(0.07 * _CAR + 0.5)
ENGINE = math.floor(0.001 * _CAR + 0.5)
"""Velocity that Mountain Car's engine adds per step."""
_VALLEY = math.ceil(-0.6 * _CAR)


def _car_start(draw: int) -> State:
    """Return a start state: a position between -0.6 and -0.4, and velocity 0."""
    return _VALLEY + ((51 * draw) >> 1), 0


def _car_move(columns: _Columns, state: State, action: int) -> tuple[State, bool]:
    """Move the car, without multiplications.

    The position has 25 bits and the velocity 21, both with 23 fractional bits. The velocity changes by
    at most 0.0035 and is then clipped to 0.07, and a step starts left of the goal at 0.5. So the
    position is between -1.27 and 0.57 before the wall stops it.
    """
    position, velocity = state
    velocity += (action - 1) * ENGINE + columns[0][(position - _WALL) >> 14]
    velocity = min(max(velocity, -_FASTEST), _FASTEST)
    position += velocity
    if position <= _WALL:
        position, velocity = _WALL, max(velocity, 0)
    return (position, velocity), position >= _GOAL


def _car_observed(state: State) -> State:
    """Return the position with 14 fractional bits and the velocity with 18."""
    return state[0] >> 9, state[1] >> 5


_CAR_UNITS = float(1 << 14), float(1 << 18)

MOUNTAIN_CAR = IntegerWorld(
    env_id="MountainCar-v0",
    names=("position", "velocity"),
    actions=3,
    reward=-1.0,
    max_episode_steps=200,
    limits=((_WALL, _GOAL - 1), (-_FASTEST, _FASTEST)),
    units=_CAR_UNITS,
    columns=(
        _column(
            23,
            [(_WALL + (cell << 14) + (1 << 13)) / _CAR for cell in range(_ENTRIES)],
            lambda position: -0.0025 * math.cos(3 * position),
        ),
    ),
    start=_car_start,
    move=_car_move,
    observe=_car_observed,
    tiles=Tiles([-1.2, -0.07], [0.6, 0.07], tiles=8, tilings=16, units=_CAR_UNITS),
)
"""Mountain Car (Moore, 1990), as in Gymnasium's MountainCar-v0."""

_POLE = 1 << 26
"""Raw units per 1.0 of each of CartPole's state variables."""
_TAU = 0.02
_MASS, _TOTAL, _LENGTH, _GRAVITY = 0.1, 1.1, 0.5, 9.8
_FARTHEST = math.floor(2.4 * _POLE)
_STEEPEST = math.floor(math.radians(12) * _POLE)
_ANGLES = [(2 * cell + 1 - _ENTRIES) / (4 * _ENTRIES) for cell in range(_ENTRIES)]


def _lever(angle: float) -> float:
    return math.cos(angle) / (_LENGTH * (4 / 3 - _MASS * math.cos(angle) ** 2 / _TOTAL))


def _drag(angle: float) -> float:
    return _MASS * _LENGTH * math.cos(angle) / _TOTAL


def _swing(angle: float) -> float:
    return _MASS * _LENGTH * math.sin(angle) / _TOTAL


def _fall(angle: float) -> float:
    return _GRAVITY * math.tan(angle) * _TAU**2 * _lever(angle)


_PUSH = 10.0 * _TAU**2 / _TOTAL


def _pole_start(draw: int) -> State:
    """Return a state; 4 bits of the draw select each number from 16 values within -0.05..0.05."""
    return (
        (2 * (draw >> 12) - 15) * 209715,
        (2 * (draw >> 8 & 15) - 15) * 4194,
        (2 * (draw >> 4 & 15) - 15) * 209715,
        (2 * (draw & 15) - 15) * 4194,
    )


def _pole_move(columns: _Columns, state: State, action: int) -> tuple[State, bool]:
    """Push the cart with three 17x17-bit multiplications; only additions depend on the action.

    Velocities are multiplied by the step time of 0.02 s, and accelerations by its square, so a step only
    adds them. All of these numbers have 26 fractional bits. The accelerations are linear in the square
    of theta_dot and in the sign of the push; their coefficients depend only on theta and are the six
    columns. Widths in bits, including the sign:

    =====================  ====  ===========================================
    x, x_dot               30    x within 2.4 when a step begins
    theta                  27    theta within 0.2095 when a step begins
    theta_dot              26
    square                 17    18 fractional bits
    products with square   32    of 16 bits by 17
    turn                   21
    speed_up               20
    =====================  ====  ===========================================

    A step that does not terminate leaves x and theta within their limits, so the velocities that it
    added were at most 4.8 and 0.419. The accelerations then add less than 0.0063 and 0.0108 to them.
    """
    x, x_dot, theta, theta_dot = state
    cell = (theta >> 15) + 512
    square = ((theta_dot >> 9) * (theta_dot >> 9)) >> 16
    turn = (columns[0][cell] << 2) - ((columns[1][cell] * square) >> 12)
    speed_up = columns[3][cell] + ((columns[4][cell] * square) >> 13)
    sign = 1 if action else -1
    turn -= sign * (columns[2][cell] << 4)
    speed_up += sign * (columns[5][cell] << 3)
    x += x_dot
    theta += theta_dot
    terminated = abs(x) > _FARTHEST or abs(theta) > _STEEPEST
    return (x, x_dot + speed_up, theta, theta_dot + turn), terminated


def _pole_observed(state: State) -> State:
    """Return x and x_dot with 12 fractional bits, theta and theta_dot with 15."""
    return state[0] >> 14, state[1] >> 14, state[2] >> 11, state[3] >> 11


_POLE_UNITS = 4096.0, _TAU * 4096, 32768.0, _TAU * 32768

CART_POLE = IntegerWorld(
    env_id="CartPole-v1",
    names=("cart position", "cart velocity", "pole angle", "pole angular velocity"),
    actions=2,
    reward=1.0,
    max_episode_steps=500,
    limits=(
        (-_FARTHEST, _FARTHEST),
        (-2 * _FARTHEST - (1 << 19), 2 * _FARTHEST + (1 << 19)),
        (-_STEEPEST, _STEEPEST),
        (-2 * _STEEPEST - (1 << 20), 2 * _STEEPEST + (1 << 20)),
    ),
    units=_POLE_UNITS,
    columns=(
        _column(24, _ANGLES, _fall),
        _column(20, _ANGLES, lambda angle: _lever(angle) * _swing(angle)),
        _column(22, _ANGLES, lambda angle: _lever(angle) * _PUSH),
        _column(26, _ANGLES, lambda angle: -_drag(angle) * _fall(angle)),
        _column(21, _ANGLES, lambda angle: _swing(angle) * (1 + _drag(angle) * _lever(angle))),
        _column(23, _ANGLES, lambda angle: _PUSH * (1 + _drag(angle) * _lever(angle))),
    ),
    start=_pole_start,
    move=_pole_move,
    observe=_pole_observed,
    tiles=Tiles(
        low=[-2.4, -3.0, -0.21, -3.5],
        high=[2.4, 3.0, 0.21, 3.5],
        tiles=8,
        tilings=4,
        groups=[(2, 3), (0, 1)],
        units=_POLE_UNITS,
    ),
)
"""CartPole (Barto, Sutton and Anderson, 1983), as in Gymnasium's CartPole-v1."""

INTEGER_WORLDS = {world.env_id: world for world in (MOUNTAIN_CAR, CART_POLE)}
"""The worlds by Gymnasium environment id."""
