"""QStep: Q-learning in hardware, exact, one update per clock.

:func:`train` and :func:`sweep` learn Q-tables; :func:`dqn`, :func:`pqn` and :func:`sac` train networks.
:func:`load` reads a result. :func:`open` opens a device, which :class:`Config` describes.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from qstep import envs  # importing it registers the environments with Gymnasium
from qstep.device import Counters, Device, Status, open_device, open_live
from qstep.errors import QStepError
from qstep.mdp.transitions import Transitions
from qstep.mdp.world import World
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config, Link, TableType
from qstep.spec.epsilon import Epsilon, EpsilonCode
from qstep.spec.fixed import Coefficients, QFormat, Rounding
from qstep.spec.random import NoiseState
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState, Hyperparameters
from qstep.spec.tiles import Tiles

if TYPE_CHECKING:
    from qstep._io.workers import Cluster as Cluster
    from qstep._io.workers import Here as Here
    from qstep._io.workers import Processes as Processes
    from qstep._io.workers import Workers as Workers
    from qstep.deep.result import NetworkResult as NetworkResult
    from qstep.deep.run import dqn as dqn
    from qstep.deep.run import pqn as pqn
    from qstep.deep.run import sac as sac
    from qstep.device.live import LiveDevice as LiveDevice
    from qstep.learn.advise import usual_steps as usual_steps
    from qstep.learn.agents_result import AgentsResult as AgentsResult
    from qstep.learn.agents_result import Point as Point
    from qstep.learn.metrics import Metrics as Metrics
    from qstep.learn.plan import AgentsPlan as AgentsPlan
    from qstep.learn.plan import Budget as Budget
    from qstep.learn.plan import fitting_format as fitting_format
    from qstep.learn.result import Result as Result
    from qstep.learn.run import Progress as Progress
    from qstep.learn.sweep import sweep as sweep
    from qstep.learn.sweep_plan import SweepOptions as SweepOptions
    from qstep.learn.sweep_plan import SweepPlan as SweepPlan
    from qstep.learn.sweep_plan import SweepPoint as SweepPoint
    from qstep.learn.sweep_result import SweepResult as SweepResult
    from qstep.learn.table_result import TableResult as TableResult
    from qstep.learn.train import load as load
    from qstep.learn.train import train as train
    from qstep.mdp.memory import WorldTable as WorldTable
    from qstep.mdp.solve import ValueRange as ValueRange
    from qstep.mdp.solve import doubts as doubts
    from qstep.mdp.solve import is_quick as is_quick
    from qstep.mdp.solve import value_range as value_range
    from qstep_rtl.sources import rtl_files as rtl_files

__version__ = "0.2.0"

logging.getLogger("qstep").addHandler(logging.NullHandler())  # silent unless a user adds a handler

open = open_device  # not in `__all__`, because `import *` must not shadow Python's `open`

_LOADED_WHEN_USED = {
    "qstep._io.workers": "Cluster Here Processes Workers",
    "qstep.deep.result": "NetworkResult",
    "qstep.deep.run": "dqn pqn sac",
    "qstep.device.live": "LiveDevice",
    "qstep.learn.advise": "usual_steps",
    "qstep.learn.agents_result": "AgentsResult Point",
    "qstep.learn.metrics": "Metrics",
    "qstep.learn.plan": "AgentsPlan Budget fitting_format",
    "qstep.learn.result": "Result",
    "qstep.learn.run": "Progress",
    "qstep.learn.sweep": "sweep",
    "qstep.learn.sweep_plan": "SweepOptions SweepPlan SweepPoint",
    "qstep.learn.sweep_result": "SweepResult",
    "qstep.learn.table_result": "TableResult",
    "qstep.learn.train": "load train",
    "qstep.mdp.memory": "WorldTable",
    "qstep.mdp.solve": "ValueRange doubts is_quick value_range",
    "qstep_rtl.sources": "rtl_files",
}
"""Public names by module, each loaded on first use, because importing Numba takes most of a second."""

_MODULES = {name: module for module, names in _LOADED_WHEN_USED.items() for name in names.split()}

__all__ = [
    "Acting",
    "AgentCounters",
    "AgentSettings",
    "AgentState",
    "Algorithm",
    "Coefficients",
    "Config",
    "Counters",
    "Device",
    "Epsilon",
    "EpsilonCode",
    "Hyperparameters",
    "Link",
    "NoiseState",
    "QFormat",
    "QStepError",
    "Rounding",
    "Status",
    "TableType",
    "Tiles",
    "Transitions",
    "World",
    "envs",
    "open_live",
    *_MODULES,
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "open"]
