"""Results survive if stdout or stderr is full, closed, narrow, or not UTF-8."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.progress import Progress
from rich.table import Table

from qstep import cli
from qstep._io import extras
from qstep.cli import _output
from qstep.cli._output import JsonOutput
from qstep.errors import DrawingError, FileFormatError

FULL = Path("/dev/full")
STOPPED = "error: stdout is incomplete: No space left on device\n"
LEARNT = ("history.json", "learning_curve.png", "policy.png", "report.json", "table.npz")

needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")


def shell(words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command in which `qstep` uses this Python interpreter."""
    call = f'"{sys.executable}" -c "from qstep_command import main; main()" "$@"'
    program = f"qstep() {{ {call}; }}\n"
    return subprocess.run(
        ["bash", "-c", program + words],
        capture_output=True,
        text=True,
        env={"PATH": "/bin:/usr/bin", "HOME": str(Path.home()), **environment},
    )


@needs_full
@pytest.mark.parametrize(
    "words", ["--help", "--version", "train --help", "doctor", "doctor --json"]
)
def test_full_stdout_is_one_line_and_status_1(words: str) -> None:
    done = shell(f"qstep {words} > /dev/full")
    assert (done.returncode, done.stderr) == (1, STOPPED)


@pytest.mark.slow
@needs_full
@pytest.mark.parametrize("act", ["device", "host"])
@pytest.mark.parametrize(
    ("streams", "status"),
    [("> /dev/full", 1), ("2> /dev/full", 0), (">&- 2>&-", 0), ("< /dev/full 2>&- | head -c 0", 0)],
)
def test_a_run_keeps_what_it_learnt(act: str, streams: str, status: int, tmp_path: Path) -> None:
    out, report = tmp_path / "run", tmp_path / "report.json"
    done = shell(
        f"qstep train gridworld --act {act} --episodes 20 --out {out} --json {report} {streams}\n"
        "exit ${PIPESTATUS[0]}"
    )
    assert done.returncode == status, done.stderr
    assert {file.name for file in out.iterdir()} == {*LEARNT, "checkpoint.npz"}
    assert json.loads(report.read_text())["files"]["table"] == str(out / "table.npz")
    assert (STOPPED in done.stderr) == (status == 1)


@pytest.mark.slow
@pytest.mark.parametrize("act", ["device --trace {}/trace.npz", "host"])
def test_a_drawing_that_fails_comes_after_all_else(act: str, tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").touch()  # hides the library
    words = f"train gridworld --episodes 20 --out {tmp_path}/run --json {tmp_path}/report.json"
    done = shell(f"qstep {words} --act {act.format(tmp_path)}", PYTHONPATH=str(tmp_path))
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith(f"error: {tmp_path}/run/learning_curve.png cannot be drawn: ")
    assert "Traceback" not in done.stderr
    files = json.loads((tmp_path / "report.json").read_text())["files"]
    assert f"table: {files['table']}\n" in done.stdout
    missing = {name for name, file in files.items() if not Path(file).exists()}
    assert missing == {"learning curve", "policy"}


@pytest.mark.parametrize(
    ("words", "draw", "told"),
    [
        ("sweep gridworld --alpha 0.5 --gamma 0.9 --seeds 1 --steps 200 --jobs 1 --out {}/run",
         "qstep.learn.sweep_views.draw_map", "train the best: "),
        ("advise gridworld --width 8 --steps 500 --plot {}/a.png", "qstep.learn.advise_views.draw", ""),
        ("agents --updates 2000 --plot {}/a.png", "qstep.learn.plots.draw_policy", "greedy action"),
        ("dqn cartpole --total-timesteps 300 --seeds 2 --out {}/run",
         "qstep.deep.result._draw_learning_curve", "2 seeds: "),
        ("matmul --sizes 2 --rounds 1 --plot {}/a.png", "qstep_bench.matmul.draw", "cpu: "),
    ],
    ids=lambda value: value.partition(" ")[0],
)  # fmt: skip
def test_a_drawing_that_fails_costs_no_command_its_results(
    words: str, draw: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise IndexError("no data")

    extras.load(draw.rpartition(".")[0], "torch")
    monkeypatch.setattr(draw, fail)
    file = tmp_path / "report.json"
    done = CliRunner().invoke(cli._qstep, [*words.format(tmp_path).split(), "--json", str(file)])
    assert isinstance(done.exception, DrawingError)
    said = str(done.exception).count("cannot be drawn: IndexError: no data")
    assert said == (told == "2 seeds: ") + 1
    assert told in done.output
    assert json.loads(file.read_text(encoding="utf-8"))


def test_unwritable_json_leaves_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FileFormatError, match="/dev/full: cannot be written"):
        JsonOutput(file=FULL).tell({}, "in words")
    assert capsys.readouterr().out == "in words\n"


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_what_an_encoding_lacks_is_escaped(encoding: str, tmp_path: Path) -> None:
    world = tmp_path / "Ж[bold].txt"
    world.write_text("SG", encoding="utf-8")
    done = shell(
        f"qstep train {world} --episodes 20 --out {tmp_path}/run; qstep doctor",
        PYTHONIOENCODING=encoding,
        PYTHONUTF8="0",
    )
    assert "Traceback" not in done.stderr
    assert "[bold].txt on model: 8 agents" in done.stdout


def test_pipes_get_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    table = Table("name", box=None)
    table.add_row("[torch] " * 40 + ":bug: [/]")
    _output.console().print(table)
    assert "[torch] " * 40 + ":bug: [/]" in capsys.readouterr().out


@pytest.mark.parametrize("bar", [_output.run_bar, _output.task_bar])
def test_bars_show_names(bar: Callable[[], Progress], capsys: pytest.CaptureFixture[str]) -> None:
    progress = bar()
    progress.add_task("a[/b]:bug:", state="[c]")
    _output.console().print(progress)
    assert "a[/b]:bug:" in capsys.readouterr().out
