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
    for the present value and 0 for the others. Actions are counted from 0 here, wherever the environment
    starts to count.

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
    >>> spaces = Spaces(Discrete(3, start=5), Discrete(2))
    >>> spaces.numbers(np.array([5, 7])).tolist()
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
        self.actions = int(action.n)
        self._first_value = int(observation.start) if isinstance(observation, Discrete) else None
        self._first_action = action.start

    def numbers(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Return N observations as float32, shape (N, inputs); no copy if they already are that."""
        if self._first_value is None:
            return np.asarray(observations, np.float32).reshape(len(observations), self.inputs)
        numbers = np.zeros((len(observations), self.inputs), np.float32)
        numbers[np.arange(len(observations)), observations - self._first_value] = 1.0
        return numbers

    def taken(self, actions: Any) -> Any:
        """Convert an action, or an array of them, from counting from 0 to the environment's counting."""
        return actions + self._first_action
