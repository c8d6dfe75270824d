"""The area and clock of a preset's learner are reported."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from tools.lint_rtl import lint

from qstep.spec.planes import PRESETS
from qstep_fpga import alone, learner
from qstep_fpga.placement import Design, Placement
from qstep_rtl.learner import generate_learner, learner_ports


def test_figures_of_a_preset_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    def place_all(design: Design, seeds: range, *others: object) -> list[Placement]:
        return [Placement(seed, design.clock_hz / 1e6 + seed, {}, Path()) for seed in seeds]

    monkeypatch.setattr(learner, "synthesise_learner", lambda *given: Path())
    monkeypatch.setattr(alone, "place_all", place_all)
    monkeypatch.setattr(alone, "needs_around_lane", lambda *given: {"FF": 300})
    monkeypatch.setattr(alone, "resources", lambda *given: {"LUT4": (90, 99), "FF": (310, 400)})
    monkeypatch.setattr(alone, "describe", lambda report: "1 ns")
    done = CliRunner().invoke(learner.main, ["ulx3s-85f", "--preset", "athena", "--clock", "80"])
    figures = "LUT4 90, FF 10; 81.0 / 82.0 / 83.0 MHz over 3 seeds; best: 1 ns"
    assert done.output == f"athena: {figures}\n"
    done = CliRunner().invoke(learner.main, ["arty"])
    assert "board is 'arty'; known boards: icebreaker" in done.output


@pytest.mark.slow
@pytest.mark.rtl
def test_the_registers_around_a_learner_have_all_its_ports(tmp_path: Path) -> None:
    files = generate_learner(PRESETS["athena"], tmp_path)
    around = tmp_path / "qs_learner_wrapper.v"
    ports = learner_ports(PRESETS["athena"])
    around.write_text(learner.wrapper(ports), encoding="utf-8")
    options = ["-Wno-UNUSEDPARAM", "-Wno-DECLFILENAME", "-Wno-WIDTHTRUNC"]
    assert not lint("qs_learner_wrapper", {}, tmp_path, [*files[1:], around], options)
    around.write_text(learner.wrapper(ports[:-1]), encoding="utf-8")
    assert "PINMISSING" in lint("qs_learner_wrapper", {}, tmp_path, [*files[1:], around], options)
