"""How the AXI wrapper is simulated: its generated registers, and which parameters."""

from __future__ import annotations

import hashlib
import tempfile
from functools import cache
from pathlib import Path

from tb.bench import BUILD, RTL, Run

from qstep_rtl.bus.registers import BLOCK, write_block

__all__ = ["AXI_LANES", "MORE_AXI_LANES", "axi_run", "register_block"]

AXI_LANES = [
    {"States": 25, "Actions": 4, "Width": 16, "LoopDepth": 1, "StreamBytes": 4},
    {"States": 33, "Actions": 3, "Width": 9, "Fraction": 3, "LoopDepth": 3, "StreamBytes": 16},
]
"""Parameters of ``qs_axi_lane``."""

MORE_AXI_LANES = [
    {"States": 18, "Actions": 2, "Width": 32, "LoopDepth": 2, "StreamBytes": 8},
    {"States": 300, "Actions": 64, "Width": 8, "Fraction": 7, "LoopDepth": 1, "StreamBytes": 16},
]
"""Those of the release run only."""


@cache
def register_block() -> tuple[Path, ...]:
    """Return the generated registers, kept as long as their description stays the same."""
    BUILD.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".registers-", dir=BUILD))
    names = [path.name for path in write_block(aside)]
    digest = hashlib.sha256(b"".join((aside / name).read_bytes() for name in names)).hexdigest()
    folder = BUILD / f"{BLOCK}-{digest[:12]}"
    try:
        aside.rename(folder)
    except OSError:  # it is there
        for path in aside.iterdir():
            path.unlink()
        aside.rmdir()
    return tuple(folder / name for name in names)


def axi_run(parameters: dict[str, int], rtl: Path = RTL, seed: int = 1, packets: int = 6) -> Run:
    """Return the run of all tests of the wrapper; `packets` is the length of the random one."""
    return Run(
        "qs_axi_lane",
        "tb.bus.axi_lane_tests",
        parameters,
        options={"packets": str(packets)},
        seed=seed,
        rtl=rtl,
        sources=(*register_block(), rtl / "qs_axi_lane.sv"),
    )
