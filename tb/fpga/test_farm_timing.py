"""The clock of a farm follows from the clock of a single lane and of the logic between lanes."""

from collections.abc import Mapping
from typing import Any

import pytest

from qstep_fpga.families.ecp5.islands.around import Lane, Original
from qstep_fpga.families.ecp5.islands.sites import Site
from qstep_fpga.families.ecp5.islands.timing import between, with_lanes

SITE = Site(0, 0, frozenset({(0, 0)}))


def cell(kind: str, out: int, **wires: int) -> dict[str, Any]:
    ways = {**dict.fromkeys(wires, "input"), "Q": "output"}
    nets = {port: [bit] for port, bit in wires.items()}
    return {"type": kind, "port_directions": ways, "connections": {**nets, "Q": [out]}}


# in (1) -> a LUT with q (4) -> a register (3) -> a LUT -> a register (4) -> a LUT -> out (6).
# The first register's net stays inside the lane; the second register's net also goes to a port.
LANE = {
    "first": cell("TRELLIS_COMB", 2, A=1, B=4),
    "in_q": cell("TRELLIS_FF", 3, DI=2, CLK=9),
    "inner": cell("TRELLIS_COMB", 5, A=3, B=4),
    "q": cell("TRELLIS_FF", 4, DI=5, CLK=9),
    "last": cell("TRELLIS_COMB", 6, A=4),
}
WAYS = (("in", "input", 1), ("out", "output", 6), ("clock", "input", 9))
PORTS = {name: {"direction": way, "bits": [bit]} for name, way, bit in WAYS}
PATH = [
    {"delay": 3.0, "type": "logic", "from": {"cell": "q"}, "to": {"cell": "q"}},
    {"delay": 2.0, "type": "routing", "from": {"cell": "q"}, "to": {"cell": "in_q"}},
]


def lane(name: str, path: list[dict[str, Any]]) -> Lane:
    original = Original(SITE, {"cells": LANE, "ports": PORTS}, "clock", path)
    return Lane(name, SITE, original, {})


NETS = {"in": 1, "first": 2, "in_q": 3, "q": 4, "inner": 5, "out": 6, "$glbnet$clock": 9}


def farm_of(lane: dict[str, Any]) -> dict[str, Any]:
    return {
        "cells": {f"one.{name}": c for name, c in lane.items()} | {"pad": cell("IO", 1, I=6)},
        "netnames": {name: {"bits": [bit]} for name, bit in NETS.items()},
    }


def test_only_what_is_between_registers_of_two_lanes_is_left() -> None:
    left = between(farm_of(LANE), [lane("one", PATH)])
    assert wires(left["cells"]) == {
        "one.first": {"A": [1], "B": [4], "Q": [2]},
        "one.in_q": {"DI": [2], "CLK": [9], "Q": []},
        "one.inner": {"A": [], "B": [4], "Q": []},  # the route also reaches this cell
        "one.q": {"DI": [], "CLK": [9], "Q": [4]},
        "one.last": {"A": [4], "Q": [6]},
        "pad": {"I": [6], "Q": [1]},
    }
    assert set(left["netnames"]) == {"in", "first", "q", "out", "$glbnet$clock"}


def test_a_cell_that_only_cells_inside_a_lane_are_at_is_left_out() -> None:
    cells = {
        "in_q": cell("TRELLIS_FF", 3, DI=1, M=1, CLK=9),
        "inner": cell("TRELLIS_COMB", 5, A=3),
        "q": cell("TRELLIS_FF", 4, DI=5, CLK=9),
        "last": cell("TRELLIS_COMB", 6, A=4, B=4),
    }
    original = Original(SITE, {"cells": cells, "ports": PORTS}, "clock", PATH)
    left = between(farm_of(cells), [Lane("one", SITE, original, {})])
    assert wires(left["cells"]) == {
        "one.in_q": {"DI": [1], "M": [1], "CLK": [9], "Q": []},
        "one.q": {"DI": [], "CLK": [9], "Q": [4]},
        "one.last": {"A": [4], "B": [4], "Q": [6]},
        "pad": {"I": [6], "Q": [1]},
    }


def wires(cells: Mapping[str, Any]) -> dict[str, dict[str, list[int]]]:
    return {name: one["connections"] for name, one in cells.items()}


@pytest.mark.parametrize("clock", ["u.lanes_clk", "pll.lanes_out"])
def test_the_slowest_lane_counts_if_what_is_between_lanes_is_faster(clock: str) -> None:
    other = {"from": "posedge a", "to": "posedge b", "path": []}
    worst = {"from": f"posedge {clock}", "to": f"posedge {clock}", "path": []}
    report = {
        "fmax": {"a": {"achieved": 50.0}, clock: {"achieved": 250.0, "constraint": 210}},
        "critical_paths": [other, worst],
    }
    fast = [{**PATH[0], "delay": 1.0}]
    found = with_lanes(report, [lane("one", fast), lane("two", PATH)])
    assert found["fmax"] == {
        "a": {"achieved": 50.0},
        clock: {"achieved": 200.0, "constraint": 210},
    }
    (path, left) = found["critical_paths"]
    assert left == other
    assert path["to"] == f"posedge {clock}"
    assert [step["to"]["cell"] for step in path["path"]] == ["two.q", "two.in_q"]
    assert with_lanes(report, [lane("one", fast)]) == report
