"""The compiled part of `CartPoleVectorEnv`: the dynamics of Gymnasium's CartPole-v1, without allocation.

To match Gymnasium's results exactly, every expression keeps Gymnasium's order of operations, and the
sines and cosines for :func:`step` come from NumPy, as in Gymnasium. :func:`move` uses the C library,
whose sines and cosines may differ in the last bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from qstep._io.compiled import compiled
from qstep.envs.cartpole_table import row_of
from qstep.envs.splitmix_kernels import below

__all__ = [
    "ACTIONS",
    "ARRAYS",
    "INPUTS",
    "SCRATCH",
    "STEP_CAP",
    "move",
    "observe",
    "restart",
    "row",
    "step",
]

INPUTS = 4
ACTIONS = 2
STEP_CAP = 500
"""Number of steps after which an episode is truncated."""

_GRAVITY = 9.8
_POLE_MASS = 0.1
_TOTAL_MASS = _POLE_MASS + 1.0
_HALF_LENGTH = 0.5
_POLE_MASS_LENGTH = _POLE_MASS * _HALF_LENGTH
_FORCE = 10.0
_SECONDS = 0.02
_FARTHEST = 2.4
_STEEPEST = 12 * 2 * math.pi / 360

_START = 0.05
"""Each variable of a start state lies within plus or minus this value."""

_START_STEPS = 1 << 31
"""Number of possible start values: a power of two, so that no draw is discarded."""


class CartPoles(NamedTuple):
    """The state of N environments; each array has shape (N,)."""

    word: NDArray[np.uint64]
    """Generator words."""
    x: NDArray[np.float64]
    """Position of the cart (m); `x_dot` is its velocity (m/s)."""
    x_dot: NDArray[np.float64]
    theta: NDArray[np.float64]
    """Angle of the pole (rad, 0 upright); `theta_dot` is its angular velocity (rad/s)."""
    theta_dot: NDArray[np.float64]
    steps: NDArray[np.int32]
    """Steps since the episode began."""

    @classmethod
    def empty(cls, num_envs: int) -> Self:
        """Return environments in which no episode has begun yet."""
        word, steps = np.zeros(num_envs, np.uint64), np.zeros(num_envs, np.int32)
        x, x_dot, theta, theta_dot = np.zeros((4, num_envs))
        return cls(word, x, x_dot, theta, theta_dot, steps)


ARRAYS = CartPoles

SCRATCH: tuple[str, ...] = ()

_row_of = compiled(row_of)


@compiled
def _start(word, i):  # type: ignore[no-untyped-def]
    return _START * (2.0 * below(word, i, _START_STEPS) / _START_STEPS - 1.0)


@compiled
def restart(poles, i):  # type: ignore[no-untyped-def]
    """Begin an episode in environment `i`."""
    poles.x[i] = _start(poles.word, i)
    poles.x_dot[i] = _start(poles.word, i)
    poles.theta[i] = _start(poles.word, i)
    poles.theta_dot[i] = _start(poles.word, i)
    poles.steps[i] = 0


@compiled
def observe(poles, i, shown):  # type: ignore[no-untyped-def]
    """Write the observation of environment `i`."""
    seen = shown[0]
    seen[i, 0] = poles.x[i]
    seen[i, 1] = poles.x_dot[i]
    seen[i, 2] = poles.theta[i]
    seen[i, 3] = poles.theta_dot[i]


@compiled
def _push(poles, i, action, cosine, sine):  # type: ignore[no-untyped-def]
    """Push the cart of environment `i`; return terminated and truncated, at most one of them True."""
    x, x_dot, theta, theta_dot = poles.x[i], poles.x_dot[i], poles.theta[i], poles.theta_dot[i]
    force = _FORCE if action == 1 else -_FORCE
    push = (force + _POLE_MASS_LENGTH * (theta_dot * theta_dot) * sine) / _TOTAL_MASS
    turn = (_GRAVITY * sine - cosine * push) / (
        _HALF_LENGTH * (4.0 / 3.0 - _POLE_MASS * (cosine * cosine) / _TOTAL_MASS)
    )
    speed_up = push - _POLE_MASS_LENGTH * turn * cosine / _TOTAL_MASS
    poles.x[i] = x + _SECONDS * x_dot
    poles.x_dot[i] = x_dot + _SECONDS * speed_up
    poles.theta[i] = theta + _SECONDS * theta_dot
    poles.theta_dot[i] = theta_dot + _SECONDS * turn
    poles.steps[i] += 1
    terminated = abs(poles.x[i]) > _FARTHEST or abs(poles.theta[i]) > _STEEPEST
    return terminated, not terminated and poles.steps[i] >= STEP_CAP


@compiled
def move(poles, i, action):  # type: ignore[no-untyped-def]
    """Push the cart of environment `i`; return the reward, terminated and truncated."""
    theta = poles.theta[i]
    terminated, truncated = _push(poles, i, action, math.cos(theta), math.sin(theta))
    return 1.0, terminated, truncated


@compiled
def row(poles, i):  # type: ignore[no-untyped-def]
    """Return the row of environment `i` in the table of `CartPoleTable`."""
    # The row depends on the observation, which is float32.
    x, x_dot = np.float32(poles.x[i]), np.float32(poles.x_dot[i])
    theta, theta_dot = np.float32(poles.theta[i]), np.float32(poles.theta_dot[i])
    return _row_of((float(x), float(x_dot), float(theta), float(theta_dot)))


@compiled
def step(poles, actions, shown, out, cosine, sine):  # type: ignore[no-untyped-def]
    """Step all environments, given cosines and sines of `theta`, shape (N,); see `qstep.envs.vector`."""
    for i in range(len(actions)):
        ends = _push(poles, i, actions[i], cosine[i], sine[i])
        out.reward[i], (out.terminated[i], out.truncated[i]) = 1.0, ends
        observe(poles, i, out.next_shown)
        if out.terminated[i] or out.truncated[i]:
            restart(poles, i)
        observe(poles, i, shown)
