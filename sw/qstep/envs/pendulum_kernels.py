"""The dynamics of Gymnasium's Pendulum-v1 in NumPy, for `PendulumVectorEnv`.

To match Gymnasium's results exactly, every expression keeps Gymnasium's order of operations and types.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from qstep.envs.splitmix_kernels import below
from qstep.envs.vector import Outcome

__all__ = ["ARRAYS", "INPUTS", "SCRATCH", "STEP_CAP", "observe", "restart", "step"]

INPUTS = 3
STEP_CAP = 200
"""Number of steps after which an episode is truncated."""

_GRAVITY = 10.0
_SECONDS = 0.05
_FASTEST = 8.0
_STRONGEST = 2.0

_START = math.pi, 1.0
"""Maximum angle and angular velocity of a start state."""

_START_STEPS = 1 << 31
"""Number of possible start values: a power of two, so that no draw is discarded."""


class Pendulums(NamedTuple):
    """The state of N environments; each array has shape (N,)."""

    word: NDArray[np.uint64]
    """Generator words."""
    theta: NDArray[np.float64]
    """Angle (rad, 0 upright); `theta_dot` is its angular velocity (rad/s)."""
    theta_dot: NDArray[np.float64]
    steps: NDArray[np.int32]
    """Steps since the episode began."""

    @classmethod
    def empty(cls, num_envs: int) -> Self:
        """Return environments in which no episode has begun yet."""
        word, steps = np.zeros(num_envs, np.uint64), np.zeros(num_envs, np.int32)
        theta, theta_dot = np.zeros((2, num_envs))
        return cls(word, theta, theta_dot, steps)


ARRAYS = Pendulums

SCRATCH: tuple[str, ...] = ()


def restart(pendulums: Pendulums, i: int) -> None:
    """Begin an episode in environment `i`."""
    for numbers, most in zip((pendulums.theta, pendulums.theta_dot), _START, strict=True):
        numbers[i] = most * (2.0 * below(pendulums.word, i, _START_STEPS) / _START_STEPS - 1.0)
    pendulums.steps[i] = 0


def observe(pendulums: Pendulums, i: int | slice, shown: tuple[NDArray[np.float32], ...]) -> None:
    """Write the observation of environment `i`, or of all environments in slice `i`."""
    shown[0][i, 0] = np.cos(pendulums.theta[i])
    shown[0][i, 1] = np.sin(pendulums.theta[i])
    shown[0][i, 2] = pendulums.theta_dot[i]


def step(
    pendulums: Pendulums,
    actions: NDArray[np.float32],
    shown: tuple[NDArray[np.float32], ...],
    out: Outcome,
) -> None:
    """Step all environments; see `qstep.envs.vector`."""
    theta, speed = pendulums.theta, pendulums.theta_dot
    torque = np.clip(actions[:, 0], -_STRONGEST, _STRONGEST)
    angle = (theta + np.pi) % (2 * np.pi) - np.pi
    out.reward[:] = -(angle**2 + 0.1 * speed**2 + 0.001 * torque**2)
    speed += (3 * _GRAVITY / 2 * np.sin(theta) + 3.0 * torque) * _SECONDS
    np.clip(speed, -_FASTEST, _FASTEST, out=speed)
    theta += speed * _SECONDS
    pendulums.steps[:] += 1
    np.greater_equal(pendulums.steps, STEP_CAP, out=out.truncated)
    every = slice(None)
    observe(pendulums, every, out.next_shown)
    for i in np.flatnonzero(out.truncated).tolist():
        restart(pendulums, i)
    observe(pendulums, every, shown)
