"""Fixtures shared by the software tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tb.sw.timed_port import TimedPort

    from qstep.device.link.session import Session


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Restrict PyTorch to one thread, because tests in other processes need the other cores."""
    from qstep.deep import torch_device

    with torch_device.one_thread():
        yield


@pytest.fixture
def timed_port(monkeypatch: pytest.MonkeyPatch) -> TimedPort:
    """Return a port whose simulated clock also drives the session."""
    from tb.sw.timed_port import TimedPort

    port = TimedPort()
    monkeypatch.setattr("qstep.device.link.session.time", port)
    return port


@pytest.fixture
def session(timed_port: TimedPort) -> Session:
    """Return an open session over `timed_port`."""
    from tb.sw.session_bench import CONFIG

    from qstep.device.link.session import Session

    session = Session(timed_port, CONFIG)
    session.open()
    return session


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change into an empty folder, and return its path."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
