"""Registers that must keep running when a simulation puts blocks of the device to sleep."""

from __future__ import annotations

__all__ = ["SLEEPLESS"]

SLEEPLESS = {"sleepless": 1}
"""Attribute of a register that changes even while its block is asleep."""
