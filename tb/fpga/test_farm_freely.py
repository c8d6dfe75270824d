"""The comparison of copied lanes with lanes placed freely: what it places, and what it prints."""

from __future__ import annotations

import json
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tb import farm_freely
from tb.fpga.placements import placement

from qstep.errors import BuildError
from qstep_fpga.farm.build import Farm
from qstep_fpga.placement import Design, Placement

pytestmark = pytest.mark.unit


def test_both_ways_place_the_same_netlist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    modules = {"board": {"attributes": {"top": "1"}}, "qs_island": {"attributes": {"top": "1"}}}
    (tmp_path / "farm.json").write_text(json.dumps({"modules": modules}))
    built: list[tuple[int, int]] = []

    def synthesised(board: Any, config: Any) -> Path:
        built.append((config.lanes, config.acting.agents))
        return tmp_path / "farm.json"

    def copied(*given: Any, link_hz: int) -> Farm:
        assert given[1] == modules
        return Farm(
            (), {}, tuple(replace(placement(n, 200.5), link_fmax_mhz=99.0) for n in given[6])
        )

    def freely(design: Design, seed: int) -> Placement:
        whole = json.loads(design.netlist.read_text())["modules"]
        assert whole == {**modules, "qs_island": {"attributes": {}}}
        if seed == 2:
            raise BuildError("nextpnr failed with status -24:\nno more time")
        return replace(placement(seed, 150.0), link_fmax_mhz=98.0)

    monkeypatch.setattr(farm_freely, "synthesise_farm", synthesised)
    monkeypatch.setattr(farm_freely, "copy_lanes", copied)
    monkeypatch.setattr(farm_freely, "place", freely)
    monkeypatch.setattr(resource, "setrlimit", lambda *given: None)
    monkeypatch.setattr(farm_freely, "_processor_time", lambda: 0.0)
    monkeypatch.setattr(Design, "of_device", lambda board, config, file: Design(board, file, 1))
    done = CliRunner().invoke(farm_freely.main, ["ulx3s-12f-farm", "2", "4", "--seeds", "2"])
    assert built == [(2, 32), (4, 64)]
    figures = [
        "  copied: lanes 200.5, 200.5 MHz, link 99.0, 99.0 MHz; 0 s",
        "  freely, seed 1: lanes 150.0 MHz, link 98.0 MHz; 0 s",
        "  freely, seed 2: nextpnr failed with status -24:; 0 s",
    ]
    assert done.stdout.splitlines() == ["2 lanes", *figures, "4 lanes", *figures]


def test_a_board_without_copied_lanes_is_refused() -> None:
    done = CliRunner().invoke(farm_freely.main, ["ulx3s-12f", "2"])
    assert done.exit_code == 2
    assert "ulx3s-12f is no farm with a clock of its own" in done.output
