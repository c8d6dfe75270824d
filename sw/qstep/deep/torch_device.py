"""The device that PyTorch uses: ``cpu``, ``cuda`` or ``mps``, by name or automatically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from qstep.errors import TorchDeviceError

__all__ = ["choose", "one_thread", "present", "synchronise"]


def present() -> list[str]:
    """Return the devices of this machine, fastest first; the last is always ``cpu``."""
    found = [
        ("cuda", torch.cuda.is_available()),
        ("mps", torch.backends.mps.is_available()),
        ("cpu", True),
    ]
    return [name for name, here in found if here]


def choose(name: str = "auto") -> torch.device:
    """Return a device by name, or the fastest for ``auto``; raise TorchDeviceError if it is missing."""
    here = present()
    if name != "auto" and name not in here:
        raise TorchDeviceError(
            f"PyTorch has no device {name!r} on this machine; it has {', '.join(here)} (or 'auto')"
        )
    return torch.device(here[0] if name == "auto" else name)


def synchronise(device: torch.device) -> None:
    """Wait until a device has finished its work; return immediately for the CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)  # pragma: no cover: needs a GPU
    elif device.type == "mps":
        torch.mps.synchronize()  # pragma: no cover: needs a GPU


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit PyTorch to one CPU thread in this block.

    With small layers, two threads spend more time waiting for each other than computing.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
