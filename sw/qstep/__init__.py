"""QStep: Q-learning in hardware, exact, one update per clock."""

from typing import TYPE_CHECKING, Any

from qstep.acting.world import World
from qstep.config import Config, Link
from qstep.devices import open_device
from qstep.errors import QStepError
from qstep.fixed import QFormat, Rounding
from qstep.hyperparameters import Hyperparameters
from qstep.transitions import Transitions

if TYPE_CHECKING:
    from qstep.acting.train import train

__all__ = [
    "Config",
    "Hyperparameters",
    "Link",
    "QFormat",
    "QStepError",
    "Rounding",
    "Transitions",
    "World",
    "train",
]
__version__ = "0.1.0"

open = open_device  # `qstep.open`; not in `__all__`, as `import *` must leave Python's own alone


def __getattr__(name: str) -> Any:
    """Load what takes most of a second, Numba and Gymnasium, only when it is used."""
    if name == "train":
        from qstep.acting.train import train

        return train
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
