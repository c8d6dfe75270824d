"""The fuzzing targets, each of which is a module.

``prepared()`` returns two things. The first is a function that tries an input and raises an exception if
a property is violated. The second is an array of counts of what the last input reached in addition to
Python branches, or None. ``FAULTS`` maps the description of each fault to a context manager that plants
it.
"""

from base64 import b64decode
from pathlib import Path

from tb.fuzz import device, driver

__all__ = ["TARGETS", "corpus", "kept"]

TARGETS = {"driver": driver, "device": device}


def corpus(name: str) -> Path:
    """Return the file of a target's corpus, one Base64 input per line."""
    return Path(__file__).parent / "corpus" / f"{name}.txt"


def kept(name: str) -> list[bytes]:
    """Return the inputs in a target's corpus."""
    return [b64decode(line) for line in corpus(name).read_bytes().splitlines()]
