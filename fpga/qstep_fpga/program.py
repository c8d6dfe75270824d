"""Loads a bitstream into a board with openFPGALoader, which is a system package."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from qstep.errors import BuildError, FileFormatError, ToolMissingError
from qstep_fpga.board import Board

__all__ = ["LOADER", "REMEDY", "program"]

LOADER = "openFPGALoader"
"""The program that loads bitstreams."""
REMEDY = "macOS: brew install openfpgaloader; Debian, Ubuntu: apt install openfpgaloader"
"""How to install the loader."""
_FAILED = "FAIL"


def program(board: Board, bitstream: Path, flash: bool) -> None:
    """Load `bitstream` into the chip of `board`, or with `flash` into its configuration memory.

    For iCE40 boards connected by SPI, such as the iCEBreaker, the loader always writes that memory.

    Raises
    ------
    FileFormatError
        There is no such file.
    ToolMissingError
        openFPGALoader is not installed.
    BuildError
        The board was not found, access was denied, or loading failed.
    """
    if not bitstream.is_file():
        raise FileFormatError(
            f"{bitstream}: does not exist; build it with: qstep build {board.name}"
        )
    loader = shutil.which(LOADER)
    if loader is None:
        raise ToolMissingError(f"{LOADER} was not found; {REMEDY}")
    command = [loader, "-b", board.programmer, *(["-f"] if flash else []), str(bitstream)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    # The loader may exit with status 0 even after this message, for example if an iCE40 does not start.
    if done.returncode != 0 or _FAILED in done.stdout:
        said = done.stdout.strip()[-1000:]
        raise BuildError(f"{board.title} was not programmed{_reason(said)}; {LOADER} said:\n{said}")


def _reason(said: str) -> str:
    """Return the most likely reason why openFPGALoader failed."""
    text = said.lower()
    if "permission" in text or "access" in text or "usb_open() failed" in text:
        return (
            ": access was denied. On Linux, install openFPGALoader's udev rules; if they are "
            "already installed, reconnect the board"
        )
    if "unable to open" in text or "not found" in text or "no device" in text:
        return ": it was not found. Is it connected, with a cable that carries data?"
    return ""
