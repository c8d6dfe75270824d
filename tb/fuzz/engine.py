"""Fuzz one target with Atheris, which is libFuzzer for Python: the process that ``tb.fuzz`` starts.

    python -m tb.fuzz.engine TARGET [ARGUMENT OF LIBFUZZER]...

Fuzzing is guided by the branches taken in QStep's Python and, for the device, in the hardware. The
simulation's branch counts are passed to libFuzzer as if a compiler had instrumented the program.
"""

import ctypes
import shlex
import sys

import atheris
import numpy as np
from atheris import core_with_libfuzzer
from numpy.typing import NDArray

# Numba compiles these modules itself, and cannot compile instrumented code.
_COMPILED = (
    "golden.lane_fast",
    "golden.agents_kernel",
    "golden.throughput",
    "device.link.records",
)

with atheris.instrument_imports(include=["qstep"], exclude=[f"qstep.{name}" for name in _COMPILED]):
    from tb.fuzz.targets import TARGETS


def _hand_over(counts: NDArray[np.uint8]) -> ctypes.Array[ctypes.c_size_t]:
    """Make libFuzzer read `counts` after each input; return a table that must be kept alive.

    This uses SanitizerCoverage's interface: one counter and one program address for each branch.
    """
    library = ctypes.CDLL(core_with_libfuzzer.__file__)
    places = (ctypes.c_size_t * (2 * counts.size))()
    places[::2] = list(range(1, counts.size + 1))
    for name, first, size in (
        ("__sanitizer_cov_8bit_counters_init", counts.ctypes.data, counts.nbytes),
        ("__sanitizer_cov_pcs_init", ctypes.addressof(places), ctypes.sizeof(places)),
    ):
        getattr(library, name)(ctypes.c_void_p(first), ctypes.c_void_p(first + size))
    return places


def main(target: str, *arguments: str) -> None:
    """Fuzz until libFuzzer ends the process."""
    one_input, counts = TARGETS[target].prepared()
    # For a merge, libFuzzer starts further processes by the program's name.
    program = shlex.join([sys.executable, "-m", "tb.fuzz.engine", target])
    atheris.Setup([program, *arguments], one_input)
    places = None if counts is None else _hand_over(counts)
    atheris.Fuzz()
    del places


if __name__ == "__main__":
    main(*sys.argv[1:])
