"""What is fuzzed, with the faults that must be found in it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from numpy.typing import NDArray
from tb.bench import TB
from tb.fuzz import device, driver, files, frames

__all__ = ["TARGETS", "Target", "Tried"]


@dataclass(frozen=True)
class Tried:
    """A target that is ready.

    Parameters
    ----------
    one_input : callable
        Tries one input; raises anything at all if a property does not hold.
    counts : ndarray of uint8, optional
        What the last input reached, beside the branches of Python.
    """

    one_input: Callable[[bytes], None]
    counts: NDArray | None = None


@dataclass(frozen=True)
class Target:
    """Something that is fuzzed.

    Parameters
    ----------
    name : str
    prepared : callable
        Makes it ready, with whatever fault has been planted.
    faults : dict of str to callable
        Faults that must be found: each a context manager, by what is wrong.
    seeds : callable
        Makes the inputs from which alone the faults must be found.
    """

    name: str
    prepared: Callable[[], Tried]
    faults: dict[str, Callable[[], object]]
    seeds: Callable[[], list[bytes]] = list

    @property
    def corpus(self) -> Path:
        """The kept inputs, one a line, in Base64."""
        return TB / "fuzz" / "corpus" / f"{self.name}.txt"

    def kept(self) -> list[bytes]:
        """Return the kept inputs."""
        return [b64decode(line) for line in self.corpus.read_bytes().splitlines()]


def _device() -> Tried:
    simulated = device.Device()
    return Tried(simulated.one_input, simulated.counts)


TARGETS = {
    target.name: target
    for target in (
        Target("frames", partial(Tried, frames.one_input), frames.FAULTS),
        Target("driver", partial(Tried, driver.one_input), driver.FAULTS, driver.seeds),
        *(
            Target(name, partial(Tried, one_input), faults, seeds)
            for name, one_input, faults, seeds in files.READERS
        ),
        Target("device", _device, device.FAULTS, device.seeds),
    )
}
