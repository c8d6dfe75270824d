"""The spaces that a network can learn on, and how their observations become its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import NDArray

from qstep.errors import EnvironmentSpaceError

__all__ = ["MOST_INPUTS", "Spaces"]

MOST_INPUTS = 4096
"""Most numbers in an observation; the replay memory holds tens of thousands of observations."""


class Spaces:
    """The spaces of one environment, checked to fit a network.

    A Box of floats is read as its numbers, row by row, as float32; a Discrete as one number per value: 1
    for the present value and 0 for the others. Values and actions must count from 0, as in every
    environment of :func:`qstep.envs.make_any`.

    Parameters
    ----------
    observation, action : gymnasium.spaces.Space
        Of one environment.

    Attributes
    ----------
    inputs : int
        Numbers of an observation, 1..:data:`MOST_INPUTS`.
    actions : int
        1 or more.

    Raises
    ------
    EnvironmentSpaceError
        A space is of another kind; the message names it.

    Examples
    --------
    >>> spaces = Spaces(Discrete(3), Discrete(2))
    >>> spaces.numbers(np.array([0, 2])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(self, observation: Space[Any], action: Space[Any]) -> None:
        if isinstance(observation, Discrete):
            self.inputs = int(observation.n)
        elif isinstance(observation, Box) and np.issubdtype(observation.dtype, np.floating):
            self.inputs = int(np.prod(observation.shape))
        else:
            raise EnvironmentSpaceError(
                f"the observation space is {observation}; a network needs a Box of floats or a Discrete"
            )
        if not isinstance(action, Discrete):
            raise EnvironmentSpaceError(
                f"the action space is {action}; a network needs a Discrete one"
            )
        if not 1 <= self.inputs <= MOST_INPUTS:
            raise EnvironmentSpaceError(
                f"the observation space is {observation}, {self.inputs} numbers; a network needs 1 to "
                f"{MOST_INPUTS}"
            )
        for space in (observation, action):
            if isinstance(space, Discrete) and space.start != 0:
                raise EnvironmentSpaceError(
                    f"a space is {space}; a network needs one that starts at 0, as in every environment "
                    "of qstep.envs.make_any"
                )
        self.actions = int(action.n)
        self._is_discrete = isinstance(observation, Discrete)

    def numbers(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Return N observations as float32, shape (N, inputs); no copy if they already are that."""
        if not self._is_discrete:
            return np.asarray(observations, np.float32).reshape(len(observations), self.inputs)
        numbers = np.zeros((len(observations), self.inputs), np.float32)
        numbers[np.arange(len(observations)), observations] = 1.0
        return numbers
