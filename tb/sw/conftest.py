"""Fixtures that the tests of software share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Keep PyTorch from waking threads that tests in other processes are using."""
    from qstep import torch_device

    with torch_device.one_thread():
        yield
