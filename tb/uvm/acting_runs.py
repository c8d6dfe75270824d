"""The simulations that verify the interleaved lane."""

from tb.bench import Run

__all__ = ["ACTING", "OWNING", "SHARING"]


def _run(
    agents: int, algorithm: int, rounding: int, states: int, actions: int, width: int, **more: int
) -> Run:
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
            **more,
        },
    )


OWNING = [
    _run(16, 0, 0, 6, 3, 10),
    _run(5, 1, 1, 5, 4, 8),
    _run(3, 2, 2, 6, 3, 8),
    _run(4, 3, 2, 5, 2, 16),
]
"""Runs with separate tables, covering each algorithm and each rounding mode."""

SHARING = [
    # With this many states, slots act at every distance at which an earlier write matters.
    _run(16, 0, 0, 48, 3, 10, SharedTable=1, Starts=32),
    _run(5, 1, 1, 6, 3, 8, SharedTable=1),
    _run(3, 2, 2, 6, 3, 8, SharedTable=1),
    _run(4, 3, 2, 5, 2, 16, SharedTable=1),
]
"""Runs with a shared table, also covering each algorithm and each rounding mode."""

ACTING = [*OWNING, *SHARING]
"""All runs, each of which must hit every bin of its coverage."""
