"""Ctrl-C, SIGTERM and SIGHUP end every command in the same way, at any moment."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tb.sw.command_line import invoke
from tb.sw.test_cli import COMMANDS

from qstep.cli._interrupt import held_back

SIZE = "--states 25 --actions 4"

TO_RESUME = "finished placements are kept; to resume, run: "
AT_WORK = {
    "agents": ("", "qstep_bench.baselines.torch_batched.learn", ""),
    "advise": ("gridworld", "qstep.learn.advise.advise", ""),
    "bench": ("--quick", "qstep_bench.report.run", ""),
    "build": ("icebreaker", "qstep_fpga.flow.build", TO_RESUME),
    "demo": ("", "qstep_bench.demo.on_chip", ""),
    "doctor": ("", "qstep.cli.doctor.examine", ""),
    "dqn": ("cartpole", "qstep.deep.run.NetworkRun", ""),
    "explore": ("ulx3s-85f --states 64,128", "qstep_fpga.explore.sweep.explore", TO_RESUME),
    "export": ("table.npz --format csv --out t.csv", "qstep.cli.export.load_table", ""),
    "generate": (f"{SIZE} --out verilog", "qstep_rtl.generate.generate", ""),
    "live": ("gridworld --no-browser", "qstep.live.server.serve", ""),
    "matmul": ("--sizes 8,16", "qstep_bench.matmul.compare", ""),
    "play": ("table.npz", "qstep.cli.play.load_table", ""),
    "pqn": ("cartpole", "qstep.deep.run.NetworkRun", ""),
    "profile": ("dictionary", "qstep_bench.cli.profile.profile", ""),
    "program": ("icebreaker", "qstep_fpga.program.program",
                "the bitstream on the board is incomplete; repeat with: "),
    "replay": (f"walk.npz --out table.npz {SIZE}", "qstep.cli.replay.Transitions.load", ""),
    "sac": ("Pendulum-v1", "qstep.deep.run.NetworkRun", ""),
    "serve": (SIZE, "qstep_sim.port.build", ""),
    "sweep": ("gridworld", "qstep.learn.sweep.Sweep.__iter__", ""),
    "train": ("gridworld --act host", "qstep.device.model.ModelDevice.configure", ""),
}  # fmt: skip
"""Each command's arguments, the call that the signal interrupts, and the start of the last message."""


def test_every_command_is_interrupted_here() -> None:
    assert sorted(AT_WORK) == COMMANDS


def ends_by(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(10)


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["ctrl-c", "sigterm", "sighup"],
)
@pytest.mark.parametrize("name", AT_WORK)
def test_signal_ends_a_command_in_one_line_and_its_own_status(
    name: str, number: int, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed, where, said = AT_WORK[name]
    if name in ("agents", "dqn", "matmul", "pqn", "sac"):
        pytest.importorskip("torch")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(where, lambda *_, **__: ends_by(number))
    # Without this handler, an unhandled signal would end the test run.
    before = signal.signal(number, lambda *_: pytest.fail("not answered"))
    try:
        result = invoke(name, *shlex.split(typed))
    finally:
        signal.signal(number, before)
    assert result.exit_code == status, result.output
    ending = f"{said}qstep {name} {typed}" if said else "nothing is kept"
    assert result.stderr.splitlines()[-1] == f"stopped; {ending}"
    assert "Aborted" not in result.output


def ended_by_a_signal(monkeypatch: pytest.MonkeyPatch, where: str, *typed: str) -> str:
    """Run a command, interrupt it in its call of `where` with a signal, and return its last line."""
    with monkeypatch.context() as patch:
        patch.setattr(where, lambda *_, **__: ends_by(signal.SIGINT))
        return invoke(*typed).stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("act", "where", "said"),
    [
        ("device", "qstep.mdp.world.World.named", "; the checkpoint is unchanged"),
        ("device", "qstep.learn.agents.open_agents", "; the checkpoint is unchanged"),
        ("device", "qstep.learn.agents.AgentsRun.__iter__", " after 128 steps per agent"),
        ("host", "qstep.learn.host.open_device", "; the checkpoint is unchanged"),
        ("host", "qstep.learn.host.HostRun.__iter__", " after episode 3"),
    ],
)
def test_signal_while_a_run_is_resumed_says_that_the_checkpoint_is_there(
    act: str, where: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = ["train", "gridworld", "--act", act, "--episodes", "3", "--out", str(tmp_path)]
    assert invoke(*typed).exit_code == 0
    kept = (tmp_path / "checkpoint.npz").read_bytes()
    last = ended_by_a_signal(monkeypatch, where, *typed, "--resume")
    assert last == f"stopped{said}; to resume, run: {shlex.join(['qstep', *typed])} --resume"
    assert (tmp_path / "checkpoint.npz").read_bytes() == kept


def test_signal_before_a_run_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ["train", "gridworld", "--episodes", "3", "--out", str(tmp_path), "--overwrite"]
    last = ended_by_a_signal(monkeypatch, "qstep.learn.agents.open_agents", *typed)
    assert last == "stopped; no file was changed"


@pytest.mark.parametrize("act", ["device", "host"])
def test_signal_after_the_files_were_written_names_them(
    act: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = ["train", "gridworld", "--act", act, "--episodes", "3", "--out", str(tmp_path)]
    last = ended_by_a_signal(monkeypatch, "qstep.cli.train._in_words", *typed)
    names = ["checkpoint.npz", "table.npz", "history.json", "report.json"]
    names += ["learning_curve.png", "policy.png"]
    assert last.startswith("stopped; written: ")
    written = last.removeprefix("stopped; written: ").split(", ")
    assert sorted(written) == sorted(str(tmp_path / name) for name in names)


class Slow:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def finalise() -> None:
    Slow()
    time.sleep(10)


def half_load() -> None:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("half loaded") from None


@pytest.mark.parametrize("work", [finalise, half_load])
def test_a_signal_in_a_finaliser_or_a_librarys_exception_is_not_lost(
    work: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qstep.cli.doctor.examine", work)
    result = invoke("doctor")
    assert (result.exit_code, result.stderr) == (130, "stopped; nothing is kept\n")


def test_a_signal_that_the_parent_ignores_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "qstep.cli.doctor.examine", lambda: signal.raise_signal(signal.SIGINT) or []
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result = invoke("doctor")
    finally:
        signal.signal(signal.SIGINT, before)
    assert "stopped" not in result.output


def started(*words: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "import qstep_command as q; print(flush=True); q.main()", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("seconds", [0.03, 0.06, 0.1, 0.2, 0.4, 0.8])
def test_signal_while_the_program_is_loaded_is_answered(seconds: float, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with started("dqn", "cartpole", "--out", str(tmp_path)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said.splitlines()[-1].startswith("stopped")
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.rtl
def test_signal_while_a_simulation_is_built_ends_its_compilers(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    words = f"train gridworld --act host --device sim --out {tmp_path}/run"
    with started(*words.split(), QSTEP_CACHE=str(cache)) as process:
        assert process.stderr is not None
        assert "building the simulated device" in process.stderr.readline()
        time.sleep(1.5)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 143, said
    assert said.splitlines()[-1] == "stopped; nothing is kept"
    assert time.monotonic() - began < 10
    assert not [file for file in cache.rglob("*") if file.suffix != ".o" and file.name != "lock"]


def test_a_second_signal_is_not_held_back() -> None:
    reached: list[bool] = []

    def work() -> None:
        with held_back() as must_stop:
            signal.raise_signal(signal.SIGINT)
            reached.append(must_stop())
            signal.raise_signal(signal.SIGINT)
            reached.append(must_stop())

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == [True]


def test_a_second_signal_ends_a_command_with_its_own_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work() -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            ends_by(signal.SIGTERM)

    monkeypatch.setattr("qstep.cli.doctor.examine", work)
    result = invoke("doctor")
    assert (result.exit_code, result.stderr) == (143, "stopped; nothing is kept\n")
