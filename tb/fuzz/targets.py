"""What is fuzzed. Each target is a module.

``prepared()`` makes it ready: it returns a function that tries an input and raises anything at all if a
property does not hold, and counts of what the last input reached beside the branches of Python, or None.
``FAULTS`` are context managers that plant a fault, by what is wrong.
"""

from base64 import b64decode
from pathlib import Path

from tb.fuzz import device, driver

__all__ = ["TARGETS", "corpus", "kept"]

TARGETS = {"driver": driver, "device": device}


def corpus(name: str) -> Path:
    """Return the file of a target's kept inputs, one a line, in Base64."""
    return Path(__file__).parent / "corpus" / f"{name}.txt"


def kept(name: str) -> list[bytes]:
    """Return the kept inputs of a target."""
    return [b64decode(line) for line in corpus(name).read_bytes().splitlines()]
