"""Programming a board calls the loader correctly and explains its failures."""

from pathlib import Path

import pytest
from tb.sw.command_line import invoke

from qstep.errors import BuildError, FileFormatError, ToolMissingError
from qstep_fpga.board import load
from qstep_fpga.program import program

BOARD = load("tang-nano-9k")


@pytest.fixture
def bitstream(tmp_path: Path) -> Path:
    path = tmp_path / "some.fs"
    path.write_text("bits", encoding="utf-8")
    return path


def loader(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Put a stand-in for openFPGALoader on PATH."""
    script = folder / "openFPGALoader"
    script.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize(("flash", "words"), [(False, ""), (True, "-f ")])
def test_loader_gets_board_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bitstream: Path, flash: bool, words: str
) -> None:
    loader(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/called')
    program(BOARD, bitstream, flash)
    assert (tmp_path / "called").read_text() == f"-b tangnano9k {words}{bitstream}\n"


def test_absent_bitstream_is_named_with_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(
        FileFormatError, match=r"none\.fs: does not exist; .* qstep build tang-nano-9k"
    ):
        program(BOARD, tmp_path / "none.fs", flash=False)


def test_absent_loader_is_named_with_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bitstream: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissingError, match="openFPGALoader was not found; macOS: brew install"):
        program(BOARD, bitstream, flash=False)


@pytest.mark.parametrize(
    ("said", "explained"),
    [
        ("unable to open ftdi device: -3 (device not found)", "it was not found. Is it connected"),
        ("JTAG init failed with: Permission denied", "access was denied. On Linux, install"),
        ("something else", "was not programmed; openFPGALoader said:\nsomething else"),
    ],
)
def test_failures_are_explained_and_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bitstream: Path, said: str, explained: str
) -> None:
    loader(tmp_path, monkeypatch, f"echo '{said}'; exit 1")
    with pytest.raises(BuildError) as caught:
        program(BOARD, bitstream, flash=False)
    assert explained in str(caught.value)
    assert said in str(caught.value)


def test_a_chip_that_does_not_start_is_a_failure_whatever_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bitstream: Path
) -> None:
    loader(tmp_path, monkeypatch, "echo 'Wait for CDONE DONE'")
    program(load("icebreaker"), bitstream, flash=False)
    loader(tmp_path, monkeypatch, "echo 'Writing: Done'; echo 'Wait for CDONE FAIL'; exit 0")
    with pytest.raises(BuildError) as caught:
        program(load("icebreaker"), bitstream, flash=False)
    assert str(caught.value) == (
        "iCEBreaker was not programmed; openFPGALoader said:\nWriting: Done\nWait for CDONE FAIL"
    )


def test_the_command_says_what_to_do_with_a_programmed_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bitstream: Path
) -> None:
    loader(tmp_path, monkeypatch, "exit 0")
    answer = invoke("program tang-nano-9k --bitstream", bitstream)
    assert answer.exit_code == 0, answer.output
    config = bitstream.with_suffix(".toml")
    assert answer.output.startswith(f"{BOARD.title} is programmed; try: qstep train gridworld ")
    assert answer.output.endswith(f"--config {config}\n")
