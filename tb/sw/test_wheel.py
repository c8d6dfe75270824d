"""The wheel is complete; ``make wheel`` runs it and the documented commands without a checkout."""

import shlex
import sys
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest
from tools.wheel import (
    BOUNDED,
    EXCLUDED,
    ROOT,
    WheelError,
    build,
    commands,
    left_out,
    run,
    strangers,
    written,
)

pytestmark = pytest.mark.slow


def test_the_wheel_holds_all_of_the_package_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    wheel = build(tmp_path / "made")
    assert left_out(wheel) == []
    lacking = tmp_path / "lacking.whl"
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(lacking, "w") as part:
        for name in whole.namelist():
            if name != "qstep_sim/harness.cpp":
                spoilt = b"// " if name == "qstep_rtl/verilog/lane/qs_lane.sv" else b""
                part.writestr(name, spoilt + whole.read(name))
    assert left_out(lacking) == ["rtl/lane/qs_lane.sv", "sim/qstep_sim/harness.cpp"]


def test_what_comes_from_the_checkout_is_found() -> None:
    environment = ROOT / "build/environment"
    inside = [str(environment / "lib/qstep/__init__.py"), "", "/usr/lib/python3.11"]
    packages = str(ROOT / ".venv/lib/python3.11/site-packages")
    assert strangers([*inside, packages], environment) == []
    ours = [str(ROOT / "sw/qstep/__init__.py"), str(ROOT)]
    assert strangers([*inside, *ours, packages], environment) == ours


def test_commands_of_a_page_are_found_in_order_without_remarks() -> None:
    page = "`make tea`\n```sh\npip install '.[live]'  # in a checkout\n\n# why\nqstep live x\n```\n"
    page += "```python\nimport qstep\n```\n```sh\nqstep doctor\n```\n"
    assert written(page) == ["pip install '.[live]'", "qstep live x", "qstep doctor"]


def test_every_command_of_readme_and_quick_start_runs_or_is_excluded_for_a_reason() -> None:
    found = commands()
    assert len([command for command in found if command.startswith("qstep ")]) > 25
    tried = [command for command in found if not command.startswith(tuple(EXCLUDED))]
    assert {command.split()[0] for command in tried} == {"pip", "qstep"}
    # Every entry still matches a documented command.
    for start in (*EXCLUDED, *BOUNDED):
        assert any(command.startswith(start) for command in found), start


STOPS = "import signal, time; signal.signal(15, lambda *_: exit({})); time.sleep(60)"


@pytest.mark.parametrize(
    ("code", "seconds", "status"),
    [
        ("raise SystemExit(3)", None, 3),
        ("import time; time.sleep(60)", 0.5, -15),
        (STOPS.format(1), 2, 1),
        (STOPS.format(143), 2, None),
    ],
    ids=["fails", "is killed", "fails when stopped", "stops"],
)
def test_a_command_has_to_succeed_or_to_stop_when_it_is_told_to(
    code: str, seconds: float | None, status: int | None, tmp_path: Path
) -> None:
    programs = tmp_path / "environment/bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    noticed = pytest.raises(WheelError, match=f"status {status}") if status else nullcontext()
    with noticed:
        run(f"python -c {shlex.quote(code)}", tmp_path / "environment", {}, seconds=seconds)
