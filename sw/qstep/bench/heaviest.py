"""Which function takes most of the time, by what cProfile saw, as one that a line profiler can watch."""

from __future__ import annotations

import gc
import pstats
from collections import defaultdict
from pathlib import Path
from types import FunctionType
from typing import Any

from qstep.errors import QStepError

__all__ = ["Place", "heaviest"]

Place = tuple[str, int, str]
"""File, line and name of a function, as cProfile has them."""

_PACKAGE = str(Path(__file__).parents[1])


def heaviest(stats: pstats.Stats) -> list[FunctionType]:
    """Return the function of ours that takes most, without those of ours that it calls.

    A closure is a function of its own each time that it is made: those that live are all returned. A
    function that Numba has compiled has no lines to watch: it belongs to the line that calls it.

    Raises
    ------
    QStepError
        None of ours ran, or none that still lives.
    """
    from numba.core.registry import CPUDispatcher  # takes a second, and the commands import this

    live: dict[Place, list[FunctionType]] = defaultdict(list)
    compiled: set[Place] = set()
    for found in gc.get_objects():
        # isinstance would ask objects that are not what they seem.
        if type(found) is FunctionType:
            live[_place(found)].append(found)
        elif type(found) is CPUDispatcher:
            compiled.add(_place(found.py_func))
    rows: dict[Place, Any] = stats.stats  # type: ignore[attr-defined]
    ours = {
        place: row[3]
        for place, row in rows.items()
        if place[0].startswith(_PACKAGE) and place not in compiled
    }
    for place in list(ours):
        for caller, (_, _, _, whole) in rows[place][4].items():
            if caller in ours:
                ours[caller] -= whole
    known = ours.keys() & live.keys()
    if not known:
        raise QStepError("no function of QStep ran in Python; take another tool, such as cprofile")
    return live[max(known, key=lambda place: ours[place])]


def _place(function: FunctionType) -> Place:
    code = function.__code__
    return code.co_filename, code.co_firstlineno, code.co_name
