"""Child programs end together with the process that started them."""

import subprocess
import sys
from typing import Any

import pytest

from qstep._io import workers as processes
from qstep.errors import BuildError


def test_what_a_program_says_is_returned_or_is_its_error() -> None:
    assert processes.run([sys.executable, "-c", "print('done')"], BuildError) == "done\n"
    failing = "import sys; print('no room'); sys.exit(3)"
    with pytest.raises(BuildError, match=r"failed with status 3:\nno room"):
        processes.run([sys.executable, "-c", failing], BuildError)


def test_a_program_ends_with_the_call_that_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[subprocess.Popen[str]] = []

    def interrupt(process: Any) -> None:
        running.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        processes.run([sys.executable, "-c", "import time; time.sleep(600)"], BuildError)
    assert [process.poll() for process in running] == [-9]
