"""A Dask cluster gives the same sweep results as this machine, even if a worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from qstep._io import extras
from qstep._io.workers import Cluster, Here, Workers, in_parallel
from qstep.cli import _qstep
from qstep.errors import SchedulerError, ToolMissingError
from qstep.learn.sweep import Sweep
from qstep.learn.sweep_plan import SweepOptions

DASK = [sys.executable, "-m", "dask"]
SECONDS = 60


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a scheduler and two workers, each in its own process."""
    file = tmp_path / "scheduler.json"
    told: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    words = ["scheduler", "--scheduler-file", str(file), "--host", "127.0.0.1", "--port", "0"]
    running = [subprocess.Popen([*DASK, *words, "--no-dashboard"], cwd=tmp_path, **told)]
    try:
        until = time.monotonic() + SECONDS
        while not file.exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        address = json.loads(file.read_text(encoding="utf-8"))["address"]
        words = ["worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        words += ["--local-directory", str(tmp_path)]
        workers = [subprocess.Popen([*DASK, *words], cwd=tmp_path, **told) for _ in range(2)]
        running += workers
        yield address, workers
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_sweep_survives_a_worker_that_is_killed(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    address, workers = cluster
    given: dict[str, Any] = {"gammas": [0.9], "steps": 30_000, "seeds": range(8)}
    plan = SweepOptions(**given).plan("gridworld")
    sweep = Sweep(plan, workers=Cluster(address, patience=SECONDS))
    first = extras.load("distributed", "cluster").Client(address, set_as_default=False)
    with first:
        first.wait_for_workers(2, timeout=SECONDS)

    for _ in sweep:
        if workers[0].poll() is None:
            assert sweep.done < sweep.total // 2
            os.kill(workers[0].pid, signal.SIGKILL)
            workers[0].wait()
    assert workers[0].returncode == -signal.SIGKILL
    here = Sweep(plan, workers=Here())
    for _ in here:
        pass
    assert sweep.result().by_seed == here.result().by_seed

    words = ["gridworld", "--alpha", "0.5", "--gamma", "0.9", "--steps", "1000", "--seeds", "2"]
    out = ["--scheduler", address, "--out", str(tmp_path / "sweep")]
    told = CliRunner().invoke(_qstep, ["sweep", *words, *out])
    assert told.exit_code == 0, told.output
    assert (tmp_path / "sweep" / "report.json").exists()


def test_a_scheduler_that_is_not_there_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    text = r"tcp://127\.0\.0\.1:1: no Dask scheduler answered within 0\.2 s"
    with pytest.raises(SchedulerError, match=text):
        in_parallel(abs, [1], Cluster("tcp://127.0.0.1:1", patience=0.2), print)
    with pytest.raises(SchedulerError, match="nothing://here: no Dask scheduler answered"):
        in_parallel(abs, [1], Cluster("nothing://here"), print)
    told = CliRunner().invoke(
        _qstep, ["sweep", "gridworld", "--scheduler", "tcp://x:1", "--device", "sim"]
    )
    assert told.exit_code == 2
    assert "--scheduler is for the model: a device is attached to this computer" in told.output


def test_missing_dask_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ToolMissingError, match=r"distributed is not installed; run.*\[cluster\]'"):
        in_parallel(abs, [1], Cluster("tcp://127.0.0.1:1"), print)


class KilledWorker(Exception):
    """Stand-in for Dask's error of the same name."""


def stand_in(
    error: Exception | None = None,
    late: bool = False,
    version: Callable[..., Any] = metadata.version,
) -> SimpleNamespace:
    """Return a scheduler whose tasks fail, or whose workers are late or run another package version."""

    class Client:
        def __init__(self, *_: Any, **__: Any) -> None: ...
        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None: ...
        def wait_for_workers(self, *_: Any, **__: Any) -> None:
            if late:
                raise TimeoutError

        def run(self, function: Any, package: str, **_: Any) -> dict[str, Any]:
            return {"tcp://a": metadata.version(package), "tcp://b": version(package)}

        def submit(self, function: Any, item: Any, **_: Any) -> Any:
            future: Future[Any] = Future()
            if error is None:
                future.set_result(function(item))
            else:
                future.set_exception(error)
            return future

        def get_executor(self, **_: Any) -> Client:
            return self

    return SimpleNamespace(Client=Client, KilledWorker=KilledWorker)


@pytest.mark.parametrize(
    ("scheduler", "text"),
    [
        (
            {"late": True},
            "t: has no workers, and none joined within 10 s; start one where QStep is",
        ),
        ({"version": lambda _: "0.0"}, r"tcp://b: the worker has qstep 0\.0; it must be"),
        (
            {"version": lambda _: metadata.PackageNotFoundError()},
            "tcp://b: the worker has qstep none; it must be",
        ),
        ({"error": KilledWorker("x")}, "t: a task killed every worker that ran it: x"),
        (
            {"error": ModuleNotFoundError("No module named 'q'")},
            "t: a worker failed with: No module named 'q'",
        ),
        ({"error": CancelledError()}, "t: the connection to the scheduler was lost"),
    ],
)
def test_what_goes_wrong_in_a_cluster_is_told(
    monkeypatch: pytest.MonkeyPatch, scheduler: dict[str, Any], text: str
) -> None:
    monkeypatch.setattr(extras, "load", lambda *_: stand_in(**scheduler))
    workers: Workers = Cluster("t")
    with pytest.raises(SchedulerError, match=text):
        in_parallel(abs, [1], workers, print)
    monkeypatch.setattr(extras, "load", lambda *_: stand_in())
    assert in_parallel(abs, [-1, -2], workers, print) == [1, 2]


def test_a_package_that_is_missing_here_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "load", lambda *_: stand_in())
    with pytest.raises(ToolMissingError, match="no-such-package is not installed here"):
        in_parallel(abs, [1], Cluster("t", packages=("no-such-package",)), print)
