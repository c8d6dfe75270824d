"""The Tiny Tapeout project is generated from the lane, and its test detects a wrong constant."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tb.bench import BenchError, Run, run
from tiny_tapeout.test import test as project

from qstep.golden.lane import updated_value
from qstep.spec.fixed import QFormat, coefficients
from qstep_fpga import tiny_tapeout
from qstep_fpga.tiny_tapeout import TOP, verilog

FOLDER = Path(project.__file__).parents[1]


@pytest.mark.rtl
@pytest.mark.slow
def test_the_tile_learns_and_another_discount_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "project.v"
    source.write_text(verilog(), encoding="utf-8")
    # Elaborated Verilog has names and widths that a person would not choose.
    files, options = (source, FOLDER / "test/tb.v"), ("-Wno-fatal",)
    tile = Run("tb", "tiny_tapeout.test.test", sources=files, build_args=options)
    assert run(tile).tests == 2
    with pytest.raises(BenchError, match=r"2 of 2 tests failed"):
        run(replace(tile, module="tb.unit.wrong_tile"))


@pytest.mark.unit
def test_the_command_writes_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny_tapeout, "verilog", lambda: "module tt_um_qstep;\nendmodule\n")
    result = CliRunner().invoke(tiny_tapeout.main, [str(tmp_path / "src" / "project.v")])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "src" / "project.v").read_text(encoding="utf-8")
    assert text == "module tt_um_qstep;\nendmodule\n"


@pytest.mark.unit
def test_the_equation_of_the_tiles_test_is_the_models() -> None:
    c = coefficients(1 / 2, 7 / 8)
    assert (c.alpha, c.kappa) == (project.ALPHA, project.KAPPA)
    q5_3 = QFormat(5, 3)
    for entry in range(-128, 128):
        for reward in (-32, -7, 0, 5, 31):
            for best in (-128, -65, -1, 0, 3, 64, 127):
                given = (entry, reward, best)
                assert project.updated(*given) == updated_value(q5_3, c, *given, 1 << 14)


@pytest.mark.unit
def test_info_names_the_top_its_source_and_each_pin_once() -> None:
    info = yaml.safe_load((FOLDER / "info.yaml").read_text(encoding="utf-8"))
    assert info["yaml_version"] == 6
    assert info["project"]["top_module"] == TOP.stem
    assert info["project"]["source_files"] == ["project.v"]
    assert list(info["pinout"]) == [
        f"{port}[{i}]" for port in ("ui", "uo", "uio") for i in range(8)
    ]
    assert len(set(info["pinout"].values())) == 24
