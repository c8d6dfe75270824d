"""QStep: Q-learning in hardware, exact, one update per clock."""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from qstep import envs  # which registers the environments with Gymnasium
from qstep.device import open_device
from qstep.errors import QStepError
from qstep.mdp.transitions import Transitions
from qstep.mdp.world import World
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config, Link
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import QFormat, Rounding
from qstep.spec.settings import AgentSettings, Hyperparameters

if TYPE_CHECKING:
    from qstep.device.live import open_live
    from qstep.learn.sweep import sweep
    from qstep.learn.train import train
    from qstep_rtl.sources import rtl_files

__all__ = [
    "Acting",
    "AgentSettings",
    "Algorithm",
    "Config",
    "Epsilon",
    "Hyperparameters",
    "Link",
    "QFormat",
    "QStepError",
    "Rounding",
    "Transitions",
    "World",
    "envs",
    "open_live",
    "rtl_files",
    "sweep",
    "train",
]
__version__ = "0.1.0"

logging.getLogger("qstep").addHandler(logging.NullHandler())  # quiet unless the program listens

open = open_device  # `qstep.open`; not in `__all__`, as `import *` must leave Python's own alone


_LOADED_WHEN_USED = {
    "open_live": "qstep.device.live",
    "rtl_files": "qstep_rtl.sources",
    "sweep": "qstep.learn.sweep",
    "train": "qstep.learn.train",
}
"""They take most of a second, for Numba, or belong to the hardware."""


def __getattr__(name: str) -> Any:
    if name in _LOADED_WHEN_USED:
        return getattr(import_module(_LOADED_WHEN_USED[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
