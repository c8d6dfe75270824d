"""The systems that ``qstep bench`` compares and ``qstep profile`` analyses.

Each system with networks or many agents is a module with a function ``benchmark(device)``; `device` is
a PyTorch device, as for :func:`qstep.deep.torch_device.choose`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qstep._io import extras
from qstep.errors import QStepError, ToolMissingError, TorchDeviceError

if TYPE_CHECKING:
    from qstep_bench.measure import Benchmark, Form

__all__ = ["NAMES", "PROFILED", "TABLES", "find", "load"]

TABLES = ("gridworld", "stream")
"""Default of ``qstep bench``: systems whose backends fill a table; only one backend needs PyTorch."""

NAMES = (*TABLES, "acting", "farm", "torch", "cartpole", "snake", "qloss", "pqn-run")
"""All systems, in listing order. They are listed here because importing the modules takes seconds."""

PROFILED = tuple(name for name in NAMES if name != "stream")
"""Systems whose backends have unique names; stream's backends share the grid world's names."""


def load(name: str, device: str = "cpu") -> Benchmark:
    """Return the system called `name`, with its networks or tables on a device.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.
    device : str
        ``cpu``, ``cuda``, ``mps`` or ``auto``.

    Raises
    ------
    ToolMissingError
        The system needs a package that is not installed; the message contains installation instructions.
    TorchDeviceError
        This machine has no such device.
    """
    if device != "cpu":  # cpu always exists, and loading PyTorch takes seconds
        extras.load("qstep.deep.torch_device", "torch").choose(device)
    if name in TABLES:
        from qstep_bench import tables

        return tables.benchmark(name, device)
    made: Benchmark = extras.load(f"{__name__}.{name.replace('-', '_')}", "torch").benchmark(device)
    return made


def find(form: str, device: str = "cpu") -> Form:
    """Return a backend of the :data:`PROFILED` systems by name.

    Raises
    ------
    ToolMissingError
        The backend, or a system searched for it, is unavailable here; the message contains the reason.
    TorchDeviceError
        This machine has no such device, or the backend does not use PyTorch and `device` is not ``cpu``.
    QStepError
        The name is unknown; the message lists all backends.
    """
    known: list[str] = []
    for name in PROFILED:
        system = load(name, device)
        for entry in system.forms:
            if entry.name == form:
                if name in (*TABLES, "acting") and "torch" not in form and device != "cpu":
                    raise TorchDeviceError(
                        f"{form} does not use PyTorch; it runs on the processor, not on {device!r}"
                    )
                return entry
            known.append(entry.name)
        for absent in system.absent:
            if absent.name == form:
                raise ToolMissingError(f"{form} is absent: {absent.reason}")
    raise QStepError(f"unknown backend {form!r}; choose from {', '.join(known)}")
