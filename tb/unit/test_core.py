"""FuseSoC lints and simulates the hardware with ``rtl/qstep.core``, which lists all files."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.core_replay import FILE, words

import qstep
from qstep_rtl.sources import RTL, fileset, includes
from qstep_sim.verilator import environment

CORE = RTL / "qstep.core"


def fusesoc(target: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a target of the core in a folder, with its own configuration and cache."""
    tools = environment()
    own = {
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), tools["PATH"]]),
    }
    command = [sys.executable, "-m", "fusesoc.main", "--cores-root", str(RTL), "run"]
    return subprocess.run(
        [*command, "--work-root", str(folder / "work"), "--target", target, "qstep", *options],
        cwd=folder,
        env={**tools, **own},
        capture_output=True,
        text=True,
        check=False,
    )


def description() -> Any:
    return yaml.safe_load(CORE.read_text(encoding="utf-8").partition("\n")[2])


@pytest.mark.unit
def test_filesets_are_read_as_fusesoc_reads_them() -> None:
    for name, part in description()["filesets"].items():
        files = [file for file in part["files"] if isinstance(file, str)]
        assert fileset(name) == [RTL / file for file in files]
    (included,) = includes()
    first, *_ = description()["filesets"]["common"]["files"]
    assert first == {included.relative_to(RTL).as_posix(): {"is_include_file": True}}
    assert description()["name"] == f"::qstep:{qstep.__version__}"


@pytest.mark.unit
def test_what_is_replayed_is_what_the_model_says() -> None:
    assert FILE.read_text(encoding="utf-8") == words()


@pytest.mark.slow
@pytest.mark.rtl
@pytest.mark.parametrize("target", ["lint", "lint-agents", "lint-axi"])
def test_fusesoc_lints_without_a_warning(target: str, tmp_path: Path) -> None:
    done = fusesoc(target, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "%Warning" not in done.stdout + done.stderr


@pytest.mark.rtl
def test_fusesoc_lint_refuses_an_illegal_parameter(tmp_path: Path) -> None:
    done = fusesoc("lint", tmp_path, "--States", "1")
    assert done.returncode != 0
    assert "qs_lane: States is 1, legal is 2..65536" in done.stdout + done.stderr


@pytest.mark.flows
def test_fusesoc_simulates_and_a_wrong_entry_is_found(tmp_path: Path) -> None:
    done = fusesoc("sim", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1000 transitions: all 32 entries are the model's" in done.stdout + done.stderr
    replayed = tmp_path / "work/replay.mem"
    lines = replayed.read_text(encoding="utf-8").splitlines()
    lines[-1] = f"{int(lines[-1], 16) ^ 1:016x}"
    replayed.write_text("\n".join(lines), encoding="utf-8")
    spoilt = subprocess.run(
        [os.path.join(".", "Vqs_replay")],
        cwd=replayed.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert spoilt.returncode != 0
    assert "Q[7, 3] is " in spoilt.stdout + spoilt.stderr
