"""Highest clocks in a place-and-route report: a single clock, or the lanes' and the link's."""

from __future__ import annotations

from typing import Any

from qstep.errors import BuildError
from qstep_fpga.pin_wrapper import LANES_CLOCK, LANES_OUTPUT
from qstep_rtl.crossing import STAGES

__all__ = ["check_crossing", "highest_clocks", "is_of_lanes"]


def is_of_lanes(clock: str) -> bool:
    """Return whether a reported clock is the lanes' clock; yosys names its net after either end."""
    return LANES_CLOCK in clock or LANES_OUTPUT in clock


def highest_clocks(report: dict[str, Any]) -> tuple[float, float | None]:
    """Return the lanes' highest clock in MHz, and the link's if it has a separate clock, else None."""
    clocks = {name: float(clock["achieved"]) for name, clock in report["fmax"].items()}
    lanes = [mhz for name, mhz in clocks.items() if is_of_lanes(name)]
    others = [mhz for name, mhz in clocks.items() if not is_of_lanes(name)]
    return (min(lanes), min(others)) if lanes else (min(others), None)


def check_crossing(report: dict[str, Any]) -> None:
    """Raise BuildError if data between the two clocks arrive later than the bit that announces them.

    The bit takes STAGES periods of the destination clock. The first period is not counted, because the
    bit's path may be shorter than the data's, so the data may take STAGES - 1 periods.
    """
    for path in report["critical_paths"]:
        ends = path["from"], path["to"]
        if ends[0] == ends[1] or "<async>" in ends:
            continue
        limit = (STAGES - 1) * 1e3 / report["fmax"][path["to"].split()[-1]]["achieved"]
        taken = sum(step["delay"] for step in path["path"])
        if taken > limit:
            raise BuildError(
                f"the path from {ends[0].split()[-1]} to {ends[1].split()[-1]} takes {taken:.1f} "
                f"ns; it must take at most {limit:.1f} ns. Try another seed"
            )
