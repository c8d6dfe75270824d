"""A host may be killed at any time: the device keeps running, and the next host resumes exactly."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from tb.killed_hosts import CONFIG
from tb.sw.interrupted import disturbed
from tb.verify.figures import Count

from qstep import Config, envs

pytestmark = [
    pytest.mark.rtl,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="ptrace as Linux has it"),
]

ROOT = Path(__file__).parents[2]


@contextmanager
def served(config: Config, link: str, folder: Path) -> Iterator[str]:
    """Serve a simulated device in its own process; yield the device's URL."""
    file = folder / "device.toml"
    file.write_text(config.to_toml(), encoding="utf-8")
    words = ["serve", "--config", str(file), "--link", link, "--json"]
    command = [sys.executable, "-c", "import qstep_command; qstep_command.main()", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["url"]
            assert server.poll() is None, "the device died"
        finally:
            server.kill()


def killed(url: str, *numbers: int) -> subprocess.CompletedProcess[str]:
    """Kill hosts from a separate single-threaded process, which can fork safely."""
    command = [sys.executable, "-m", "tb.killed_hosts", url, *map(str, numbers)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("link", ["pty", "tcp"])
@pytest.mark.parametrize("deaths", [10, pytest.param(200, marks=pytest.mark.release)])
def test_hosts_killed_at_any_system_call_lose_and_double_nothing(
    deaths: int, link: str, tmp_path: Path, record_property: Count
) -> None:
    with served(CONFIG, link, tmp_path) as url:
        answer = killed(url, deaths)
    assert answer.returncode == 0, answer.stderr
    applied = json.loads(answer.stdout)
    assert len(applied) == deaths
    # Some hosts died before a transition was applied, others in the middle of a batch.
    growth = [after - before for before, after in pairwise([0, *applied])]
    assert sum(count > 0 for count in growth) >= deaths // 2
    record_property("deaths", deaths)


def test_a_host_that_leaves_a_transition_out_is_found(tmp_path: Path) -> None:
    with served(CONFIG, "tcp", tmp_path) as url:
        answer = killed(url, 10, 1)
    assert answer.returncode == 1
    assert "AssertionError: death" in answer.stderr


@pytest.mark.release
def test_a_run_killed_at_random_moments_goes_on_at_the_device_that_lived_on(tmp_path: Path) -> None:
    config = Config(*envs.table_size(envs.make("gridworld", 0)))
    typed = "train gridworld --act host --episodes 10000 --evaluate-every 500"
    with served(config, "tcp", tmp_path) as url:
        ended, resumed = disturbed(
            typed, signal.SIGKILL, 20, tmp_path, f"--device {url}", resumes=5
        )
    assert ended >= 20
    assert resumed >= 5
