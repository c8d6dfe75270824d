"""The function that takes most of the time according to cProfile, for the line profiler to watch."""

from __future__ import annotations

import cProfile
import inspect
import sys
from operator import attrgetter
from pathlib import Path
from types import CodeType, FunctionType

from qstep.errors import QStepError

__all__ = ["heaviest"]

_PACKAGE = str(Path(__file__).parents[1])


def heaviest(profiler: cProfile.Profile) -> FunctionType:
    """Return the function of QStep that takes most of the time, without QStep's functions that it calls.

    A function is found by its qualified name in its module. One without such a name, because it is made
    inside another function or compiled by Numba, belongs to the line that calls it.

    Raises
    ------
    QStepError
        No function of QStep ran.
    """
    modules = {
        module.__file__: module
        for module in list(sys.modules.values())
        if (getattr(module, "__file__", None) or "").startswith(_PACKAGE)
    }

    def function(code: CodeType | str) -> FunctionType | None:
        if not isinstance(code, CodeType) or code.co_filename not in modules:
            return None
        try:
            found = attrgetter(code.co_qualname)(modules[code.co_filename])
        except AttributeError:
            return None
        plain = inspect.unwrap(found) if isinstance(found, FunctionType) else None
        return plain if plain is not None and plain.__code__ is code else None

    entries = {entry.code: entry for entry in profiler.getstats()}

    def inside(code: CodeType | str, through: frozenset[CodeType] = frozenset()) -> float:
        """Return what a function's calls of ours took, also through those without a name."""
        spent = 0.0
        for call in entries[code].calls or ():
            if function(call.code):
                spent += call.totaltime
            elif isinstance(call.code, CodeType) and call.code not in through:
                spent += min(call.totaltime, inside(call.code, through | {call.code}))
        return spent

    seconds = {
        found: entry.totaltime - inside(code)
        for code, entry in entries.items()
        if (found := function(code))
    }
    if not seconds:
        raise QStepError("no function of QStep ran in Python; take another tool, such as cprofile")
    return max(seconds, key=seconds.__getitem__)
