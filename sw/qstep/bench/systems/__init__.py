"""The systems that the benchmark compares and that ``qstep profile`` looks into, one a module.

Each module has ``system(device)``, see :mod:`qstep.bench.pairs`; `device` is PyTorch's, as
:func:`qstep.torch_device.choose` takes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qstep import extras
from qstep.errors import QStepError, ToolMissingError, TorchDeviceError

if TYPE_CHECKING:
    from qstep.bench.pairs import Form, System

__all__ = ["NAMES", "find", "load"]

NAMES = ("gridworld", "torch", "cartpole", "snake", "qloss")
"""All systems, in the order in which they are listed; here, as importing them takes seconds."""

_WITHOUT_TORCH = "gridworld"
"""The system whose forms run on the processor, each without PyTorch."""


def load(name: str, device: str = "cpu") -> System:
    """Return the system of that name, with its networks or tables on a device.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.
    device : str
        ``cpu``, ``cuda``, ``mps`` or ``auto``.

    Raises
    ------
    ToolMissingError
        It needs a package that is not installed; the message says how to get it.
    TorchDeviceError
        There is no such device here.
    """
    if device != "cpu":  # which is always there: PyTorch takes seconds to load
        extras.load("qstep.torch_device", "torch").choose(device)
    made: System = extras.load(f"{__name__}.{name}", "torch").system(device)
    return made


def find(form: str, device: str = "cpu") -> Form:
    """Return a form of any system by its name.

    Raises
    ------
    ToolMissingError
        It is absent here, or a system that was searched for it is; the message says why.
    TorchDeviceError
        There is no such device here, or the form does not use PyTorch and `device` is not ``cpu``.
    QStepError
        There is no such form; the message names all.
    """
    known: list[str] = []
    for name in NAMES:
        system = load(name, device)
        for entry in system.forms:
            if entry.name == form:
                if name == _WITHOUT_TORCH and device != "cpu":
                    raise TorchDeviceError(
                        f"{form} does not use PyTorch; it runs on the processor, not on {device!r}"
                    )
                return entry
            known.append(entry.name)
        for absent in system.absent:
            if absent.name == form:
                raise ToolMissingError(f"{form} is absent: {absent.reason}")
    raise QStepError(f"{form!r} is no backend; there are {', '.join(known)}")
