"""Which simulations make up the verification of the interleaved lane."""

from __future__ import annotations

from tb.bench import Run
from tb.lint_rtl import SLOTS_WAIVER

__all__ = ["ACTING"]


def _run(agents: int, algorithm: int, rounding: int, states: int, actions: int, width: int) -> Run:
    return Run(
        top="qs_agents_bench",
        module="tb.uvm.acting_tests",
        test="ActingSuite",
        parameters={
            "States": states,
            "Actions": actions,
            "Width": width,
            "Agents": agents,
            "Algorithm": algorithm,
            "Rounding": rounding,
        },
        build_args=(SLOTS_WAIVER,),
    )


ACTING = [
    _run(16, 0, 0, 6, 3, 10),
    _run(5, 1, 1, 5, 4, 8),
    _run(3, 2, 2, 6, 3, 8),
    _run(4, 3, 2, 5, 2, 16),
]
"""Each algorithm, each rounding; each must reach every bin of its coverage."""
