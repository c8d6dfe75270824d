"""Latencies of the hardware in clocks, on which RTL, benches and reports must agree."""

from __future__ import annotations

from qstep.spec.config import Config
from qstep.spec.planes import PlanesConfig

__all__ = ["answer_clocks", "write_stage"]


def write_stage(config: Config) -> int:
    """Return the clocks from the lane's issue register to its result.

    It is also the number of older transitions whose writes a table read misses: the hazard window.
    It must match ``qs_pkg::write_stage``; ``tb/uvm`` measures it on the RTL.
    """
    return 5 + config.action_bits + config.loop_depth


def answer_clocks(config: PlanesConfig) -> int:
    """Return the clocks from the acceptance of a choose request by ``qs_planes`` to its answer.

    It must be 2 more than ``qs_planes_pkg::answer_stage``; ``tb/unit`` measures it on the RTL.
    """
    sums, groups, actions = (
        (number - 1).bit_length() for number in (config.planes, config.groups, config.actions)
    )
    write = 7 + sums if config.error == "shared" else 5
    return write + 2 + sums + groups + 1 + actions + 1 + 2
