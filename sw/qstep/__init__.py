"""QStep: Q-learning in hardware, exact, one update per clock."""

from qstep.acting.world import World
from qstep.config import Config, Link
from qstep.devices import open_device
from qstep.errors import QStepError
from qstep.fixed import QFormat, Rounding
from qstep.hyperparameters import Hyperparameters
from qstep.transitions import Transitions

__all__ = [
    "Config",
    "Hyperparameters",
    "Link",
    "QFormat",
    "QStepError",
    "Rounding",
    "Transitions",
    "World",
]
__version__ = "0.1.0"

open = open_device  # `qstep.open`; not in `__all__`, as `import *` must leave Python's own alone
