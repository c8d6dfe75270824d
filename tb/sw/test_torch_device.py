"""The requested PyTorch device exists, or the error names the available ones."""

import re

import pytest
import torch

from qstep.deep import torch_device
from qstep.errors import TorchDeviceError


def test_cpu_is_always_there() -> None:
    assert torch_device.choose("cpu") == torch.device("cpu")
    assert torch_device.present()[-1] == "cpu"


def test_auto_takes_the_first_that_is_present(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_device, "present", lambda: ["mps", "cpu"])
    assert torch_device.choose() == torch.device("mps")


@pytest.mark.parametrize("name", ["cuda", "tpu", ""])
def test_absent_device_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_device, "present", lambda: ["mps", "cpu"])
    message = f"no device {name!r} on this machine; it has mps, cpu (or 'auto')"
    with pytest.raises(TorchDeviceError, match=re.escape(message)):
        torch_device.choose(name)
