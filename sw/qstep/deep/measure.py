"""Measurements of a long run: phases, memory, and the interval over several seeds."""

from __future__ import annotations

import math
import statistics
import sys
import time
import weakref
from collections.abc import Sequence
from typing import Any

from qstep.deep.dqn_plain import PlainDqn
from qstep.deep.learner import PHASES

__all__ = ["clocked", "interval", "peak_mib"]

_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t, two-sided 95 %, by degrees of freedom from 1."""


def clocked(learner: PlainDqn) -> dict[str, float]:
    """Time each phase of plain DQN; return the seconds, which grow as it runs."""
    seconds = dict.fromkeys(PHASES, 0.0)

    def clock(owner: Any, name: str, phase: str) -> None:
        # A weak reference: an owner that holds its own bound method would stay in memory after the run,
        # and the replay with it, until the garbage collector finds it.
        function, held = getattr(type(owner), name), weakref.ref(owner)

        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            result = function(held(), *arguments)
            seconds[phase] += time.perf_counter() - began
            return result

        setattr(owner, name, timed)

    clock(learner, "_select", "select")
    clock(learner.env, "step", "step")
    clock(learner.replay, "push", "store")
    clock(learner, "_learn", "learn")
    clock(learner, "_follow", "learn")
    return seconds


def interval(means: Sequence[float]) -> float | None:
    """Return half of the 95 % interval of the mean of 2 to 10 runs, by Student's t; else None."""
    freedom = len(means) - 1
    if not 1 <= freedom <= len(_T_95):
        return None
    return _T_95[freedom - 1] * statistics.stdev(means) / math.sqrt(len(means))


def peak_mib() -> float:
    """Return this process's peak memory, or NaN where the system does not report it."""
    try:
        import resource
    except ImportError:  # pragma: no cover: not a POSIX system
        return math.nan
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)
