"""The simulations that verify the lane, in lists that pytest and `make sim` share."""

from tb.bench import Run

__all__ = ["EXACT", "NETLISTS", "SUITES", "THROUGHPUT", "lane_run"]


def lane_run(
    test: str,
    states: int,
    actions: int,
    width: int,
    loop_depth: int,
    transitions: int = 0,
    **more: int,
) -> Run:
    """Return the run of one test in ``tb.uvm.lane_tests`` for one geometry."""
    return Run(
        top="qs_lane_bench",
        module="tb.uvm.lane_tests",
        test=test,
        parameters={
            "States": states,
            "Actions": actions,
            "Width": width,
            "LoopDepth": loop_depth,
            **more,
        },
        options={"transitions": str(transitions)} if transitions else {},
    )


_GEOMETRIES = [
    (16, 4, 16, 1),
    (64, 4, 16, 1),
    (25, 4, 16, 2),
    (7, 3, 8, 3),
    (500, 6, 16, 1),
    (5, 2, 32, 2),
    (33, 64, 12, 1),
]

SUITES = [
    *(lane_run("LaneSuite", *geometry, 20_000) for geometry in _GEOMETRIES),
    lane_run("LaneSuite", 12, 3, 16, 2, 20_000, CoeffFraction=22),
]
"""Runs with directed and random stimuli, each of which must hit every coverage bin."""

EXACT = [
    lane_run("LaneRandom", 16, 4, 16, 1, 270_000),
    lane_run("LaneRandom", 64, 4, 16, 1, 270_000),
    lane_run("LaneRandom", 25, 4, 16, 2, 150_000),
    lane_run("LaneRandom", 7, 3, 8, 3, 150_000),
    lane_run("LaneRandom", 5, 2, 32, 3, 100_000),
    lane_run("LaneRandom", 2, 64, 12, 2, 20_000),
    lane_run("LaneRandom", 3, 64, 12, 3, 20_000),
    lane_run("LaneRandom", 65536, 2, 8, 1, 20_000),
    lane_run("LaneRandom", 7, 3, 32, 3, 100_000, CoeffFraction=24),
]
"""More than a million random transitions in total, including 64 actions with only 2 or 3 states."""

THROUGHPUT = [
    lane_run("LaneThroughput", *geometry)
    for geometry in [(64, 4, 16, 1), (500, 6, 16, 1), (25, 4, 16, 2), (64, 4, 16, 3)]
]

_NETLIST_GEOMETRIES = {
    "ecp5": [(64, 4, 16, 1), (256, 4, 16, 3)],
    "gowin": [(25, 4, 16, 2)],
    "ice40": [(64, 4, 16, 3)],
}

NETLISTS = {
    family: [
        run
        for geometry in geometries
        for run in (
            lane_run("LaneSuite", *geometry, 5000),
            lane_run("LaneThroughput", *geometry),
        )
    ]
    for family, geometries in _NETLIST_GEOMETRIES.items()
}
"""Runs on the netlists of each family, which together cover every loop depth. The ECP5 netlist with
loop depth 3 has registers inside all multipliers and block RAMs.
"""
