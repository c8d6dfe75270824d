"""The C++ learner of a configuration, compiled and called from Python."""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.golden.planes import Choices, Requests
from qstep.spec.planes import CPP_HEADER, PlanesConfig, config_header
from qstep_sim import verilator

# Contraction is off, because a fused multiply-add rounds once but the recorded learner rounds twice.
FLAGS = (
    "-std=c++17",
    "-O2",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-fPIC",
    "-shared",
)


class CppPlanes:
    """The C++ header compiled for a configuration; raises ToolMissingError without a compiler."""

    def __init__(
        self, name: str, config: PlanesConfig, folder: Path, header: Path = CPP_HEADER
    ) -> None:
        # The libraries of a process share inline variables, so the names of configurations must differ.
        self.config = config
        (folder / "config.hpp").write_text(config_header(name, config), encoding="utf-8")
        library = folder / "planes.so"
        (folder / "qstep").mkdir()
        (folder / "qstep" / "planes.hpp").symlink_to(header)
        source = Path(__file__).with_name("planes_library.cpp")
        flags = [*FLAGS, f"-DCONFIG={name.capitalize()}", f"-I{folder}"]
        subprocess.run([*verilator.compiler(), *flags, str(source), "-o", str(library)], check=True)
        self._library = ctypes.CDLL(str(library))

    def run(
        self, form: str, requests: Requests, seed: int = 0
    ) -> tuple[Choices, NDArray[np.float64]]:
        """Execute requests after a reset in `fixed` or `float` form; return choices and weights."""
        config = self.config
        single = (requests.learns, requests.action, requests.reward, requests.next_action)
        columns = [*single, requests.terminated, *requests.rows.T, *requests.next_rows.T]
        table = np.ascontiguousarray(np.stack(columns, axis=1), np.int32)
        answers = np.zeros((int((~requests.learns).sum()), 3))
        weights = np.zeros((config.all_planes, config.rows, config.actions))
        call: Any = getattr(self._library, f"run_{form}")
        pointers = (
            _pointer(table),
            ctypes.c_int64(len(table)),
            _pointer(answers),
            _pointer(weights),
        )
        call(ctypes.c_uint64(seed), *pointers)
        action, value, explored = answers.T
        return Choices(
            action.astype(np.int32), value.astype(np.int64), explored.astype(np.bool_)
        ), weights

    def rows(self, words: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Return the rows of feature words, which are uint64 of shape (N, G)."""
        rows = np.zeros((len(words), self.config.all_planes), np.uint32)
        self._library.hash_rows(_pointer(words), ctypes.c_int64(len(words)), _pointer(rows))
        return rows

    def queue(self, events: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """Return the updates of a three-entry queue and its count of unknown keys."""
        learns, unknown = np.zeros((len(events), 5), np.int64), np.zeros(1, np.int64)
        call = self._library.run_queue
        call.restype = ctypes.c_int64
        pointers = _pointer(learns), _pointer(unknown)
        count = call(_pointer(events), ctypes.c_int64(len(events)), *pointers)
        return learns[:count], int(unknown[0])


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)
