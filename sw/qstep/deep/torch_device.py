"""Which device PyTorch works on: ``cpu``, ``cuda`` or ``mps``, by name or found."""

from __future__ import annotations

import torch

from qstep.errors import TorchDeviceError

__all__ = ["choose", "present"]


def present() -> list[str]:
    """Return the devices of this machine, the fastest first; the last is always ``cpu``."""
    found = [
        ("cuda", torch.cuda.is_available()),
        ("mps", torch.backends.mps.is_available()),
        ("cpu", True),
    ]
    return [name for name, here in found if here]


def choose(name: str = "auto") -> torch.device:
    """Return a device of this machine.

    Parameters
    ----------
    name : str
        ``cpu``, ``cuda``, ``mps``, or ``auto`` for the fastest that is present.

    Raises
    ------
    TorchDeviceError
        There is no such device here, or it is none of these names.
    """
    here = present()
    if name != "auto" and name not in here:
        raise TorchDeviceError(
            f"PyTorch has no device {name!r} on this machine; it has {', '.join(here)} (or 'auto')"
        )
    return torch.device(here[0] if name == "auto" else name)
