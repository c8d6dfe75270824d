"""C loops, compiled on this machine, for comparison with the speed of compiled Python.

The simulation's C++ compiler compiles them, as C, for the local processor: with ``-O3 -march=native``,
or ``-mcpu=native`` if it supports only this flag.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
from collections.abc import Sequence
from contextlib import suppress
from ctypes import c_double, c_int64, c_uint32, c_uint64
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numba.core.codegen import get_host_cpu_features
from numpy.ctypeslib import ndpointer
from numpy.typing import NDArray

from qstep._io import cache
from qstep._io.workers import run
from qstep.envs.gridworld import DeterministicModel
from qstep.errors import BuildError
from qstep.spec.settings import AgentCounters
from qstep_bench.baselines.learning import LEARNING, Learning
from qstep_bench.baselines.problem import Stream

__all__ = ["LANES", "Yardstick", "compiler_version", "counted", "library"]

LANES = 16
"""Number of agents per vectorised loop, a power of two."""

_SOURCE = Path(__file__).with_name("yardstick.c")

# Contraction is disabled, because a fused multiply-add rounds once and Python rounds twice.
_FLAGS = (f"-DLANES={LANES}", "-O3", "-ffp-contract=off", "-fPIC", "-shared", "-x", "c")

_NATIVE = "-march=native", "-mcpu=native"
"""Flags for the local processor; the first that the compiler accepts is used, if any."""

_TABLE = ndpointer(np.float64, flags=("C_CONTIGUOUS", "WRITEABLE"))
_REALS = ndpointer(np.float64, flags="C_CONTIGUOUS")
_INDICES = ndpointer(np.int32, flags="C_CONTIGUOUS")  # never negative, so C reads them as unsigned
_BOOLS = ndpointer(np.bool_, flags="C_CONTIGUOUS")
_LEARN = (_TABLE, _INDICES, _REALS, _BOOLS, c_uint32, c_int64, *(c_double,) * 2, *(c_uint64,) * 2)
_REPLAY = (_TABLE, _INDICES, _INDICES, _REALS, _INDICES, _BOOLS, c_int64, *(c_double,) * 2)


class Yardstick:
    """The C loop for a given number of actions, with the same functions as `numba_table`.

    Parameters
    ----------
    actions : int
        Number of actions, 1 or more.

    Raises
    ------
    ToolMissingError
        There is no compiler; the message contains installation instructions.
    BuildError
        The compiler failed; the message ends with its output.
    """

    def __init__(self, actions: int) -> None:
        compiled = library(actions)
        self._learn, self._replay = compiled.learn, compiled.replay
        for function, types in ((self._learn, _LEARN), (self._replay, _REPLAY)):
            function.argtypes, function.restype = types, None

    def learn(
        self, model: DeterministicModel, updates: int, how: Learning = LEARNING
    ) -> NDArray[np.float64]:
        """Learn like :func:`qstep_bench.baselines.numba_table.learn`, with a bit-identical result."""
        q = np.zeros(model.next_state.shape)
        threshold = round(how.epsilon * 2**32)
        self._learn(q, *model, updates, how.alpha, how.gamma, threshold, how.seed)
        return q

    def replay(
        self, q: NDArray[np.float64], stream: Stream, *, alpha: float = 0.5, gamma: float = 0.9
    ) -> None:
        """Update `q` like :func:`qstep_bench.baselines.numba_table.replay`, bit for bit."""
        self._replay(q, *stream, len(stream.state), alpha, gamma)


def compiler_version() -> str:
    """Return the first line of the compiler's version message."""
    from qstep_sim import verilator

    return verilator.compiler_version()


def library(actions: int, source: Path | None = None, *defines: str) -> ctypes.CDLL:
    """Return the loops for a number of actions, cached or compiled; errors as for :class:`Yardstick`."""
    from qstep_sim import verilator

    source = source or _SOURCE

    def make(folder: Path) -> Path:
        path = folder / "yardstick.so"
        for native in _NATIVE:
            with suppress(BuildError):
                run([*command, native, str(source), "-o", path], BuildError)
                return path
        run([*command, str(source), "-o", path], BuildError)
        return path

    command = [*verilator.compiler(), f"-DACTIONS={actions}", *defines, *_FLAGS]
    depends = [file.read_text(encoding="utf-8") for file in (_SOURCE, source)]
    depends += [
        verilator.compiler_version(),
        *command,
        *_NATIVE,
        platform.machine(),
        platform.system(),
    ]
    depends.append(get_host_cpu_features())
    key = hashlib.sha256("\0".join(depends).encode()).hexdigest()[:32]
    return cache.load(cache.fetch(key, ".so", make))


def counted(
    counters: Sequence[AgentCounters], agents: Sequence[ctypes.Structure]
) -> list[AgentCounters]:
    """Return the agents' counters, updated from the fields of their C structures."""
    return [
        AgentCounters(
            **{name: getattr(agent, name, value) for name, value in asdict(before).items()}
        )
        for before, agent in zip(counters, agents, strict=True)
    ]
