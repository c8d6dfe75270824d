"""Latencies of the hardware as numbers, on which RTL, benches and reports must agree."""

from __future__ import annotations

from qstep.spec.config import Config

__all__ = ["write_stage"]


def write_stage(config: Config) -> int:
    """Return the clocks from the lane's issue register to its result.

    It is also the number of older transitions whose writes a table read misses: the hazard window.
    Its twin is ``qs_pkg::write_stage``; ``tb/uvm`` measures it on the RTL.
    """
    return 5 + config.action_bits + config.loop_depth
