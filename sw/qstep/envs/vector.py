"""N environments at once, as Gymnasium's ``VectorEnv`` has them: made by name, read as transitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from qstep.errors import EnvironmentSpaceError

__all__ = ["check_autoreset", "final_values", "led_to"]


def check_autoreset(envs: VectorEnv[Any, Any, Any]) -> None:
    """Raise EnvironmentSpaceError unless an episode that ends is reset within the same step."""
    mode = envs.metadata.get("autoreset_mode")
    if mode is not AutoresetMode.SAME_STEP:
        raise EnvironmentSpaceError(
            f"autoreset_mode of the environments is {mode}; it must be {AutoresetMode.SAME_STEP}"
        )


def led_to(observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
    """Return what each action led to, shape as `observation`: it belongs to the transition.

    With ``AutoresetMode.SAME_STEP`` a step's observation is that of the new episode where one has ended;
    what the last action of the old one led to is in the info.

    Parameters
    ----------
    observation : ndarray, shape (N, ...)
    info : dict
        Both from one step. Neither is changed.
    """
    if "final_obs" not in info:
        return observation
    ended = info["_final_obs"]
    reached = observation.copy()
    reached[ended] = np.stack(info["final_obs"][ended])
    return reached


def final_values(info: dict[str, Any], name: str) -> NDArray[Any] | None:
    """Return a value of the final infos of a step, shape (N,), right where an episode ended; or None."""
    values: NDArray[Any] | None = info.get("final_info", {}).get(name)
    return values
