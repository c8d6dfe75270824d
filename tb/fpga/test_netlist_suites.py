"""The unmodified pyuvm suites of the device and of agents pass on netlists for each family."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, Run, parameter_id, run
from tb.fpga.netlists import on_netlist
from tb.uvm.acting_runs import ACTING, OWNING, SHARING
from tb.uvm.device_runs import CONFIGS, config_id, device_run

from qstep.spec.config import Config
from qstep_fpga.families import FAMILIES

pytestmark = [pytest.mark.synth, pytest.mark.slow, pytest.mark.timeout(1200)]

OFTEN = [("ecp5", CONFIGS[0]), ("gowin", SHARING[2]), ("ecp5", OWNING[1])]
"""Designs tested in every CI run; a release run tests all designs."""

TABLE = r"(LUT4 #\(\s+\.INIT\(16'h)([0-9a-f]{4})(?=\)\s+\) \\\S*u_update\.value_)"
"""Pattern of an ECP5 look-up table that computes the new value."""


def each(designs: Sequence[object]) -> list[object]:
    return [
        pytest.param(*these, marks=() if these in OFTEN else pytest.mark.release)
        for these in ((family, design) for family in FAMILIES for design in designs)
    ]


def name(given: object) -> str:
    if isinstance(given, Config):
        return config_id(given)
    return parameter_id(given.parameters) if isinstance(given, Run) else str(given)


def suite_of(family: str, design: Config | Run) -> Run:
    if isinstance(design, Config):
        return on_netlist(device_run(design), family, design)
    return on_netlist(design, family)


@pytest.mark.parametrize(("family", "config"), each(CONFIGS), ids=name)
def test_the_suite_of_the_device_passes_on_its_netlist(family: str, config: Config) -> None:
    run(suite_of(family, config))


@pytest.mark.parametrize(("family", "agents"), each(ACTING), ids=name)
def test_the_suite_of_agents_passes_on_their_netlist(family: str, agents: Run) -> None:
    suite = suite_of(family, agents)
    if family == "ecp5":
        text = suite.sources[1].read_text(encoding="utf-8")
        assert '.REG_PIPELINE_CLK("CLK0")' in text
        assert "READBEFOREWRITE" not in text
    run(suite)


@pytest.mark.parametrize(
    ("design", "message"),
    [
        pytest.param(CONFIGS[0], "instead of", marks=pytest.mark.release),
        (OWNING[1], "differ|counters of agent"),
    ],
    ids=name,
)
def test_a_wrong_look_up_table_fails_the_suite(
    design: Config | Run, message: str, tmp_path: Path
) -> None:
    right = suite_of("ecp5", design)
    lint, netlist, *others = right.sources
    text = netlist.read_text(encoding="utf-8")
    inverted, count = re.subn(
        TABLE, lambda at: f"{at[1]}{int(at[2], 16) ^ 0xFFFF:04x}", text, count=1
    )
    assert count == 1
    wrong = tmp_path / netlist.name
    wrong.write_text(inverted, encoding="utf-8")
    with pytest.raises(BenchError, match=message):
        run(replace(right, sources=(lint, wrong, *others)))
